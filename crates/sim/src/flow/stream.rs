//! A flow of the movie: its two sessions, its socket, and what it waits for.

use framewire_link::Port;
use framewire_recording::record::FlowStatus;
use framewire_session::{DatagramSetup, StreamSetup};
use framewire_units::{DataSize, Duration, Seed, Timestamp};
use framewire_world::{FlowOutcome, SETTLING_AT_MOST};

use super::cargo::{Body, FlowWires};
use super::received::MovieSink;
use super::receiving::Receiving;
use super::sending::Sending;
use super::{DEFAULT_SEND_BUFFER, tcp_configs};
use crate::error::SimError;
use crate::socket::{Connection, UdpSender};

/// Time between two looks whether everything has arrived that was under way; as the emulated world looks.
const SETTLING_TICK: Duration = Duration::from_millis(50);

/// The sockets of a flow.
pub(crate) enum Socket {
    Udp(UdpSender),
    Tcp(Box<Connection>),
}

/// How far the sender of a flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has something to do.
    Sending,
    /// It has ended, and nothing tells the receiver so: what is under way may still come.
    Settling {
        look: Timestamp,
        deadline: Timestamp,
        /// Packets that had entered the network by then.
        packets: u64,
    },
    /// It has ended; the receiver is told so by the stream itself, or has been told.
    Ended,
}

/// A flow of the movie.
pub(crate) struct StreamFlow {
    socket: Socket,
    sending: Sending,
    receiving: Receiving,
    phase: Phase,
    receiver_ended: bool,
    /// When it has something to do by itself.
    deadline: Timestamp,
}

impl StreamFlow {
    /// Flow number `number` over datagrams, ready to begin at the origin of the run.
    pub(crate) fn over_datagrams(setup: &DatagramSetup, number: usize, sink: MovieSink) -> Result<Self, SimError> {
        let common = &setup.common;
        let sender = setup.sender().map_err(|error| SimError::Input(error.to_string()))?;
        let send_buffer = common.send_buffer().unwrap_or(DEFAULT_SEND_BUFFER);
        let socket = Socket::Udp(UdpSender::new(number, common.station(), send_buffer));
        let (sending, receiving) = (Sending::new(sender, common.records()), Receiving::new(setup.receiver(), sink));
        Ok(Self::new(socket, sending, receiving))
    }

    /// The same over a connection. `largest_packet` is the MTU of the interfaces that it shares.
    pub(crate) fn over_stream(
        setup: &StreamSetup,
        number: usize,
        largest_packet: u16,
        seed: Seed,
        sink: MovieSink,
    ) -> Result<Self, SimError> {
        let common = &setup.common;
        let (client, server) = tcp_configs(common, &setup.connection(), largest_packet, seed)?;
        let connection = Connection::open(number, common.station(), &client, &server, Timestamp::ZERO);
        let sending = Sending::new(setup.sender(), common.records());
        Ok(Self::new(Socket::Tcp(Box::new(connection)), sending, Receiving::new(setup.receiver(), sink)))
    }

    fn new(socket: Socket, sending: Sending, receiving: Receiving) -> Self {
        let (phase, deadline) = (Phase::Sending, Timestamp::ZERO);
        Self { socket, sending, receiving, phase, receiver_ended: false, deadline }
    }

    /// When it has something to do by itself; never earlier than it was told of.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// True when both sides have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.receiver_ended && self.phase == Phase::Ended
    }

    /// A packet of this flow comes out at a host.
    pub(crate) fn handle_delivery(&mut self, now: Timestamp, to: Port, body: Body, wires: &mut FlowWires) {
        match (&mut self.socket, body) {
            (Socket::Udp(socket), Body::Datagram(bytes)) => {
                if !self.receiver_ended {
                    self.receiving.handle_datagram(now, &bytes);
                }
                socket.recycle(bytes);
            }
            (Socket::Tcp(connection), Body::Segment(segment)) => {
                connection.handle_segment(now, to, &segment, wires);
                self.advance(now, false, wires);
            }
            _ => {}
        }
    }

    /// The sender's own device has let go of a packet of this flow.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut FlowWires) {
        match &mut self.socket {
            Socket::Udp(socket) => socket.handle_released(DataSize::from_bytes(u64::from(payload))),
            Socket::Tcp(connection) => connection.handle_released(now, payload, wires),
        }
        self.advance(now, false, wires);
    }

    /// Does what is due at `now`; with `stop`, the sender ends.
    pub(crate) fn advance(&mut self, now: Timestamp, stop: bool, wires: &mut FlowWires) {
        if let Socket::Tcp(connection) = &mut self.socket {
            connection.handle_timeout(now, wires);
        }
        if self.phase == Phase::Sending && self.sending.advance(now, stop, &mut self.socket, wires) {
            self.phase = self.after_sending(now, wires);
        }
        let told = self.has_settled(now, wires);
        if !self.receiver_ended {
            self.receiver_ended = self.receiving.advance(now, told, &mut self.socket, wires);
        }
        if told || self.receiver_ended && matches!(self.phase, Phase::Settling { .. }) {
            self.phase = Phase::Ended;
        }
        self.deadline = self.next_deadline();
    }

    /// A stream that ended well tells its receiver so; a datagram flow, or one that was cut off, does not.
    fn after_sending(&self, now: Timestamp, wires: &FlowWires) -> Phase {
        match self.socket {
            Socket::Tcp(_) if *self.sending.status() == FlowStatus::Complete => Phase::Ended,
            _ => Phase::Settling {
                look: now + SETTLING_TICK,
                deadline: now + SETTLING_AT_MOST,
                packets: wires.entered(),
            },
        }
    }

    /// True when nothing more comes of what was under way at the end, and the receiver is to be told so. Each direction
    /// keeps its order, so that whatever others send after it does not matter.
    fn has_settled(&mut self, now: Timestamp, wires: &FlowWires) -> bool {
        let Phase::Settling { look, deadline, packets } = &mut self.phase else { return false };
        if now < *look {
            return false;
        }
        *look = now + SETTLING_TICK;
        wires.has_settled(*packets) || now >= *deadline
    }

    fn next_deadline(&self) -> Timestamp {
        if self.is_done() {
            return Timestamp::MAX;
        }
        let endpoints = match &self.socket {
            Socket::Udp(_) => None,
            Socket::Tcp(connection) => connection.next_timeout(),
        };
        let sender = match self.phase {
            Phase::Sending => self.sending.deadline(),
            Phase::Settling { look, .. } => Some(look),
            Phase::Ended => None,
        };
        let receiver = self.receiving.deadline().filter(|_| !self.receiver_ended);
        [endpoints, sender, receiver].into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        let (status, sent, samples) = self.sending.into_parts();
        let (received, kept) = self.receiving.into_parts(&sent);
        let (kept_bytes, failure, movie) = kept.into_parts();
        let status = match (status, failure) {
            (FlowStatus::Failed(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
            (_, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
            (status, None) => status,
        };
        let outcome = FlowOutcome { sent, samples, received, kept_bytes, bulk: None, status, doubt: None };
        (outcome, movie)
    }
}
