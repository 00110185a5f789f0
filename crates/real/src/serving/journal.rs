//! What clients were sent: a line each, written as it ends.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use framewire_recording::WriteError;
use framewire_session::served::{Ending, Record};
use framewire_units::Duration;
use serde_json::{Value, json};

use crate::client::Asking;
use crate::error::RealError;

/// The file of a server's directory: JSON, a line for each answer.
const FILE: &str = "clients.ndjson";

/// The file, which grows as clients come and go, and of which nothing is kept in memory.
pub(super) struct Journal {
    path: PathBuf,
    writer: BufWriter<File>,
    answers: u64,
    cut_short: u64,
    refusals: u64,
    without_ledger: u64,
}

impl Journal {
    pub(super) fn create(directory: &Path) -> Result<Self, RealError> {
        let path = directory.join(FILE);
        let file = File::create(&path).map_err(|error| WriteError::new(path.clone(), &error))?;
        Ok(Self { path, writer: BufWriter::new(file), answers: 0, cut_short: 0, refusals: 0, without_ledger: 0 })
    }

    /// Writes what a client was sent on a connection; as it was written.
    pub(super) fn write(&mut self, connection: u64, peer: SocketAddr, record: &Record) -> Result<Value, RealError> {
        let entry = entry(connection, peer, record);
        match &record.ending {
            Ending::Refused(_) => self.refusals += 1,
            ending => {
                self.answers += 1;
                let is_cut_short = *ending != Ending::Complete && asking(record) != Some(Asking::Look);
                self.cut_short += u64::from(is_cut_short);
            }
        }
        self.without_ledger += u64::from(ledger(record) == Some(false));
        writeln!(self.writer, "{entry}").map_err(|error| WriteError::new(self.path.clone(), &error))?;
        Ok(entry)
    }

    pub(super) fn flush(&mut self) -> Result<(), RealError> {
        Ok(self.writer.flush().map_err(|error| WriteError::new(self.path.clone(), &error))?)
    }

    /// How many there were, and how many of them did not come to their end, of clients that wanted more.
    pub(super) fn answers(&self) -> (u64, u64) {
        (self.answers, self.cut_short)
    }

    /// Requests that were refused.
    pub(super) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Of how many no ledger is kept because there was no room for it.
    pub(super) fn without_ledger(&self) -> u64 {
        self.without_ledger
    }
}

/// What is said of a connection that its other end has closed (errno(3): ECONNRESET, EPIPE): by the kernel where it is read, and by the sockets
/// where it is written.
const CLOSED: [&str; 3] = ["Connection reset by peer", "Broken pipe", "closed the connection"];

/// What a receiver of framewire's asked for.
pub(super) fn asking(record: &Record) -> Option<Asking> {
    Asking::of(record.user_agent.as_deref()?)
}

/// Whether there is a ledger; none is kept of a look.
fn ledger(record: &Record) -> Option<bool> {
    record.ledger.filter(|_| asking(record) != Some(Asking::Look))
}

pub(super) fn entry(connection: u64, peer: SocketAddr, record: &Record) -> Value {
    let (ended, reason) = match &record.ending {
        Ending::Complete | Ending::Left | Ending::Broken(_) if asking(record) == Some(Asking::Look) => {
            ("looked at", None)
        }
        Ending::Complete => ("complete", None),
        Ending::Refused(status) => ("refused", Some(format!("{} {}", status.0, status.reason()))),
        Ending::Left => ("the client left", None),
        // A client that has enough closes its connection, with bytes that it did not read still to come (RFC 9293, 3.5.2).
        Ending::Broken(reason) if CLOSED.iter().any(|said| reason.contains(said)) => ("the client left", None),
        Ending::Broken(reason) => ("broken", Some(reason.clone())),
        Ending::Stopped => ("the server was stopped", None),
    };
    json!({
        "connection": connection,
        "peer": peer.to_string(),
        "method": said(&record.method),
        "what": said(&record.what),
        "user_agent": record.user_agent,
        "first_byte": record.bytes.as_ref().map(|bytes| bytes.start),
        "behind_last_byte": record.bytes.as_ref().map(|bytes| bytes.end),
        "began_s": record.began.as_secs_f64(),
        "ended_s": record.ended.as_secs_f64(),
        "bytes": record.sent,
        "frames": record.frames[0],
        "given_up": record.frames[1],
        "latest_s": record.latest.as_ref().map(Duration::as_secs_f64),
        "ledger": ledger(record),
        "ended": ended,
        "reason": reason,
    })
}

/// Nothing where no request could be read.
fn said(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use framewire_units::Timestamp;

    use super::*;

    #[test]
    fn a_look_is_no_answer_that_was_cut_short() {
        let record = |user_agent: String, ending: Ending| Record {
            method: "GET".to_owned(),
            what: "/mp4/film.mp4".to_owned(),
            user_agent: Some(user_agent),
            bytes: None,
            began: Timestamp::ZERO,
            ended: Timestamp::ZERO,
            sent: 5,
            frames: [1, 0],
            latest: None,
            ledger: Some(true),
            in_datagrams: false,
            ending,
        };
        let of = |asking: Asking, ending: Ending| {
            let record = record(asking.to_string(), ending);
            let entry = entry(1, "127.0.0.1:5".parse().unwrap(), &record);
            (entry["ended"].as_str().unwrap().to_owned(), entry["ledger"].clone())
        };
        for ending in [Ending::Complete, Ending::Left, Ending::Broken("send: Broken pipe (os error 32)".to_owned())] {
            assert_eq!(of(Asking::Look, ending), ("looked at".to_owned(), Value::Null));
        }
        let cut = Ending::Broken("send: Connection timed out".to_owned());
        assert_eq!(of(Asking::Stream(1), Ending::Left), ("the client left".to_owned(), json!(true)));
        assert_eq!(of(Asking::Stream(1), cut), ("broken".to_owned(), json!(true)));
        assert_eq!(of(Asking::Look, Ending::Stopped).0, "the server was stopped");
    }

    #[test]
    fn a_client_that_closed_its_connection_broke_nothing() {
        let ended = |ending: Ending| {
            let (began, ended) = (Timestamp::ZERO, Timestamp::from_secs(1));
            let (what, bytes, frames, sent, latest) = ("/mp4/film.mp4".to_owned(), None, [1, 0], 5, None);
            let (method, user_agent) = ("GET".to_owned(), None);
            let (ledger, in_datagrams) = (Some(true), false);
            let record = Record {
                method,
                what,
                user_agent,
                bytes,
                began,
                ended,
                sent,
                frames,
                latest,
                ledger,
                in_datagrams,
                ending,
            };
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
