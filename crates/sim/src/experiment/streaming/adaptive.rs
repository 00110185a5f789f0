//! An adaptive stream: its server at the sender's host, its client at the receiver's.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::controller::{Controller, ControllerState};
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::server::{Server, ServerEvent, ServerSettings, ServerState};
use framewire_adaptive::source::{PacketSource, Plan};
use framewire_link::Port;
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use super::CoarseClocks;
use super::viewer::Viewing;
use super::wires::{Cargo, SharedWires};
use crate::error::SimError;

/// A stream over both halves of an adaptive session: video packets and what answers them are UDP datagrams.
pub struct AdaptiveFlow {
    /// The movie in packets.
    pub source: Arc<dyn PacketSource>,
    /// How fast each level has to be sent.
    pub plan: Arc<dyn Plan>,
    /// How fast the network lets it be sent.
    pub controller: Box<dyn Controller>,
    /// Of the server.
    pub server: ServerSettings,
    /// Of the client; packets are asked for as events.
    pub client: ClientSettings,
    /// From the first packet of video until the first frame is shown.
    pub playout_delay: Duration,
}

/// The stream at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSample {
    /// When.
    pub at: Timestamp,
    /// What the controller knows.
    pub controller: ControllerState,
    /// The level that packets are taken from.
    pub level: usize,
    /// The plan's rates where the stream is, lowest level first.
    pub plan: Vec<Bitrate>,
}

/// What came of an adaptive stream.
#[derive(Clone, Debug)]
pub struct AdaptiveOutcome {
    /// When the first packet of video left; `None` when none did.
    pub begin: Option<Timestamp>,
    /// When the last one left.
    pub end: Option<Timestamp>,
    /// Whether the session ended as both sides agreed.
    pub finished: bool,
    /// How often another level was taken over after the first frame.
    pub level_changes: u32,
    /// What the viewer got.
    pub viewing: Viewing,
    /// The stream over time, from its beginning to its end.
    pub samples: Vec<StreamSample>,
}

/// Headers of IPv4 (RFC 791, section 3.1) and UDP (RFC 768).
const IP_AND_UDP_HEADERS: u64 = 28;

/// The client's socket for a channel, as the server sees it (RFC 5737 has the address for examples).
fn client_socket(channel: Channel) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 2), if channel == Channel::Data { 5_004 } else { 5_005 }))
}

/// Both halves of a session and what is noted of them.
pub(super) struct Adaptive {
    flow: u16,
    server: Server,
    client: Client,
    start: Timestamp,
    begun: bool,
    started: bool,
    next_sample: Timestamp,
    interval: Duration,
    clocks: CoarseClocks,
    /// When something happened last.
    now: Timestamp,
    outcome: AdaptiveOutcome,
}

impl Adaptive {
    pub(super) fn new(
        flow: u16,
        config: AdaptiveFlow,
        start: Timestamp,
        interval: Duration,
        clocks: CoarseClocks,
    ) -> Result<Self, SimError> {
        let AdaptiveFlow { source, plan, controller, server, client, playout_delay } = config;
        let times = (0..source.frames()).map(|frame| source.time_of(frame)).collect();
        let refused = |error: String| SimError::Input(format!("flow {flow}: {error}"));
        let outcome = AdaptiveOutcome {
            begin: None,
            end: None,
            finished: false,
            level_changes: 0,
            viewing: Viewing::new(times, playout_delay),
            samples: Vec::new(),
        };
        let client = ClientSettings { packet_events: true, ..client };
        Ok(Self {
            flow,
            server: Server::new(source, plan, controller, server).map_err(|error| refused(error.to_string()))?,
            client: Client::new(client),
            start,
            begun: false,
            started: false,
            next_sample: start,
            interval,
            clocks,
            now: start,
            outcome,
        })
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        if !self.begun {
            return self.start;
        }
        let server = self.server.next_timeout().map(|at| at.max(self.now).next_multiple_of(self.clocks.sender));
        let halves = [server, self.client.next_timeout()].into_iter().flatten().min();
        let sample = if self.server.is_finished() { Timestamp::MAX } else { self.next_sample };
        halves.unwrap_or(Timestamp::MAX).min(sample)
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp, wires: &mut SharedWires) {
        self.begun = true;
        self.drain(now, wires);
        while self.next_sample <= now {
            self.sample();
            self.next_sample += self.interval;
        }
    }

    /// A datagram comes out at a host. Returns the bytes of video in it.
    pub(super) fn handle_datagram(
        &mut self,
        now: Timestamp,
        to: Port,
        channel: Channel,
        bytes: &[u8],
        wires: &mut SharedWires,
    ) -> DataSize {
        match to {
            Port::Receiver => self.client.handle_datagram(now.next_multiple_of(self.clocks.receiver), channel, bytes),
            Port::Sender => self.server.handle_datagram(now, channel, client_socket(channel), bytes),
        }
        self.drain(now, wires)
    }

    pub(super) fn into_outcome(self) -> AdaptiveOutcome {
        let finished = self.server.is_finished() && self.client.is_finished();
        AdaptiveOutcome { finished, ..self.outcome }
    }

    /// Sends what both halves have to send, and notes what happened. Returns the bytes of video that came.
    fn drain(&mut self, now: Timestamp, wires: &mut SharedWires) -> DataSize {
        self.now = now;
        self.take_server_events();
        // What a session begins with is answered at once; video leaves by the timer.
        let may_send = !self.started || now.next_multiple_of(self.clocks.sender) == now;
        while let Some(transmit) = may_send.then(|| self.server.poll_transmit(now)).flatten() {
            if self.started && transmit.channel == Channel::Data {
                self.outcome.begin.get_or_insert(now);
                self.outcome.end = Some(now);
            }
            self.send(now, Port::Sender, transmit.channel, transmit.bytes, wires);
        }
        self.take_server_events();
        while let Some(transmit) = self.client.poll_transmit(now.next_multiple_of(self.clocks.receiver)) {
            self.send(now, Port::Receiver, transmit.channel, transmit.bytes, wires);
        }
        let mut video = DataSize::ZERO;
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Packet { arrived, header, .. } => {
                    video += header.size;
                    if !header.audio {
                        self.outcome.viewing.handle_packet(arrived, header.frame, header.level.into(), header.size);
                    }
                }
                ClientEvent::FrameComplete(frame) => self.outcome.viewing.handle_complete(frame.arrived, frame.frame),
                ClientEvent::Described(_)
                | ClientEvent::LevelChanged { .. }
                | ClientEvent::FramesLost { .. }
                | ClientEvent::Audio(_)
                | ClientEvent::AudioLost { .. }
                | ClientEvent::Ended(_) => {}
            }
        }
        video
    }

    /// From the start on, all that the server sends on its data socket is video.
    fn take_server_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Started { .. } => self.started = true,
                ServerEvent::LevelChanged { frame, .. } => self.outcome.level_changes += u32::from(frame > 0),
                ServerEvent::SourceFailed(_) | ServerEvent::Ended(_) => {}
            }
        }
    }

    fn send(&mut self, now: Timestamp, from: Port, channel: Channel, bytes: Vec<u8>, wires: &mut SharedWires) {
        let size = DataSize::from_bytes(bytes.len() as u64 + IP_AND_UDP_HEADERS);
        wires.send(now, from, 0, size, Cargo::datagram(self.flow, now, size, channel, bytes));
    }

    fn sample(&mut self) {
        let state = self.server.state();
        if state.decision.is_some() {
            let ServerState { controller, plan, level, .. } = state;
            self.outcome.samples.push(StreamSample { at: self.next_sample, controller, level, plan });
        }
    }
}
