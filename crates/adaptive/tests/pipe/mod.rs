//! A server and a client joined in virtual time by a bottleneck of rate, queue and delay in either direction.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::controller::{Controller, ControllerState};
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_adaptive::server::{Server, ServerEvent, ServerSettings};
use framewire_adaptive::source::Plan;
use framewire_adaptive::stored::LadderSource;
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_units::{Bitrate, DataSize, Duration, Probability, RandomStream, Seed, Timestamp};
use framewire_wire::vtp::{Secret, Title};

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// The frame rate of the paper's movies (section 6.5).
pub const FRAME_RATE: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };

/// One direction of the path.
pub struct Pipe {
    pub rate: Bitrate,
    pub delay: Duration,
    pub queue: usize,
    pub loss: Probability,
    pub random: RandomStream,
    free_at: Timestamp,
    /// When each leaves the queue and arrives, with what it is.
    flying: VecDeque<(Timestamp, Timestamp, Channel, Vec<u8>)>,
    pub dropped: u64,
    /// What is lost beside the rest: the packets for which this is true.
    pub loses: Option<fn(&[u8]) -> bool>,
    /// All that was given to it, where that is asked for.
    pub seen: Option<Vec<Vec<u8>>>,
}

impl Pipe {
    pub fn new(rate: Bitrate, delay: Duration, seed: u64) -> Self {
        Self {
            rate,
            delay,
            queue: 50,
            loss: Probability::clamped(0.0),
            random: Seed(seed).stream("pipe", &[]),
            free_at: Timestamp::ZERO,
            flying: VecDeque::new(),
            dropped: 0,
            loses: None,
            seen: None,
        }
    }

    fn send(&mut self, now: Timestamp, channel: Channel, bytes: Vec<u8>) {
        let queued = self.flying.iter().filter(|(leaves, ..)| *leaves > now).count();
        if let Some(seen) = &mut self.seen {
            seen.push(bytes.clone());
        }
        let chosen = self.loses.is_some_and(|loses| loses(&bytes));
        if queued > self.queue || self.random.chance(self.loss) || chosen {
            self.dropped += 1;
            return;
        }
        let size = DataSize::from_bytes(bytes.len() as u64 + HEADERS);
        self.free_at = self.free_at.max(now) + self.rate.transmit_time(size);
        self.flying.push_back((self.free_at, self.free_at + self.delay, channel, bytes));
    }

    fn next(&self) -> Option<Timestamp> {
        self.flying.front().map(|&(_, arrives, ..)| arrives)
    }

    fn arrive(&mut self, now: Timestamp) -> Option<(Channel, Vec<u8>)> {
        self.next().filter(|&arrives| arrives <= now)?;
        self.flying.pop_front().map(|(_, _, channel, bytes)| (channel, bytes))
    }
}

/// A session over a path of two pipes.
pub struct Session {
    pub server: Server,
    pub client: Client,
    pub forth: Pipe,
    pub back: Pipe,
    pub now: Timestamp,
    pub server_events: Vec<(Timestamp, ServerEvent)>,
    pub client_events: Vec<(Timestamp, ClientEvent)>,
    /// The controller each 100 ms.
    pub trace: Vec<(Timestamp, ControllerState)>,
}

pub fn address(channel: Channel) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 2), 5_004 + channel as u16))
}

/// A movie whose levels have these mean rates: groups of 12 frames, I frames four times as large as P frames, sizes
/// that vary by up to `spread` around.
pub fn ladder(rates: &[Bitrate], seconds: usize, spread: f64) -> Ladder {
    let frames = seconds * 24;
    let levels = rates.iter().map(|rate| {
        let mut random = Seed(1).stream("movie", &[]);
        let mean = rate.as_bps() as f64 / 8.0 * 1_001.0 / 24_000.0;
        let unit = mean * 12.0 / 15.0;
        let sizes: Vec<u32> = (0..frames)
            .map(|frame| {
                let kind = if frame % 12 == 0 { 4.0 } else { 1.0 };
                (unit * kind * (1.0 + spread * (2.0 * random.next_f64() - 1.0))) as u32
            })
            .collect();
        Level::of_sizes(FRAME_RATE, 12, &sizes).unwrap()
    });
    Ladder::new(levels.collect()).unwrap()
}

