//! An adaptive stream: its server at the sender's host, its client at the receiver's.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use framewire_adaptive::datagram::{Channel, Transmit};
use framewire_link::Port;
use framewire_recording::record::RateSample;
use framewire_session::AdaptiveSetup;
use framewire_session::lifecycle::{AdaptiveServing, AdaptiveViewing, FlowOutcome, ReceivedMovie};
use framewire_units::{DataSize, Duration, Seed, Timestamp};
use framewire_world::port;

use super::connection::DEFAULT_SEND_BUFFER;
use crate::cargo::Cargo;
use crate::error::SimError;
use crate::record::FlowWires;
use crate::socket::{IP_AND_UDP_HEADERS, UdpSender};

/// Clocks as those of old systems, where timers expire and packets are seen at ticks only: 10 ms, for instance, with the HZ
/// of 100 that Linux 2.4 and FreeBSD 4 had. Zero for exact ones.
#[derive(Clone, Copy, Debug, Default)]
struct CoarseClocks {
    /// The server sends when it is due, at the next multiple of this.
    send: Duration,
    /// The client sees a packet at the next multiple of this, and stamps it with that time.
    receive: Duration,
}

/// Both ends of a session, and the sender's socket.
pub(crate) struct AdaptiveFlow {
    number: usize,
    station: usize,
    serving: AdaptiveServing,
    viewing: AdaptiveViewing,
    socket: UdpSender,
    /// What the socket had no room for; nothing else is sent before.
    waiting: VecDeque<Transmit>,
    start: Timestamp,
    begun: bool,
    /// It was stopped before it began.
    never: bool,
    clocks: CoarseClocks,
    /// When something happened last.
    now: Timestamp,
}

impl AdaptiveFlow {
    pub(crate) fn new(
        setup: &AdaptiveSetup,
        number: usize,
        session: Seed,
        movie: ReceivedMovie,
    ) -> Result<Self, SimError> {
        let sender = setup.sender(session).map_err(|error| SimError::Input(error.to_string()))?;
        let (common, start) = (&setup.common, setup.start);
        let send_buffer = common.send_buffer().unwrap_or(DEFAULT_SEND_BUFFER);
        Ok(Self {
            number,
            station: common.station(),
            serving: AdaptiveServing::new(sender, start, common.records()),
            viewing: AdaptiveViewing::new(setup.receiver(session), movie),
            socket: UdpSender::new(number, common.station(), send_buffer),
            waiting: VecDeque::new(),
            start,
            begun: false,
            never: false,
            clocks: CoarseClocks { send: setup.send_tick, receive: setup.receive_tick },
            now: start,
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
        let serving = self.serving.next_timeout(self.waiting.is_empty());
        let serving = serving.map(|at| at.max(self.now).next_multiple_of(self.clocks.send));
        let timeouts = [serving, self.viewing.next_timeout()];
        timeouts.into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    /// True when both ends have said all that they had to say, or never began.
    pub(crate) fn is_done(&self) -> bool {
        self.never || self.viewing.is_finished() && self.serving.is_finished() && self.waiting.is_empty()
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
            Port::Receiver => self.viewing.handle_datagram(self.seen(now), channel, bytes),
            Port::Sender => self.serving.handle_datagram(now, channel, self.client_socket(channel), bytes),
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
        self.serving.sample(now, || Some(self.socket.queued()));
    }

    /// What has come by `now`, but for what was counted of packets.
    pub(crate) fn rates(&self, now: Timestamp) -> RateSample {
        let received_bytes = Some(self.viewing.received().as_bytes());
        let Some(state) = self.serving.state() else {
            return RateSample { at: now, received_bytes, ..RateSample::default() };
        };
        RateSample {
            at: now,
            received_bytes,
            sending_rate: Some(state.controller.rate),
            estimate: state.controller.estimate,
            lowest_plan: state.plan.first().copied(),
            highest_plan: state.plan.last().copied(),
            level: u8::try_from(state.level).ok(),
            round_trip: state.controller.round_trip,
            loss_event_rate: state.controller.loss_event_rate,
            ..RateSample::default()
        }
    }

    /// When the client sees what comes at `now`.
    fn seen(&self, now: Timestamp) -> Timestamp {
        now.next_multiple_of(self.clocks.receive)
    }

    /// Ends the stream; both ends send a teardown.
    pub(crate) fn stop(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if !self.is_done() {
            self.serving.stop(now);
            if self.begun {
                self.exchange(now, wires);
            } else {
                self.never = true;
            }
        }
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        self.viewing.into_outcome(self.serving)
    }

    /// Sends what both ends have to send.
    fn exchange(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.now = now;
        // What a session begins with is answered at once; video leaves by the timer.
        if !self.serving.has_started() || now.next_multiple_of(self.clocks.send) == now {
            self.send_video(now, wires);
        }
        while let Some(transmit) = self.viewing.poll_transmit(self.seen(now)) {
            let size = DataSize::from_bytes(transmit.bytes.len() as u64 + IP_AND_UDP_HEADERS);
            let cargo = Cargo::session(self.number, transmit.channel, None, transmit.bytes);
            wires.send(now, Port::Receiver, 0, size, cargo);
        }
        if self.viewing.is_finished() {
            self.serving.handle_client_gone(now);
        }
    }

    fn send_video(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while let Some(transmit) = self.waiting.pop_front().or_else(|| self.serving.poll_transmit(now)) {
            let payload = DataSize::from_bytes(transmit.bytes.len() as u64);
            if !self.socket.admit(payload, wires) {
                return self.waiting.push_front(transmit);
            }
            let size = DataSize::from_bytes(payload.as_bytes() + IP_AND_UDP_HEADERS);
            let sequence = transmit.carries.map(|header| header.sequence);
            let cargo = Cargo::session(self.number, transmit.channel, sequence, transmit.bytes);
            wires.send(now, Port::Sender, self.station, size, cargo);
        }
    }

    /// The client's socket for a channel, as the server sees it (RFC 5737 has the address for examples).
    fn client_socket(&self, channel: Channel) -> SocketAddr {
        let port = port(self.number) + u16::from(channel == Channel::Control);
        SocketAddr::from((Ipv4Addr::new(192, 0, 2, 2), port))
    }
}
