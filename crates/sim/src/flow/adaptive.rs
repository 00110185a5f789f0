//! An adaptive stream: its server at the sender's host, its client at the receiver's.

use framewire_recording::record::RateSample;
use framewire_session::half::{Arrival, ChannelId, End};
use framewire_session::lifecycle::{AdaptiveServing, AdaptiveViewing, FlowOutcome};
use framewire_session::{AdaptiveSetup, FrameCounts};
use framewire_units::{Duration, Timestamp};

use crate::record::FlowWires;
use crate::socket::FlowSockets;

/// Clocks as those of old systems, where timers expire and packets are seen at ticks only: 10 ms, for instance, with the HZ
/// of 100 that Linux 2.4 and FreeBSD 4 had. Zero for exact ones.
#[derive(Clone, Copy, Debug, Default)]
struct CoarseClocks {
    /// The server sends when it is due, at the next multiple of this.
    send: Duration,
    /// The client sees a packet at the next multiple of this, and stamps it with that time.
    receive: Duration,
}

/// Both ends of a session, and their sockets.
pub(crate) struct AdaptiveFlow {
    serving: AdaptiveServing,
    viewing: AdaptiveViewing,
    sockets: FlowSockets,
    start: Timestamp,
    begun: bool,
    /// It was stopped before it began.
    never: bool,
    clocks: CoarseClocks,
    /// When something happened last.
    now: Timestamp,
    server: Driven,
    client: Driven,
    /// When it has something to do by itself.
    deadline: Timestamp,
}

/// Whether an end of the session has anything to do: what happens at one of them is mostly nothing to the other.
#[derive(Clone, Copy, Debug)]
struct Driven {
    /// Something came to it, or it was told to stop, since it was driven last.
    stirred: bool,
    /// When it is to be driven by itself.
    next: Timestamp,
}

impl Driven {
    const NEW: Self = Self { stirred: true, next: Timestamp::ZERO };

    /// Whether it is to be driven at `now`; it is, then.
    fn take_turn(&mut self, now: Timestamp) -> bool {
        std::mem::take(&mut self.stirred) || self.next <= now
    }
}

impl AdaptiveFlow {
    pub(crate) fn new(
        setup: &AdaptiveSetup,
        sockets: FlowSockets,
        serving: AdaptiveServing,
        viewing: AdaptiveViewing,
    ) -> Self {
        let start = setup.start;
        Self {
            serving,
            viewing,
            sockets,
            start,
            begun: false,
            never: false,
            clocks: CoarseClocks { send: setup.send_tick, receive: setup.receive_tick },
            now: start,
            server: Driven::NEW,
            client: Driven::NEW,
            deadline: start,
        }
    }

    /// When it has something to do by itself.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    fn next_deadline(&self) -> Timestamp {
        if self.is_done() {
            return Timestamp::MAX;
        }
        if !self.begun {
            return self.start;
        }
        let serving = match self.server.next {
            Timestamp::MAX => Timestamp::MAX,
            at => at.max(self.now).next_multiple_of(self.clocks.send),
        };
        serving.min(self.client.next)
    }

    fn ask_server(&mut self) {
        self.server.next = self.serving.next_timeout(true).unwrap_or(Timestamp::MAX);
    }

    fn ask_client(&mut self) {
        self.client.next = self.viewing.next_timeout().unwrap_or(Timestamp::MAX);
    }

    /// True when both ends have said all that they had to say, or never began.
    pub(crate) fn is_done(&self) -> bool {
        self.never || self.viewing.is_finished() && self.serving.is_finished() && !self.serving.is_waiting()
    }

    /// What server and client know of the frames, and whether all were offered.
    pub(crate) fn progress(&self) -> ([FrameCounts; 2], bool) {
        ([self.serving.counts(), self.viewing.counts()], self.serving.offered_all())
    }

    /// A datagram comes out at a host.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Timestamp,
        (to, channel): (End, ChannelId),
        bytes: Vec<u8>,
        wires: &mut FlowWires,
    ) {
        let arrival = Arrival::Datagram(&bytes);
        match to {
            End::Receiver => {
                self.viewing.handle_arrival(self.seen(now), channel, arrival);
                self.client.stirred = true;
            }
            End::Sender => {
                self.serving.handle_arrival(now, channel, arrival);
                self.server.stirred = true;
                self.ask_server();
            }
        }
        self.sockets.recycle(bytes);
        self.exchange(now, wires);
        self.deadline = self.next_deadline();
    }

    /// The sender's own device has let go of a datagram.
    pub(crate) fn handle_released(&mut self, now: Timestamp, channel: ChannelId, payload: u32, wires: &mut FlowWires) {
        self.sockets.handle_released(now, channel, payload, wires);
        if self.serving.is_waiting() {
            self.server.stirred = true;
            self.exchange(now, wires);
            self.deadline = self.next_deadline();
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if now < self.start || self.is_done() {
            return;
        }
        self.begun = true;
        self.exchange(now, wires);
        self.serving.sample(now, || Some(self.sockets.queued()));
        self.ask_server();
        self.deadline = self.next_deadline();
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
            sending_rate: state.decision.map(|_| state.controller.rate),
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
            self.serving.stop_serving(now);
            self.server.stirred = true;
            if self.begun {
                self.exchange(now, wires);
            } else {
                self.never = true;
            }
            self.deadline = self.next_deadline();
        }
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        self.viewing.into_outcome(self.serving)
    }

    /// Sends what both ends have to send, each where it has anything to do.
    fn exchange(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.now = now;
        let seen = self.seen(now);
        // What a session begins with is answered at once; video leaves by the timer.
        let sends = !self.serving.has_started() || now.next_multiple_of(self.clocks.send) == now;
        let (serves, views) = (sends && self.server.take_turn(now), self.client.take_turn(seen));
        let Self { sockets, serving, viewing, .. } = self;
        let server = if serves { serving.drive(now, &mut sockets.at(now, End::Sender, wires)).err() } else { None };
        let client = if views { viewing.drive(seen, &mut sockets.at(now, End::Receiver, wires)).err() } else { None };
        debug_assert!(server.is_none() && client.is_none(), "invariant: channels of datagrams do not break here");
        if serves {
            self.ask_server();
        }
        if views {
            self.ask_client();
            if self.viewing.is_finished() {
                self.serving.handle_client_gone(now);
                self.server.stirred = true;
                self.ask_server();
            }
        }
    }
}
