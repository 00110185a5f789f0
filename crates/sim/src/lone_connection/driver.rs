//! The loop: two endpoints, a network, and an application that writes.

use framewire_link::{DropCause, HopRecord, Network, NetworkConfig, Outcome};
use framewire_session::half::End;
use framewire_tcp::{Endpoint, Segment, TcpConfig};
use framewire_units::{DataSize, Duration, Ecn, Seed, Timestamp};

use super::{LoneConnection, TcpOutcome, TcpSample, Traffic};
use crate::wires::{Carried, FlowPath, Recorder, WireEvent, Wires};

/// What the application writes at once, as the program does that collects the kernel's side.
const CHUNK: u64 = 65_536;

/// Counts what was dropped.
#[derive(Debug, Default)]
struct Drops {
    queue: u64,
    random: u64,
}

impl Carried for Segment {
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn connection(&self) -> u32 {
        0
    }
}

impl Recorder<Segment> for Drops {
    fn handle_hop(&mut self, hop: HopRecord, _last: bool) {
        match hop.outcome {
            Outcome::Dropped(DropCause::QueueFull) => self.queue += 1,
            Outcome::Dropped(DropCause::RandomLoss) => self.random += 1,
            Outcome::Dropped(_) | Outcome::Delivered => {}
        }
    }
}

/// How long packets took, all together.
#[derive(Debug, Default)]
struct Delays {
    packets: u64,
    total: Duration,
}

impl Delays {
    fn add(&mut self, delay: Duration) {
        self.packets += 1;
        self.total += delay;
    }

    fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos() / u128::from(self.packets.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

pub(super) struct Driver {
    client: Endpoint,
    server: Endpoint,
    wires: Wires<Segment, Drops>,
    path: FlowPath,
    traffic: Traffic,
    /// Bytes that the application has and the socket did not take.
    pending: u64,
    next_frame: Timestamp,
    next_sample: Timestamp,
    sample_interval: Duration,
    end: Timestamp,
    samples: Vec<TcpSample>,
    received: u64,
    segments: u64,
    acknowledgements: u64,
    forward: Delays,
    backward: Delays,
}

impl Driver {
    pub(super) fn new(connection: &LoneConnection, network: Network) -> Self {
        let origin = Timestamp::ZERO;
        let seed = Seed(connection.seed.stream("tcp", &[0]).next_u64());
        let config = |config: &TcpConfig| TcpConfig { seed, ..config.clone() };
        let bulk = connection.traffic == Traffic::Bulk;
        Self {
            client: Endpoint::client(&config(&connection.sender), origin),
            server: Endpoint::server(&config(&connection.receiver)),
            wires: Wires::new(network, Drops::default()),
            path: FlowPath::between_two_hosts(is_local(&connection.network)),
            traffic: connection.traffic,
            pending: if bulk { u64::MAX } else { 0 },
            next_frame: if bulk { Timestamp::MAX } else { origin },
            next_sample: origin + connection.sample_interval,
            sample_interval: connection.sample_interval,
            end: origin + connection.duration,
            samples: Vec::new(),
            received: 0,
            segments: 0,
            acknowledgements: 0,
            forward: Delays::default(),
            backward: Delays::default(),
        }
    }

    pub(super) fn run(mut self) -> TcpOutcome {
        let mut now = Timestamp::ZERO;
        self.transmit_client(now);
        while now < self.end {
            self.step(now);
            now = self.next().max(now).min(self.end);
        }
        self.sample(now);
        TcpOutcome {
            duration: self.end.saturating_since(Timestamp::ZERO),
            received: DataSize::from_bytes(self.received),
            segments: self.segments,
            acknowledgements: self.acknowledgements,
            queue_drops: self.wires.recorder.queue,
            random_losses: self.wires.recorder.random,
            forward_delay: self.forward.mean(),
            backward_delay: self.backward.mean(),
            last: self.client.info(),
            samples: self.samples,
        }
    }

    fn next(&mut self) -> Timestamp {
        let at = |timeout: Option<framewire_tcp::Timeout>| timeout.map_or(Timestamp::MAX, |timeout| timeout.at);
        let endpoints = at(self.client.next_timeout()).min(at(self.server.next_timeout()));
        self.wires.next().unwrap_or(Timestamp::MAX).min(endpoints).min(self.next_frame).min(self.next_sample)
    }

    fn step(&mut self, now: Timestamp) {
        self.wires.settle(now);
        while let Some(event) = self.wires.poll(now) {
            match event {
                WireEvent::Delivered(id, to) => {
                    let segment = *self.wires.content(id);
                    self.wires.finish(id);
                    self.handle_segment(now, to, &segment);
                }
                WireEvent::Released(id) => {
                    let payload = self.wires.content(id).payload;
                    self.wires.finish_release(id);
                    self.client.handle_released(now, payload);
                    self.transmit_client(now);
                }
            }
            self.write(now, false);
        }
        if self.client.next_timeout().is_some_and(|timeout| timeout.at <= now) {
            self.client.handle_timeout(now);
            self.transmit_client(now);
        }
        if self.server.next_timeout().is_some_and(|timeout| timeout.at <= now) {
            self.server.handle_timeout(now);
            self.transmit_server(now);
        }
        self.run_application(now);
    }

    fn run_application(&mut self, now: Timestamp) {
        let woken = self.next_sample <= now || self.next_frame <= now;
        self.sample(now);
        if let Traffic::Paced { frame, interval } = self.traffic {
            while self.next_frame <= now && now < self.end {
                self.pending += frame.as_bytes();
                self.next_frame += interval;
            }
        }
        self.write(now, woken);
    }

    fn sample(&mut self, now: Timestamp) {
        while self.next_sample <= now {
            self.samples.push(TcpSample { at: self.next_sample, info: self.client.info() });
            self.next_sample += self.sample_interval;
        }
    }

    /// Writes what the socket takes. Unless it was `woken` for something else, the application waits for poll(2).
    fn write(&mut self, now: Timestamp, woken: bool) {
        if self.pending == 0 || !(woken || self.client.is_writable()) {
            return;
        }
        while self.pending > 0 {
            let taken = self.client.write(now, self.pending.min(CHUNK));
            if taken == 0 {
                return;
            }
            if self.traffic != Traffic::Bulk {
                self.pending -= taken;
            }
            self.transmit_client(now);
        }
    }

    fn handle_segment(&mut self, now: Timestamp, to: End, segment: &Segment) {
        let delay = now.saturating_since(segment.sent);
        match to {
            End::Receiver => {
                if segment.payload > 0 {
                    self.forward.add(delay);
                }
                self.server.handle_segment(now, segment);
                let readable = self.server.readable();
                if readable > 0 {
                    self.received += self.server.read(now, readable);
                }
                self.transmit_server(now);
            }
            End::Sender => {
                self.backward.add(delay);
                self.client.handle_segment(now, segment);
                self.transmit_client(now);
            }
        }
    }

    fn transmit_client(&mut self, now: Timestamp) {
        while let Some(segment) = self.client.poll_transmit(now) {
            self.segments += u64::from(segment.payload > 0);
            self.wires.send(now, End::Sender, self.path, segment.packet_size(), segment);
            if !self.path.is_local {
                self.client.handle_released(now, segment.payload);
            }
        }
    }

    fn transmit_server(&mut self, now: Timestamp) {
        while let Some(segment) = self.server.poll_transmit(now) {
            self.acknowledgements += 1;
            self.wires.send(now, End::Receiver, self.path, segment.packet_size(), segment);
        }
    }
}

pub(super) fn is_local(network: &NetworkConfig) -> bool {
    let place = match network {
        NetworkConfig::Wired(wired) => Some(wired.bottleneck),
        NetworkConfig::Wifi(wifi) => Some(wifi.bottleneck),
        // The connection is between its first two nodes.
        NetworkConfig::Graph(_) => None,
    };
    place == Some(framewire_link::BottleneckPlace::LocalDevice)
}
