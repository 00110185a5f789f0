//! How fast the medium runs: one simulated second of saturated stations. Simulated seconds per second are the
//! reciprocal of the time shown. ns-3 3.44, optimised build, on this kind of machine: about 60 with one station
//! offered 6 Mbit/s, 10.7 with five and 3.0 with twenty saturated ones.
#![allow(missing_docs, reason = "the macros of criterion make undocumented items")]

use criterion::{Criterion, criterion_group, criterion_main};
use framewire_link::wifi::{Medium, MediumEvent, StationConfig, StationId};
use framewire_link::{Hop, Interval, Mains, OvenConfig, Packet, PacketId, Port, QueueLimit, WifiConfig};
use framewire_units::{DataSize, Seed, Timestamp};

struct World {
    medium: Medium,
    next: u64,
    seconds: u64,
}

impl World {
    fn new(config: &WifiConfig, stations: usize) -> Self {
        let mut medium = Medium::new(config, Seed(1)).expect("the configuration is valid");
        let queue = QueueLimit::Packets(10);
        let station = StationConfig { queue, hop: Hop::SenderDevice, from: Port::Sender, retry: None, saturated: None };
        let stations: Vec<StationId> = (0..stations).map(|_| medium.add_station(station)).collect();
        let mut world = Self { medium, next: 0, seconds: 0 };
        for station in stations {
            world.send(station, Timestamp::ZERO);
            world.send(station, Timestamp::ZERO);
        }
        world
    }

    fn send(&mut self, station: StationId, at: Timestamp) {
        let packet = Packet { id: PacketId(self.next), size: DataSize::from_bytes(1500) };
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

criterion_group!(benches, saturated);
criterion_main!(benches);
