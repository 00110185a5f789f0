//! A movie of Ouwens' thesis as blocking UDP sends it, over the medium alone.

use framewire_link::wifi::RatePolicy;
use framewire_link::{
    Interval, Mains, Network, NetworkConfig, NetworkEvent, NodeId, Outcome, OvenConfig, Packet, PacketId, QueueLimit,
    WifiConfig, WifiNetworkConfig,
};
use framewire_units::{DataSize, Duration, Seed, Timestamp};

/// Mean bytes of the movie in the thesis' packets, and what IP and UDP add.
const PAYLOAD: u64 = 740;
const HEADERS: u64 = 28;
const MOVIE: Duration = Duration::from_secs(60);

/// How a movie fared.
#[derive(Clone, Copy, Debug)]
pub struct Outcomes {
    /// When its last packet has left.
    pub seconds: f64,
    /// Share of its packets that were lost.
    pub lost: f64,
}

/// A movie of 60 s at `mbps`, with or without the oven from 20 to 40 s; mean of three seeds.
pub fn movie(rate: RatePolicy, retry: u16, mbps: u64, oven: bool) -> Outcomes {
    let runs = [1, 2, 3].map(|seed| movie_once(rate, retry, mbps, oven, seed));
    Outcomes {
        seconds: runs.iter().map(|run| run.seconds).sum::<f64>() / 3.0,
        lost: runs.iter().map(|run| run.lost).sum::<f64>() / 3.0,
    }
}

fn movie_once(rate: RatePolicy, retry: u16, mbps: u64, oven: bool, seed: u64) -> Outcomes {
    let on = vec![Interval { start: Timestamp::from_secs(20), end: Timestamp::from_secs(40) }];
    let oven = oven.then_some(OvenConfig { on, mains: Mains::Hz50, strength_db: OvenConfig::DOMESTIC_STRENGTH_DB });
    let config = WifiNetworkConfig {
        wifi: WifiConfig { rate, retry, oven, ..WifiConfig::default() },
        station_queue: QueueLimit::Packets(1_000_000),
        ..WifiNetworkConfig::default()
    };
    let mut network = Network::new(&NetworkConfig::Wifi(config), Seed(seed)).expect("the configuration is valid");
    network.record_deliveries(false);
    let packets = mbps * 1_000_000 * MOVIE.as_secs() / 8 / PAYLOAD;
    for id in 0..packets {
        let at = Timestamp::ZERO + MOVIE.mul_f64(id as f64 / packets as f64);
        let packet = Packet::new(PacketId(id), DataSize::from_bytes(PAYLOAD + HEADERS));
        network.handle_packet(at, at, NodeId::SENDER, packet);
    }
    network.handle_timeout(Timestamp::MAX);
    let (mut end, mut lost) = (Timestamp::ZERO, 0);
    while let Some(event) = network.poll_event() {
        match event {
            NetworkEvent::Released { at, .. } => end = end.max(at),
            NetworkEvent::Hop { record, .. } if record.outcome != Outcome::Delivered => lost += 1,
            _ => {}
        }
    }
    Outcomes { seconds: end.as_secs_f64(), lost: f64::from(lost) / packets as f64 }
}
