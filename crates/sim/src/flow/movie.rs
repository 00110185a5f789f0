//! A flow of the movie: its two ends, its socket, and what they wait for.

use framewire_session::FrameCounts;
use framewire_session::half::{Arrival, ChannelId, End};
use framewire_session::lifecycle::{FlowEnd, FlowOutcome, MovieReceiving, MovieSending, Notice, Settling};
use framewire_units::Timestamp;

use crate::packet_content::Body;
use crate::record::FlowWires;
use crate::socket::FlowSockets;

/// A flow of the movie.
pub(crate) struct MovieFlow {
    sockets: FlowSockets,
    sending: MovieSending,
    /// While what was under way at the sender's end may still arrive.
    settling: Option<Settling>,
    receiving: MovieReceiving,
    /// When it has something to do by itself.
    deadline: Timestamp,
}

impl MovieFlow {
    /// A flow that is ready to begin at the origin of the run.
    pub(crate) fn new(sockets: FlowSockets, sending: MovieSending, receiving: MovieReceiving) -> Self {
        Self { sockets, sending, settling: None, receiving, deadline: Timestamp::ZERO }
    }

    /// True where what goes on a channel is a part of the stream, and not said about it.
    pub(crate) fn is_media(&self, channel: ChannelId) -> bool {
        self.sockets.is_media(channel)
    }

    /// When it has something to do by itself; never earlier than the last call's time.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// True when both ends have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.sending.has_ended() && self.settling.is_none() && self.receiving.has_ended()
    }

    /// What sender and receiver know of the frames, and whether all were offered.
    pub(crate) fn progress(&self) -> ([FrameCounts; 2], bool) {
        let is_draining = self.sending.is_draining() || self.sending.has_ended();
        ([self.sending.counts(), self.receiving.counts()], is_draining)
    }

    /// A packet of this flow comes out at a host.
    pub(crate) fn handle_delivery(
        &mut self,
        now: Timestamp,
        (to, channel): (End, ChannelId),
        body: Body,
        wires: &mut FlowWires,
    ) {
        match body {
            Body::Datagram(_, bytes) => {
                let arrival = Arrival::Datagram(&bytes);
                match to {
                    End::Sender => self.sending.handle_arrival(now, channel, arrival),
                    End::Receiver => self.receiving.handle_arrival(now, channel, arrival),
                }
                self.sockets.recycle(bytes);
                // Nobody answers what is of the movie.
                if !self.is_media(channel) {
                    self.advance(now, wires);
                }
            }
            Body::Segment(segment) => {
                self.sockets.handle_segment(now, (to, channel), &segment, wires);
                self.advance(now, wires);
            }
        }
    }

    /// The sender's own device has let go of a packet of this flow.
    pub(crate) fn handle_released(&mut self, now: Timestamp, channel: ChannelId, payload: u32, wires: &mut FlowWires) {
        if self.sockets.handle_released(now, channel, payload, wires) {
            self.advance(now, wires);
        }
    }

    /// Ends the stream early.
    pub(crate) fn stop(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.sockets.handle_timeout(now, wires);
        if !self.sending.has_ended() {
            self.sending.stop(now);
            self.begin_settling(now, wires);
        }
        self.finish(now, wires);
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.sockets.handle_timeout(now, wires);
        self.sending.receive(now, &mut self.sockets.at(now, End::Sender, wires));
        if !self.sending.has_ended() {
            self.send(now, wires);
        }
        self.finish(now, wires);
    }

    /// Sends as long as the socket takes something.
    fn send(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while self.sending.is_due(now, |channel| self.sockets.is_writable(channel)) {
            let before = self.sockets.queued();
            self.sending.drive(now, &mut self.sockets.at(now, End::Sender, wires));
            // A socket that says it is writable and takes nothing would be asked for ever.
            if !self.sending.waits_for_room().is_empty() && self.sockets.queued() == before {
                return;
            }
        }
        if self.sending.has_ended() {
            self.begin_settling(now, wires);
        }
    }

    fn begin_settling(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.sockets.close(now, wires);
        if self.sending.notice() == Notice::WhenSettled {
            self.settling = Some(Settling::of(now, wires));
        }
    }

    /// The receiver's part of what is due.
    fn finish(&mut self, now: Timestamp, wires: &mut FlowWires) {
        let settling = self.settling.as_mut();
        let has_settled = settling.is_some_and(|settling| settling.has_ended(now, wires));
        if has_settled {
            self.receiving.handle_other_ended(now);
        }
        // Datagrams were handed over as they came: there is nothing to read before the end.
        let is_due = self.receiving.next_timeout().is_some_and(|at| at <= now);
        if has_settled || is_due || self.sockets.have_stream() || self.receiving.has_failed() {
            let mut sockets = self.sockets.at(now, End::Receiver, wires);
            while self.receiving.poll(now, &mut sockets) {}
        }
        if has_settled || self.receiving.has_ended() {
            self.settling = None;
        }
        self.deadline = self.next_deadline();
    }

    fn next_deadline(&self) -> Timestamp {
        if self.is_done() {
            return Timestamp::MAX;
        }
        let settling = self.settling.map(|settling| settling.next_look());
        let timeouts =
            [self.sockets.next_timeout(), self.sending.next_timeout(), settling, self.receiving.next_timeout()];
        timeouts.iter().fold(Timestamp::MAX, |first, at| at.map_or(first, |at| at.min(first)))
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        self.receiving.into_outcome(self.sending)
    }
}
