//! A flow of the movie: its two ends, its socket, and what they wait for.

use framewire_link::Port;
use framewire_session::half::ChannelId;
use framewire_session::lifecycle::{FlowOutcome, MovieReceiving, MovieSending, ReceivedMovie, ReceivingStep, Settling};
use framewire_session::{
    DatagramSetup, RTCP_CHANNEL, ReceiverSession, SOUND_RTCP_CHANNEL, SenderProgress, StreamSetup,
};
use framewire_units::{Seed, Timestamp};

use super::connection::{DEFAULT_SEND_BUFFER, tcp_configs};
use crate::cargo::Body;
use crate::error::SimError;
use crate::record::FlowWires;
use crate::socket::{Connection, MovieSocket, UdpSender, UdpSockets};

/// A flow of the movie.
pub(crate) struct MovieFlow {
    socket: MovieSocket,
    sending: MovieSending,
    /// While what was under way at the sender's end may still arrive.
    settling: Option<Settling>,
    receiving: MovieReceiving,
    /// When it has something to do by itself.
    deadline: Timestamp,
}

impl MovieFlow {
    /// Flow number `number` over datagrams, ready to begin at the origin of the run; the movie and its sound are kept so.
    pub(crate) fn over_datagrams(setup: &DatagramSetup, number: usize, received: [ReceivedMovie; 2]) -> Self {
        let common = &setup.common;
        let send_buffer = common.send_buffer().unwrap_or(DEFAULT_SEND_BUFFER);
        let open = || UdpSender::new(number, common.station(), send_buffer);
        let socket = MovieSocket::Udp(UdpSockets::new(open(), setup.has_sound_apart().then(open)));
        let sending = MovieSending::new(setup.sender(), common.samples());
        Self::new(socket, sending, receiving(setup.receiver(), received))
    }

    /// The same over a connection. `largest_packet` is the MTU of the interfaces that it shares.
    pub(crate) fn over_stream(
        setup: &StreamSetup,
        number: usize,
        largest_packet: u16,
        seed: Seed,
        received: [ReceivedMovie; 2],
    ) -> Result<Self, SimError> {
        let common = &setup.common;
        let (sender, receiver) = tcp_configs(common, &setup.connection, largest_packet, seed)?;
        let place = (number, common.station());
        let connection = Connection::open(place, &sender, &receiver, setup.opened_by(), Timestamp::ZERO);
        let sending = MovieSending::new(setup.sender(), common.samples());
        let receiving = receiving(setup.receiver(), received);
        Ok(Self::new(MovieSocket::Tcp(Box::new(connection)), sending, receiving))
    }

    fn new(socket: MovieSocket, sending: MovieSending, receiving: MovieReceiving) -> Self {
        Self { socket, sending, settling: None, receiving, deadline: Timestamp::ZERO }
    }

    /// When it has something to do by itself; never earlier than the last call's time.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// True when both ends have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.sending.has_ended() && self.settling.is_none() && self.receiving.has_ended()
    }

    /// What the sender has done, the frames that arrived whole and with something missing, and whether all were offered.
    pub(crate) fn progress(&self) -> (SenderProgress, (u32, u32), bool) {
        (self.sending.progress(), self.receiving.frames(), self.sending.is_draining() || self.sending.has_ended())
    }

    /// A packet of this flow comes out at a host.
    pub(crate) fn handle_delivery(
        &mut self,
        now: Timestamp,
        (to, channel): (Port, ChannelId),
        body: Body,
        wires: &mut FlowWires,
    ) {
        match (&mut self.socket, body) {
            (MovieSocket::Udp(sockets), Body::Datagram(bytes)) => {
                self.receiving.handle_datagram(now, channel, &bytes);
                sockets.recycle(bytes);
            }
            (MovieSocket::Udp(_), Body::Session(_, _, report)) => {
                match to {
                    Port::Sender => self.sending.handle_report(now, channel, &report),
                    Port::Receiver => self.receiving.handle_datagram(now, channel, &report),
                }
                self.advance(now, wires);
            }
            (MovieSocket::Tcp(connection), Body::Segment(segment)) => {
                connection.handle_segment(now, to, &segment, wires);
                self.advance(now, wires);
            }
            _ => {}
        }
    }

    /// The sender's own device has let go of a packet of this flow.
    pub(crate) fn handle_released(&mut self, now: Timestamp, channel: ChannelId, payload: u32, wires: &mut FlowWires) {
        let is_report = [RTCP_CHANNEL, SOUND_RTCP_CHANNEL].contains(&channel);
        if !is_report {
            self.socket.handle_released(now, channel, payload, wires);
            self.advance(now, wires);
        }
    }

    /// Ends the stream early.
    pub(crate) fn stop(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.socket.handle_timeout(now, wires);
        if !self.sending.has_ended() {
            self.sending.stop(now);
            self.begin_settling(now, wires);
        }
        self.finish(now, wires);
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.socket.handle_timeout(now, wires);
        if self.sending.listens() {
            self.sending.listen(now, &mut self.socket.at(now, wires));
        }
        if !self.sending.has_ended() {
            self.send(now, wires);
        }
        self.finish(now, wires);
    }

    /// Sends as long as the socket takes something.
    fn send(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while self.sending.is_due(now, || self.socket.is_writable()) {
            let before = self.socket.queued();
            self.sending.poll(now, &mut self.socket.at(now, wires));
            // A socket that says it is writable and takes nothing would be asked for ever.
            if self.sending.waits_for_room() && self.socket.queued() == before {
                return;
            }
        }
        if self.sending.has_ended() {
            self.begin_settling(now, wires);
        }
    }

    fn begin_settling(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.socket.close(now, wires);
        if !self.sending.tells_its_end() {
            self.settling = Some(Settling::new(now, wires.entered()));
        }
    }

    /// The receiver's part of what is due.
    fn finish(&mut self, now: Timestamp, wires: &mut FlowWires) {
        let settling = self.settling.as_mut();
        let has_settled =
            settling.is_some_and(|settling| settling.has_ended(now, |packets| wires.has_settled(packets)));
        // Datagrams were handed over as they came: there is nothing to read before the end.
        let is_due = self.receiving.next_timeout().is_some_and(|at| at <= now);
        if has_settled || is_due || self.socket.is_stream() || self.receiving.has_failed() {
            let mut socket = self.socket.at(now, wires);
            while self.receiving.poll(now, has_settled, &mut socket) == ReceivingStep::Again {}
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
            [self.socket.next_timeout(), self.sending.next_timeout(), settling, self.receiving.next_timeout()];
        timeouts.iter().fold(Timestamp::MAX, |first, at| at.map_or(first, |at| at.min(first)))
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        self.receiving.into_outcome(self.sending)
    }
}

/// A receiver that keeps the movie and its sound.
fn receiving(session: ReceiverSession, [movie, sound]: [ReceivedMovie; 2]) -> MovieReceiving {
    MovieReceiving::new(session, movie).with_sound(sound)
}
