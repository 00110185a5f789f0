//! How fast the medium runs: one simulated second of saturated stations. Simulated seconds per second are the
//! reciprocal of the time shown; `docs/validation.md` has whole streams beside ns-3, measured in turn.
#![allow(missing_docs, reason = "the macros of criterion make undocumented items")]

use criterion::{Criterion, criterion_group, criterion_main};
use framewire_link::wifi::{Medium, MediumEvent, StationConfig, StationId};
use framewire_link::{
    BottleneckPlace, Discipline, Hop, Interval, LossConfig, Mains, Network, NetworkConfig, NodeId, OvenConfig, Packet,
    PacketId, QueueLimit, WifiConfig, WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};

struct World {
    medium: Medium,
    next: u64,
    seconds: u64,
}

impl World {
    fn new(config: &WifiConfig, stations: usize) -> Self {
        let mut medium = Medium::new(config, Seed(1)).expect("the configuration is valid");
        let queue = QueueLimit::Packets(10);
        let queue_discipline = Discipline::DropTail;
        let station = StationConfig { queue, queue_discipline, hop: Hop::SenderDevice, retry: None, saturated: None };
        let stations: Vec<StationId> = (0..stations).map(|_| medium.add_station(station)).collect();
        let mut world = Self { medium, next: 0, seconds: 0 };
        for station in stations {
            world.send(station, Timestamp::ZERO);
            world.send(station, Timestamp::ZERO);
        }
        world
    }

    fn send(&mut self, station: StationId, at: Timestamp) {
        let packet = Packet::new(PacketId(self.next), DataSize::from_bytes(1500));
        self.next += 1;
        self.medium.handle_packet(station, at, packet);
    }

    fn run_a_second(&mut self) {
        self.seconds += 1;
        let end = Timestamp::from_secs(self.seconds);
        while let Some(timeout) = self.medium.next_timeout().filter(|timeout| timeout.at <= end) {
            self.medium.handle_timeout(timeout.at);
            while let Some(event) = self.medium.poll_event() {
                if let MediumEvent::Done { station, verdict } = event {
                    self.send(station, verdict.released);
                }
            }
        }
    }
}

fn saturated(criterion: &mut Criterion) {
    for stations in [1, 5, 20] {
        let mut world = World::new(&WifiConfig::default(), stations);
        let name = format!("one simulated second, {stations} saturated stations");
        criterion.bench_function(&name, |bench| bench.iter(|| world.run_a_second()));
    }
    let on = vec![Interval { start: Timestamp::ZERO, end: Timestamp::MAX }];
    let oven = OvenConfig { on, mains: Mains::Hz50, strength_db: OvenConfig::DOMESTIC_STRENGTH_DB };
    let mut world = World::new(&WifiConfig { oven: Some(oven), ..WifiConfig::default() }, 1);
    criterion.bench_function("one simulated second, 1 saturated station, oven on", |bench| {
        bench.iter(|| world.run_a_second());
    });
}

/// A packet each way over a wired network, as bulk TCP has them, without and with records of deliveries.
fn wired(criterion: &mut Criterion) {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(100)),
        delay: Duration::from_millis(10),
        loss: LossConfig::Bernoulli(Probability::clamped(0.001)),
        ..WireConfig::default()
    };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    for records in [false, true] {
        let mut network = Network::new(&config, Seed(1)).expect("the configuration is valid");
        network.record_deliveries(records);
        let mut next = 0;
        let name = format!("two packets over a wire, records of deliveries {}", if records { "on" } else { "off" });
        criterion.bench_function(&name, |bench| {
            bench.iter(|| {
                for (from, size) in [(NodeId::SENDER, 1500), (NodeId::RECEIVER, 52)] {
                    next += 1;
                    let at = Timestamp::from_micros(60 * next);
                    let packet = Packet::new(PacketId(next), DataSize::from_bytes(size));
                    network.handle_packet(at, at, from, packet);
                }
                while let Some(event) = network.poll_event() {
                    std::hint::black_box(event);
                }
            });
        });
    }
}

criterion_group!(benches, saturated, wired);
criterion_main!(benches);
