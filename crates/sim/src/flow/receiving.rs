//! The receiver of one flow.

use framewire_session::{ReceiverLog, ReceiverSession, SenderLog};
use framewire_units::Timestamp;

use super::received::{KeptMovie, MovieSink};
use super::{FlowWires, Socket};

/// Bytes that one read takes, as in the emulated world.
const READ_SIZE: usize = 65_536;

/// The receiver of one flow.
pub(crate) struct Receiving {
    session: ReceiverSession,
    kept: KeptMovie,
    buffer: Vec<u8>,
}

impl Receiving {
    pub(crate) fn new(session: ReceiverSession, sink: MovieSink) -> Self {
        Self { session, kept: KeptMovie::new(sink), buffer: Vec::new() }
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
        if ended || self.kept.has_failed() {
            self.session.handle_end(now);
            return true;
        }
        false
    }

    /// What the session recorded, and what was kept, when it has ended and it is known what was sent.
    pub(crate) fn into_parts(mut self, sent: &SenderLog) -> (ReceiverLog, KeptMovie) {
        self.session.handle_sent(sent);
        self.keep_frames();
        self.kept.flush();
        (self.session.into_log(), self.kept)
    }

    fn keep_frames(&mut self) {
        while let Some(frame) = self.session.poll_frame() {
            self.kept.keep(&frame);
        }
    }
}
