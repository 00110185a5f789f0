//! The blocking UDP movies of Ouwens' thesis over the medium alone: duration and loss by retry value, with and without the
//! oven from 20 to 40 s, for two ways to fall back. `cargo run --release -p framewire-link --example blocking_udp`.

use framewire_link::wifi::{ArfConfig, PacketFallbackConfig, RatePolicy};
use framewire_link::{
    Interval, Mains, Network, NetworkConfig, NetworkEvent, Outcome, OvenConfig, Packet, PacketId, Port, QueueLimit,
    WifiConfig, WifiNetworkConfig,
};
use framewire_units::{DataSize, Duration, Seed, Timestamp};

/// Mean payload of the thesis' packets, and with IP, UDP and RTP.
const PAYLOAD: u64 = 740;
const PACKET: DataSize = DataSize::from_bytes(PAYLOAD + 28);
const MOVIE: Duration = Duration::from_secs(60);

/// Seconds that the movie takes, and the share of its packets that is lost.
fn run(rate: RatePolicy, retry: u16, mbps: u64, oven: bool, seed: u64) -> (f64, f64) {
    let on = vec![Interval { start: Timestamp::from_secs(20), end: Timestamp::from_secs(40) }];
    let oven = oven.then_some(OvenConfig { on, mains: Mains::Hz50, strength_db: OvenConfig::DOMESTIC_STRENGTH_DB });
    let packets = mbps * 1_000_000 * MOVIE.as_secs() / 8 / PAYLOAD;
    let config = WifiNetworkConfig {
        wifi: WifiConfig { rate, retry, oven, ..WifiConfig::default() },
        station_queue: QueueLimit::Packets(1_000_000),
        ..WifiNetworkConfig::default()
    };
    let mut network = Network::new(&NetworkConfig::Wifi(config), Seed(seed)).expect("the configuration is valid");
    network.record_deliveries(false);
    for id in 0..packets {
        let at = Timestamp::ZERO + MOVIE.mul_f64(id as f64 / packets as f64);
        network.handle_packet(at, at, Port::Sender, Packet { id: PacketId(id), size: PACKET });
    }
    network.handle_timeout(Timestamp::MAX);
    let (mut end, mut lost) = (Timestamp::ZERO, 0);
    while let Some(event) = network.poll_event() {
        match event {
            NetworkEvent::Released { at, .. } => end = end.max(at),
            NetworkEvent::Hop(record) if record.outcome != Outcome::Delivered => lost += 1,
            _ => {}
        }
    }
    (end.as_secs_f64(), f64::from(lost) / packets as f64)
}

fn main() {
    let by_packet = |millis| {
        (
            format!("by packet, {millis} ms"),
            RatePolicy::ByPacket(PacketFallbackConfig { recovery: Duration::from_millis(millis) }),
        )
    };
    let arf = ("ARF".to_owned(), RatePolicy::Automatic(ArfConfig::default()));
    let policies = [arf, by_packet(400), by_packet(800), by_packet(1600)];
    for (name, policy) in policies {
        println!("{name}: seconds and per cent of packets lost, mean of 3 seeds");
        for mbps in [3, 6] {
            for oven in [false, true] {
                print!("  {mbps} Mbit/s, oven {}:", if oven { "on " } else { "off" });
                for retry in [1, 2, 3, 4, 16] {
                    let runs = [1, 2, 3].map(|seed| run(policy, retry, mbps, oven, seed));
                    let seconds = runs.iter().map(|run| run.0).sum::<f64>() / 3.0;
                    let lost = runs.iter().map(|run| run.1).sum::<f64>() / 3.0 * 100.0;
                    print!("  {retry}: {seconds:6.1} {lost:5.2}");
                }
                println!();
            }
        }
    }
}
