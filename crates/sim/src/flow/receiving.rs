//! The receiver of one flow.

use std::fs::File;
use std::io::{BufWriter, Write};

use framewire_session::{ReceiverLog, ReceiverSession};
use framewire_units::Timestamp;

use super::{FlowWires, Socket};

/// Bytes that one read takes, as in the emulated world.
const READ_SIZE: usize = 65_536;

/// Where the movie as received goes.
pub(crate) enum MovieSink {
    /// Nowhere.
    Nowhere,
    /// To memory.
    Memory(Vec<u8>),
    /// To a file.
    File(BufWriter<File>),
}

impl MovieSink {
    fn keep(&mut self, frame: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Memory(bytes) => {
                bytes.extend_from_slice(frame);
                Ok(())
            }
            Self::File(file) => file.write_all(frame),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Nowhere | Self::Memory(_) => Ok(()),
        }
    }
}

/// The receiver of one flow.
pub(crate) struct Receiving {
    session: ReceiverSession,
    sink: MovieSink,
    kept_bytes: u64,
    failure: Option<String>,
    buffer: Vec<u8>,
}

/// What a receiver leaves behind.
pub(crate) struct Received {
    pub(crate) log: ReceiverLog,
    pub(crate) kept_bytes: u64,
    pub(crate) failure: Option<String>,
    /// The movie, where it was kept in memory.
    pub(crate) movie: Vec<u8>,
}

impl Receiving {
    pub(crate) fn new(session: ReceiverSession, sink: MovieSink) -> Self {
        Self { session, sink, kept_bytes: 0, failure: None, buffer: Vec::new() }
    }

    /// A datagram came.
    pub(crate) fn handle_datagram(&mut self, now: Timestamp, bytes: &[u8]) {
        self.session.handle_input(now, bytes);
        self.keep_frames();
    }

    /// When it has something to do by itself.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.session.next_timeout()
    }

    /// Reads what there is, as far as the session wants it. `told`: nothing more comes. True when it has ended.
    pub(crate) fn advance(&mut self, now: Timestamp, told: bool, socket: &mut Socket, wires: &mut FlowWires) -> bool {
        let ended = match socket {
            Socket::Udp(_) => told,
            Socket::Tcp(connection) => loop {
                self.session.handle_timeout(now);
                self.keep_frames();
                if !self.session.wants_bytes(now) {
                    break told;
                }
                if connection.server.readable() == 0 {
                    break told || connection.server.has_ended();
                }
                connection.read(now, READ_SIZE, &mut self.buffer, wires);
                self.session.handle_input(now, &self.buffer);
            },
        };
        if ended || self.failure.is_some() {
            self.session.handle_end(now);
            self.keep_frames();
            self.note_failure(|sink| sink.flush());
            return true;
        }
        false
    }

    pub(crate) fn into_parts(self) -> Received {
        let movie = if let MovieSink::Memory(bytes) = self.sink { bytes } else { Vec::new() };
        Received { log: self.session.into_log(), kept_bytes: self.kept_bytes, failure: self.failure, movie }
    }

    fn keep_frames(&mut self) {
        while let Some(frame) = self.session.poll_frame() {
            self.kept_bytes += frame.len() as u64;
            self.note_failure(|sink| sink.keep(&frame));
        }
    }

    fn note_failure(&mut self, work: impl FnOnce(&mut MovieSink) -> std::io::Result<()>) {
        if self.failure.is_none() {
            let failed = work(&mut self.sink).err();
            self.failure = failed.map(|error| format!("received movie cannot be written: {error}"));
        }
    }
}
