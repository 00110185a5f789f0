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
    without_ledger: u64,
}

impl Journal {
    pub(super) fn create(directory: &Path) -> Result<Self, RealError> {
        let path = directory.join(FILE);
        let file = File::create(&path).map_err(|error| WriteError::new(path.clone(), &error))?;
        Ok(Self { path, writer: BufWriter::new(file), answers: 0, cut_short: 0, without_ledger: 0 })
    }

    /// Writes what a client was sent on a connection; as it was written.
    pub(super) fn write(&mut self, connection: u64, peer: SocketAddr, record: &Record) -> Result<Value, RealError> {
        let entry = entry(connection, peer, record);
        self.answers += 1;
        self.without_ledger += u64::from(record.ledger == Some(false));
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

    /// Of how many no ledger is kept because there was no room for it.
    pub(super) fn without_ledger(&self) -> u64 {
        self.without_ledger
    }
}

/// What is said of a connection that its other end has closed (errno(3): ECONNRESET, EPIPE): by the kernel where it is read, and by the sockets
/// where it is written.
const CLOSED: [&str; 3] = ["Connection reset by peer", "Broken pipe", "closed the connection"];

pub(super) fn entry(connection: u64, peer: SocketAddr, record: &Record) -> Value {
    let (ended, reason) = match &record.ending {
        Ending::Complete => ("complete", None),
        Ending::Left => ("the client left", None),
        // A client that has enough closes its connection, with bytes that it did not read still to come (RFC 9293, 3.5.2).
        Ending::Broken(reason) if CLOSED.iter().any(|said| reason.contains(said)) => ("the client left", None),
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
        "ledger": record.ledger,
        "ended": ended,
        "reason": reason,
    })
}

#[cfg(test)]
mod tests {
    use framewire_units::Timestamp;

    use super::*;

    #[test]
    fn a_client_that_closed_its_connection_broke_nothing() {
        let ended = |ending: Ending| {
            let (began, ended) = (Timestamp::ZERO, Timestamp::from_secs(1));
            let (what, bytes, frames, sent, latest) = ("/mp4/film.mp4".to_owned(), None, [1, 0], 5, None);
            let record = Record { what, bytes, began, ended, sent, frames, latest, ledger: Some(true), ending };
            let entry = entry(1, "127.0.0.1:5".parse().unwrap(), &record);
            (entry["ended"].as_str().unwrap().to_owned(), entry["reason"].clone())
        };
        let closed = ["recvmsg: Connection reset by peer", "send: Broken pipe (os error 32)"];
        for reason in closed.into_iter().chain(["write: 127.0.0.1:5 closed the connection"]) {
            assert_eq!(ended(Ending::Broken(reason.to_owned())), ("the client left".to_owned(), Value::Null));
        }
        let silent = "recvmsg: Connection timed out";
        assert_eq!(ended(Ending::Broken(silent.to_owned())), ("broken".to_owned(), json!(silent)));
    }
}
