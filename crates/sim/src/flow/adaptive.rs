//! An adaptive stream: its server at the sender's host, its client at the receiver's.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use framewire_adaptive::datagram::{Channel, Transmit};
use framewire_link::Port;
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_recording::spool::Spool;
use framewire_session::{AdaptiveReceiver, AdaptiveSender, AdaptiveSetup};
use framewire_units::{DataSize, Seed, Timestamp};
use framewire_world::{FlowOutcome, SAMPLE_INTERVAL, port};

use super::DEFAULT_SEND_BUFFER;
use super::cargo::{Cargo, FlowWires};
use super::received::{KeptMovie, MovieSink};
use crate::error::SimError;
use crate::socket::{IP_AND_UDP_HEADERS, UdpSender};

/// Both halves of a session, and the sender's socket.
pub(crate) struct AdaptiveFlow {
    number: usize,
    station: usize,
    sender: AdaptiveSender,
    receiver: AdaptiveReceiver,
    socket: UdpSender,
    /// What the socket had no room for; nothing else is sent before.
    waiting: VecDeque<Transmit>,
    kept: KeptMovie,
    start: Timestamp,
    begun: bool,
    stopped: bool,
    next_sample: Timestamp,
    samples: Spool<FlowSample>,
}

impl AdaptiveFlow {
    pub(crate) fn new(setup: &AdaptiveSetup, number: usize, session: Seed, sink: MovieSink) -> Result<Self, SimError> {
        let sender = setup.sender(session).map_err(|error| SimError::Input(error.to_string()))?;
        let (station, start) = (setup.common.station(), setup.start);
        Ok(Self {
            number,
            station,
            sender,
            receiver: setup.receiver(session),
            socket: UdpSender::new(number, station, setup.common.send_buffer().unwrap_or(DEFAULT_SEND_BUFFER)),
            waiting: VecDeque::new(),
            kept: KeptMovie::new(sink),
            start,
            begun: false,
            stopped: false,
            next_sample: start,
            samples: setup.common.records(),
        })
    }

    /// When it has something to do by itself.
    pub(crate) fn deadline(&self) -> Timestamp {
        if self.is_done() {
            return Timestamp::MAX;
        }
        if !self.begun {
            return self.start;
        }
        // Where the socket has no room, the server waits for it and not for a time.
        let sender = self.sender.next_timeout().filter(|_| self.waiting.is_empty());
        let halves = sender.into_iter().chain(self.receiver.next_timeout()).min().unwrap_or(Timestamp::MAX);
        halves.min(if self.sender.is_finished() { Timestamp::MAX } else { self.next_sample })
    }

    /// True when both halves have said all that they had to say, or never began.
    pub(crate) fn is_done(&self) -> bool {
        let never = self.stopped && !self.begun;
        never || self.receiver.is_finished() && self.sender.is_finished() && self.waiting.is_empty()
    }

    /// A datagram comes out at a host.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Timestamp,
        to: Port,
        channel: Channel,
        bytes: &[u8],
        wires: &mut FlowWires,
    ) {
        match to {
            Port::Receiver => self.receiver.handle_datagram(now, channel, bytes),
            Port::Sender => self.sender.handle_datagram(now, channel, self.client_socket(channel), bytes),
        }
        self.exchange(now, wires);
    }

    /// The sender's own device has let go of a datagram.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut FlowWires) {
        self.socket.handle_released(DataSize::from_bytes(payload.into()));
        if !self.waiting.is_empty() {
            self.exchange(now, wires);
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if now < self.start || self.is_done() {
            return;
        }
        self.begun = true;
        self.exchange(now, wires);
        if now >= self.next_sample {
            let queued_bytes = Some(self.socket.queued().as_bytes());
            self.samples.extend(self.sender.sample(now).map(|sample| FlowSample { queued_bytes, ..sample }));
            self.next_sample = now + SAMPLE_INTERVAL;
        }
    }

    /// Ends the stream; both halves send a teardown.
    pub(crate) fn stop(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if !self.is_done() {
            self.stopped = true;
            self.sender.stop(now);
            if self.begun {
                self.exchange(now, wires);
            }
        }
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        let (kept_bytes, unwritten, movie) = self.kept.into_parts();
        let broken = (!self.stopped).then(|| self.sender.failure()).flatten();
        let status = match (broken, unwritten) {
            (Some(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
            (None, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
            (None, None) if self.stopped => FlowStatus::Partial,
            (None, None) if self.sender.offered_all() => FlowStatus::Complete,
            (None, None) => FlowStatus::Failed("receiver: nothing came from the sender any more".to_owned()),
        };
        let outcome = FlowOutcome {
            sent: self.sender.into_log(),
            samples: self.samples,
            received: self.receiver.into_log(),
            kept_bytes,
            bulk: None,
            status,
            doubt: None,
        };
        (outcome, movie)
    }

    /// Sends what both halves have to send, and keeps what is whole.
    fn exchange(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.send_video(now, wires);
        while let Some(transmit) = self.receiver.poll_transmit(now) {
            let size = DataSize::from_bytes(transmit.bytes.len() as u64 + IP_AND_UDP_HEADERS);
            wires.send(now, Port::Receiver, 0, size, Cargo::session(self.number, transmit.channel, transmit.bytes));
        }
        if self.receiver.is_finished() && !self.sender.is_finished() && !self.sender.has_started() {
            // Nobody will ever come for it.
            self.sender.stop(now);
        }
        while let Some(frame) = self.receiver.poll_frame() {
            self.kept.keep(&frame);
        }
        if self.receiver.is_finished() {
            self.kept.flush();
        }
    }

    fn send_video(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while let Some(transmit) = self.waiting.pop_front().or_else(|| self.sender.poll_transmit(now)) {
            let payload = DataSize::from_bytes(transmit.bytes.len() as u64);
            if !self.socket.admit(payload, wires) {
                return self.waiting.push_front(transmit);
            }
            let size = DataSize::from_bytes(payload.as_bytes() + IP_AND_UDP_HEADERS);
            let cargo = Cargo::session(self.number, transmit.channel, transmit.bytes);
            wires.send(now, Port::Sender, self.station, size, cargo);
        }
    }

    /// The client's socket for a channel, as the server sees it (RFC 5737 has the address for examples).
    fn client_socket(&self, channel: Channel) -> SocketAddr {
        let port = port(self.number) + u16::from(channel == Channel::Control);
        SocketAddr::from((Ipv4Addr::new(192, 0, 2, 2), port))
    }
}
