//! Two endpoints and the pipe between them: a bottleneck with a queue in each direction, a delay, and a script that
//! says what becomes of each packet.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::VecDeque;

use framewire_tcp::{Endpoint, Segment, TcpConfig};
use framewire_units::{Bitrate, Duration, Ecn, Timestamp};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives later, and may be overtaken.
    Late(Duration),
    /// Arrives at this time at the earliest.
    NotBefore(Timestamp),
    /// Arrives, and once more.
    Twice(Duration),
}

/// Decides by the packet's number (from 0, packets without payload counted) and its content.
pub type Script = Box<dyn FnMut(u64, &Segment) -> Fate>;

/// Whether a packet is marked.
pub type Marker = Box<dyn FnMut(&Segment) -> bool>;

/// Looks at both ends.
pub type Watch = Box<dyn FnMut(Timestamp, &[Endpoint; 2])>;

/// One direction.
pub struct Lane {
    pub rate: Option<Bitrate>,
    /// Packets that may wait or be in transmission.
    pub queue: usize,
    pub delay: Duration,
    pub script: Script,
    /// When the transmission of each queued packet ends.
    transmissions: VecDeque<Timestamp>,
    arrivals: VecDeque<(Timestamp, Segment)>,
    pub packets: u64,
    pub overflows: u64,
    /// Packets that a full queue or the script dropped.
    pub dropped: u64,
    /// The queue is in the sender's own device: it is notified when a packet's transmission ends.
    pub is_local: bool,
    releases: VecDeque<(Timestamp, u32)>,
    /// The first packet from this number on is marked (RFC 3168).
    pub mark: Option<u64>,
    /// ECN-capable packets that meet more than this many in the queue are marked (RFC 8257, section 3.1).
    pub mark_above: Option<usize>,
    /// Decides which ECN-capable packets with payload are marked besides.
    pub marker: Option<Marker>,
    /// Packets with payload that were marked.
    pub marked: u64,
    /// Most packets in the queue at once.
    pub longest: usize,
    /// A log of what was sent, if wanted.
    pub log: Option<Vec<(Timestamp, Segment)>>,
}

impl Lane {
    pub fn new(rate: Option<Bitrate>, queue: usize, delay: Duration) -> Self {
        Self {
            rate,
            queue,
            delay,
            script: Box::new(|_, _| Fate::Pass),
            transmissions: VecDeque::new(),
            arrivals: VecDeque::new(),
            packets: 0,
            overflows: 0,
            dropped: 0,
            is_local: false,
            releases: VecDeque::new(),
            mark: None,
            mark_above: None,
            marker: None,
            marked: 0,
            longest: 0,
            log: None,
        }
    }

    fn mark(&mut self, segment: &mut Segment) {
        if segment.payload > 0 && segment.ecn.is_capable() {
            let is_long = self.mark_above.is_some_and(|limit| self.transmissions.len() > limit);
            if is_long || self.marker.as_mut().is_some_and(|marker| marker(segment)) {
                segment.ecn = Ecn::Ce;
                self.marked += 1;
            }
        }
    }

    fn send(&mut self, now: Timestamp, mut segment: Segment) {
        if let Some(log) = &mut self.log {
            log.push((now, segment));
        }
        if self.mark.is_some_and(|number| segment.sequence >= number) && segment.payload > 0 {
            segment.ecn = Ecn::Ce;
            self.mark = None;
        }
        let fate = (self.script)(self.packets, &segment);
        self.packets += 1;
        while self.transmissions.front().is_some_and(|&end| end <= now) {
            self.transmissions.pop_front();
        }
        self.mark(&mut segment);
        if self.transmissions.len() >= self.queue {
            self.overflows += 1;
            self.dropped += 1;
            return;
        }
        let begin = self.transmissions.back().copied().unwrap_or(now).max(now);
        let end = begin + self.rate.map_or(Duration::ZERO, |rate| rate.transmit_time(segment.packet_size()));
        if self.rate.is_some() {
            self.transmissions.push_back(end);
            self.longest = self.longest.max(self.transmissions.len());
        }
        if self.is_local {
            self.releases.push_back((end, segment.payload));
        }
        match fate {
            Fate::Pass => self.arrive(end + self.delay, segment),
            Fate::Drop => self.dropped += 1,
            Fate::Late(extra) => self.arrive(end + self.delay + extra, segment),
            Fate::NotBefore(at) => self.arrive(at.max(end + self.delay), segment),
            Fate::Twice(extra) => {
                self.arrive(end + self.delay, segment);
                self.arrive(end + self.delay + extra, segment);
            }
        }
    }

    fn arrive(&mut self, at: Timestamp, segment: Segment) {
        let place = self.arrivals.partition_point(|&(other, _)| other <= at);
        self.arrivals.insert(place, (at, segment));
    }
}

/// What an application does at one end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Application {
    /// Bytes still to be written.
    pub to_write: u64,
    /// Writes `.1` bytes each `.0`; else as much as the buffer takes.
    pub pace: Option<(Duration, u64)>,
    pub next_write: Timestamp,
    waits: bool,
    /// Ends the stream when all is written.
    pub finishes: bool,
    pub written: u64,
    pub read: u64,
    /// Does not read before this time.
    pub reads_from: Timestamp,
}