/// About the paper's "Atlantis": 125, 260 and 450 kbit/s.
pub fn mild() -> Ladder {
    ladder(&[125, 260, 450].map(Bitrate::from_kbps), 45, 0.3)
}

pub fn plan(ladder: &Ladder) -> Arc<dyn Plan> {
    let schedule = Schedule::new(ladder, ScheduleSettings::PAPER).unwrap();
    Arc::new(FramePlan::new(&schedule, ladder.duration()))
}

impl Session {
    pub fn new(ladder: Ladder, controller: Box<dyn Controller>, forth: Pipe, back: Pipe) -> Self {
        let title = Title::new("movie").unwrap();
        let server = ServerSettings::paper(title.clone(), Secret::new([5; 32]));
        Self::with(ladder, controller, forth, back, server, ClientSettings::paper(title, 42))
    }

    pub fn with(
        ladder: Ladder,
        controller: Box<dyn Controller>,
        forth: Pipe,
        back: Pipe,
        server: ServerSettings,
        client: ClientSettings,
    ) -> Self {
        let source = LadderSource::new(ladder, 1_000);
        Self::of(source, controller, forth, back, server, client)
    }

    /// Of a source that may have audio.
    pub fn of(
        source: LadderSource,
        controller: Box<dyn Controller>,
        forth: Pipe,
        back: Pipe,
        server: ServerSettings,
        client: ClientSettings,
    ) -> Self {
        let plan = plan(source.ladder());
        let server = Server::new(Arc::new(source), plan, controller, server).unwrap();
        Self {
            server,
            client: Client::new(client),
            forth,
            back,
            now: Timestamp::ZERO,
            server_events: vec![],
            client_events: vec![],
            trace: vec![],
        }
    }

    /// Runs until both sides have finished, or the time.
    pub fn run(&mut self, until: Timestamp) {
        let mut next_sample = self.now;
        while self.now < until && !(self.server.is_finished() && self.client.is_finished()) {
            self.turn();
            while next_sample <= self.now {
                self.trace.push((next_sample, self.server.controller_state()));
                next_sample += Duration::from_millis(100);
            }
            let timeouts = [
                self.server.next_timeout(),
                self.client.next_timeout(),
                self.forth.next(),
                self.back.next(),
                Some(next_sample),
            ];
            self.now = timeouts.into_iter().flatten().min().unwrap_or(until).max(self.now).min(until);
        }
        self.turn();
    }

    fn turn(&mut self) {
        let now = self.now;
        while let Some((channel, bytes)) = self.forth.arrive(now) {
            self.client.handle_datagram(now, channel, &bytes);
        }
        while let Some((channel, bytes)) = self.back.arrive(now) {
            self.server.handle_datagram(now, channel, address(channel), &bytes);
        }
        while let Some(transmit) = self.client.poll_transmit(now) {
            self.back.send(now, transmit.channel, transmit.bytes);
        }
        while let Some(transmit) = self.server.poll_transmit(now) {
            assert_eq!(transmit.to, address(transmit.channel));
            self.forth.send(now, transmit.channel, transmit.bytes);
        }
        self.server_events.extend(std::iter::from_fn(|| self.server.poll_event()).map(|event| (now, event)));
        self.client_events.extend(std::iter::from_fn(|| self.client.poll_event()).map(|event| (now, event)));
    }

    /// Frames that arrived whole, and frames that were lost.
    pub fn frames(&self) -> (u32, u32) {
        self.client_events.iter().fold((0, 0), |(whole, lost), (_, event)| match event {
            ClientEvent::FrameComplete(_) => (whole + 1, lost),
            ClientEvent::FramesLost { count, .. } => (whole, lost + count),
            _ => (whole, lost),
        })
    }

    /// When each level was first decided on, by the trace.
    pub fn first_decided(&self, level: usize) -> Option<Timestamp> {
        self.trace.iter().find(|(_, state)| state.level == level).map(|&(at, _)| at)
    }
}
