//! What clients were sent: a line each, written as it ends.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use framewire_recording::WriteError;
use framewire_session::served::{Ending, Record};
use framewire_units::Duration;
use serde_json::{Value, json};

use crate::error::RealError;

/// The file of a server's directory: JSON, a line for each answer.
const FILE: &str = "clients.ndjson";

/// The file, which grows as clients come and go, and of which nothing is kept in memory.
pub(super) struct Journal {
    path: PathBuf,
    writer: BufWriter<File>,
    answers: u64,
    cut_short: u64,
}

impl Journal {
    pub(super) fn create(directory: &Path) -> Result<Self, RealError> {
        let path = directory.join(FILE);
        let file = File::create(&path).map_err(|error| WriteError::new(path.clone(), &error))?;
        Ok(Self { path, writer: BufWriter::new(file), answers: 0, cut_short: 0 })
    }

    /// Writes what a client was sent on a connection; as it was written.
    pub(super) fn write(&mut self, connection: u64, peer: SocketAddr, record: &Record) -> Result<Value, RealError> {
        let entry = entry(connection, peer, record);
        self.answers += 1;
        self.cut_short += u64::from(record.ending != Ending::Complete);
        writeln!(self.writer, "{entry}").map_err(|error| WriteError::new(self.path.clone(), &error))?;
        Ok(entry)
    }

    pub(super) fn flush(&mut self) -> Result<(), RealError> {
        Ok(self.writer.flush().map_err(|error| WriteError::new(self.path.clone(), &error))?)
    }

    /// How many there were, and how many of them did not come to their end.
    pub(super) fn answers(&self) -> (u64, u64) {
        (self.answers, self.cut_short)
    }
}

fn entry(connection: u64, peer: SocketAddr, record: &Record) -> Value {
    let (ended, reason) = match &record.ending {
        Ending::Complete => ("complete", None),
        Ending::Left => ("the client left", None),
        Ending::Broken(reason) => ("broken", Some(reason)),
        Ending::Stopped => ("the server was stopped", None),
    };
    json!({
        "connection": connection,
        "peer": peer.to_string(),
        "what": record.what,
        "first_byte": record.bytes.as_ref().map(|bytes| bytes.start),
        "behind_last_byte": record.bytes.as_ref().map(|bytes| bytes.end),
        "began_s": record.began.as_secs_f64(),
        "ended_s": record.ended.as_secs_f64(),
        "bytes": record.sent,
        "frames": record.frames[0],
        "given_up": record.frames[1],
        "latest_s": record.latest.as_ref().map(Duration::as_secs_f64),
        "ended": ended,
        "reason": reason,
    })
}