pub struct Pipe {
    pub now: Timestamp,
    pub ends: [Endpoint; 2],
    /// `lanes[0]` leads from end 0 to end 1.
    pub lanes: [Lane; 2],
    pub applications: [Application; 2],
    /// Called after every step.
    pub watch: Option<Watch>,
}

impl Pipe {
    pub fn new(config: &TcpConfig, forward: Lane, back: Lane) -> Self {
        Self::between(config, config, forward, back)
    }

    pub fn between(client: &TcpConfig, server: &TcpConfig, forward: Lane, back: Lane) -> Self {
        Self {
            now: Timestamp::ZERO,
            ends: [Endpoint::client(client, Timestamp::ZERO), Endpoint::server(server)],
            lanes: [forward, back],
            applications: [Application::default(); 2],
            watch: None,
        }
    }

    /// A path of `rate` with a queue of `queue` packets and a round-trip time of `rtt`, whose way back is not limited.
    pub fn path(config: &TcpConfig, rate: Bitrate, queue: usize, rtt: Duration) -> Self {
        Self::new(config, Lane::new(Some(rate), queue, rtt / 2), Lane::new(None, usize::MAX, rtt / 2))
    }

    /// End 0 writes `bytes`.
    pub fn bulk(mut self, bytes: u64) -> Self {
        self.applications[0].to_write = bytes;
        self.applications[0].finishes = true;
        self
    }

    fn serve(&mut self) {
        for end in 0..2 {
            self.apply(end);
            while let Some(segment) = self.ends[end].poll_transmit(self.now) {
                self.lanes[end].send(self.now, segment);
                if !self.lanes[end].is_local {
                    self.ends[end].handle_released(self.now, segment.payload);
                }
            }
        }
        if let Some(watch) = &mut self.watch {
            watch(self.now, &self.ends);
        }
    }

    fn apply(&mut self, end: usize) {
        let (application, endpoint) = (&mut self.applications[end], &mut self.ends[end]);
        if self.now >= application.reads_from {
            application.read += endpoint.read(self.now, u64::MAX);
        }
        if !endpoint.is_established() {
            return;
        }
        match application.pace {
            None => {
                // Writes until the socket takes no more, then waits for poll(2).
                application.waits &= !endpoint.is_writable();
                while application.to_write > 0 && !application.waits {
                    let taken = endpoint.write(self.now, application.to_write.min(65_536));
                    application.to_write -= taken;
                    application.written += taken;
                    application.waits = taken == 0;
                }
            }
            Some((interval, size)) => {
                if self.now >= application.next_write && application.to_write > 0 {
                    application.next_write = self.now.max(application.next_write) + interval;
                    let taken = endpoint.write(self.now, size.min(application.to_write));
                    application.to_write -= taken;
                    application.written += taken;
                }
            }
        }
        if application.to_write == 0 && application.finishes {
            application.finishes = false;
            endpoint.finish(self.now);
        }
    }

    /// The next time at which something happens.
    fn next(&self) -> Option<Timestamp> {
        let arrivals = self.lanes.iter().filter_map(|lane| lane.arrivals.front().map(|&(at, _)| at));
        let timeouts = self.ends.iter().filter_map(|end| end.next_timeout().map(|timeout| timeout.at));
        let writes = (0..2)
            .filter(|&end| self.ends[end].is_established() && self.applications[end].to_write > 0)
            .filter_map(|end| self.applications[end].pace.map(|_| self.applications[end].next_write));
        let reads = self.applications.iter().map(|a| a.reads_from).filter(|&at| at > self.now);
        let releases = self.lanes.iter().filter_map(|lane| lane.releases.front().map(|&(at, _)| at));
        arrivals.chain(releases).chain(timeouts).chain(writes).chain(reads).min()
    }

    /// Runs until nothing happens any more, or `end`.
    pub fn run(&mut self, end: Timestamp) {
        self.serve();
        while let Some(next) = self.next().filter(|&next| next <= end) {
            self.now = self.now.max(next);
            for from in 0..2 {
                if let Some(&(at, segment)) = self.lanes[from].arrivals.front()
                    && at <= self.now
                {
                    self.lanes[from].arrivals.pop_front();
                    self.ends[1 - from].handle_segment(self.now, &segment);
                    break;
                }
            }
            for (endpoint, lane) in self.ends.iter_mut().zip(&mut self.lanes) {
                while lane.releases.front().is_some_and(|&(at, _)| at <= self.now)
                    && let Some((_, payload)) = lane.releases.pop_front()
                {
                    endpoint.handle_released(self.now, payload);
                }
                endpoint.handle_timeout(self.now);
            }
            self.serve();
        }
        self.now = self.now.max(end);
    }

    /// Runs until end 0 has had everything acknowledged, its end counted; returns when.
    pub fn run_until_done(&mut self, limit: Timestamp) -> Timestamp {
        let step = Duration::from_millis(1);
        self.run(self.now);
        while !self.ends[0].is_done() && self.now < limit {
            let next = self.next().unwrap_or(limit).max(self.now + step).min(limit);
            self.run(next);
        }
        self.now
    }
}
