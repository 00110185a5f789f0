//! Many stations on one medium: fairness, conservation, and Bianchi's model of collisions.

use crate::common;
use common::{medium, station_config};
use framewire_link::wifi::{DataRate, Medium, Protection, RatePolicy, Standard, StationConfig, StationId};
use framewire_link::{
    BottleneckPlace, ContenderConfig, Network, NetworkConfig, NetworkEvent, NodeId, Outcome, Packet, PacketId,
    QueueLimit, WifiConfig, WifiNetworkConfig,
};
use framewire_units::{DataSize, Probability, Seed, Timestamp};

const PACKET: DataSize = DataSize::from_bytes(1500);

fn config(standard: Standard, rate: DataRate) -> WifiConfig {
    let rate = RatePolicy::Fixed(rate);
    WifiConfig { standard, rate, retry: 256, error_floor: Probability::ZERO, ..WifiConfig::default() }
}

/// A medium after `seconds` with `stations` that always have a packet, and the stations.
fn saturated(config: &WifiConfig, stations: usize, seconds: u64) -> (Medium, Vec<StationId>) {
    let mut medium = medium(config, 1, Some(0.0));
    let saturated = StationConfig { saturated: Some(PACKET), ..station_config(1) };
    let stations = (0..stations).map(|_| medium.add_station(saturated)).collect();
    medium.handle_timeout(Timestamp::from_secs(seconds));
    assert_eq!(medium.poll_event(), None, "background stations raise no events");
    (medium, stations)
}

fn collision_share(medium: &Medium, stations: &[StationId]) -> f64 {
    let all = stations.iter().map(|&station| medium.counters(station)).reduce(|sum, each| sum + each).unwrap();
    all.collisions as f64 / all.transmissions as f64
}

/// The fixed point of Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC
/// 18(3), 2000, equations 7 and 9: probability that a transmission of one of `n` saturated stations collides, with the
/// smallest window of `window` slots and `stages` doublings.
///
/// Without a limit on retransmissions, which a retry value of 256 amounts to.
fn bianchi(n: u32, window: f64, stages: i32) -> f64 {
    let transmits = |p: f64| {
        let sum: f64 = (0..stages).map(|i| (2.0 * p).powi(i)).sum();
        2.0 / (1.0 + window + p * window * sum)
    };
    // The chance that another transmits falls with p, so the difference has one zero.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        let implied = 1.0 - (1.0 - transmits(p)).powi(n as i32 - 1);
        if implied > p { low = p } else { high = p }
    }
    low
}

#[test]
fn the_fixed_point_is_the_published_one() {
    // W = 32, m = 5: solved by hand for two stations, p = tau and tau = 2 / (33 + 32 p (1 + 2 p + ...)): 0.0571.
    let two = bianchi(2, 32.0, 5);
    let tau = 2.0 / (33.0 + 32.0 * two * (1.0 + 2.0 * two + 4.0 * two * two + 8.0 * two.powi(3) + 16.0 * two.powi(4)));
    assert!((two - tau).abs() < 1e-9 && (0.055..0.060).contains(&two), "{two}");
}

#[test]
fn collisions_are_as_frequent_as_in_bianchis_model() {
    // Windows of 32 to 1,024 slots, and of 16 to 1,024. Bianchi lets every station count on in the slot in which the
    // medium became busy; the standard freezes the others, so that the first slot after a DIFS is left to a station
    // that has just sent and drawn a zero (Tinnirello, Bianchi and Xiao, "Refinements on IEEE 802.11 distributed
    // coordination function modeling approaches", IEEE Trans. Veh. Technol. 59(3), 2010). That matters more for a small
    // window.
    let b = (Standard::Ieee80211b, DataRate::Mbps11, 32.0, 5, 0.05);
    let a = (Standard::Ieee80211a, DataRate::Mbps54, 16.0, 6, 0.08);
    for (standard, rate, window, stages, tolerance) in [b, a] {
        for stations in [2, 5, 10, 20] {
            let (medium, ids) = saturated(&config(standard, rate), stations, 300);
            let share = collision_share(&medium, &ids);
            let expected = bianchi(stations as u32, window, stages);
            let off = share / expected - 1.0;
            println!("{standard:?}, {stations} stations: {share:.4}, Bianchi {expected:.4} ({:+.1} %)", off * 100.0);
            assert!(off.abs() < tolerance, "{standard:?}, {stations} stations: {share} against {expected}");
        }
    }
}

#[test]
fn equal_stations_have_equal_shares() {
    for (standard, rate) in [(Standard::Ieee80211b, DataRate::Mbps11), (Standard::Ieee80211g, DataRate::Mbps54)] {
        let (medium, ids) = saturated(&config(standard, rate), 8, 300);
        let shares: Vec<f64> = ids.iter().map(|&id| medium.counters(id).delivered as f64).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        // Within 3 % of each other, and no two the same by construction.
        assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.03), "{shares:?}");
        assert!(shares.iter().any(|share| *share != shares[0]), "{shares:?}");
    }
}

#[test]
fn what_stations_send_is_delivered_or_dropped() {
    let config = WifiConfig { retry: 3, error_floor: Probability::clamped(0.3), ..WifiConfig::default() };
    let mut medium = medium(&config, 4, None);
    let id = medium.add_station(StationConfig { saturated: Some(PACKET), ..station_config(1) });
    let other = medium.add_station(StationConfig { saturated: Some(PACKET), ..station_config(1) });
    medium.handle_timeout(Timestamp::from_secs(30));
    for station in [id, other] {
        let counters = medium.counters(station);
        assert_eq!(counters.delivered_size, DataSize::from_bytes(1500 * counters.delivered));
        let packets = counters.delivered + counters.dropped;
        assert!(counters.dropped > 0 && counters.transmissions >= packets);
        assert!(counters.transmissions <= 3 * (packets + 1), "{counters:?}");
    }
}

/// Seconds of a network with further stations and contenders; packets delivered by each station.
fn share_a_network(further: usize, contenders: u16) -> (Vec<u64>, u64) {
    let config = WifiNetworkConfig {
        wifi: config(Standard::Ieee80211b, DataRate::Mbps11),
        bottleneck: BottleneckPlace::LocalDevice,
        further_stations: vec![QueueLimit::Packets(50); further],
        contenders: (contenders > 0).then_some(ContenderConfig { stations: contenders, packet: PACKET }),
        ..WifiNetworkConfig::default()
    };
    let mut network = Network::new(&NetworkConfig::Wifi(config), Seed(3)).unwrap();
    network.record_deliveries(false);
    let (mut delivered, mut next) = (vec![0; 1 + further], 0);
    let mut send = |network: &mut Network, station: usize, at: Timestamp| {
        // The station is the number modulo the number of stations.
        let id = PacketId(next * 64 + station as u64);
        next += 1;
        network.handle_packet(at, at, NodeId::station(station as u16), Packet::new(id, PACKET));
    };
    for station in 0..=further {
        for _ in 0..3 {
            send(&mut network, station, Timestamp::ZERO);
        }
    }
    while let Some(timeout) = network.next_timeout().filter(|timeout| timeout.at < Timestamp::from_secs(60)) {
        network.handle_timeout(timeout.at);
        while let Some(event) = network.poll_event() {
            match event {
                NetworkEvent::Released { packet, at } => send(&mut network, (packet.0 % 64) as usize, at),
                NetworkEvent::Deliver { packet, .. } => delivered[(packet.id.0 % 64) as usize] += 1,
                NetworkEvent::Hop { record, .. } => assert_ne!(record.outcome, Outcome::Delivered),
                NetworkEvent::Sniffed(_) => unreachable!("there is no sniffer"),
            }
        }
    }
    (delivered, network.contenders().map_or(0, |counters| counters.delivered))
}

#[test]
fn senders_and_contenders_share_the_air_alike() {
    let (alone, none) = share_a_network(0, 0);
    assert_eq!(none, 0);
    for (further, contenders) in [(1, 0), (3, 0), (0, 3), (2, 2)] {
        let (delivered, background) = share_a_network(further, contenders);
        let stations = 1 + further as u64 + u64::from(contenders);
        let total = delivered.iter().sum::<u64>() + background;
        for own in &delivered {
            let share = *own as f64 / total as f64 * stations as f64;
            assert!((0.94..1.06).contains(&share), "{further}, {contenders}: {delivered:?} and {background}");
        }
        // Idle slots are shared and collisions are few: a few packets more than one station alone.
        let gain = total as f64 / alone[0] as f64;
        assert!((1.0..1.08).contains(&gain), "{further}, {contenders}: {gain}");
    }
}

#[test]
fn requests_shorten_collisions() {
    let goodput = |protection| {
        let wifi = config(Standard::Ieee80211g, DataRate::Mbps6);
        let (medium, ids) = saturated(&WifiConfig { protection, ..wifi }, 20, 60);
        ids.iter().map(|&id| medium.counters(id).delivered).sum::<u64>() as f64
    };
    let (requested, to_self) = (goodput(Protection::RtsCts), goodput(Protection::CtsToSelf));
    // At 6 Mbit/s a collision costs 2.4 ms with a clear to send to oneself, 0.5 ms with a request; a request costs
    // another 0.3 ms in each exchange of 3 ms. With two exchanges of three colliding that is a gain of a few tenths.
    assert!((1.05..1.4).contains(&(requested / to_self)), "{requested} against {to_self}");
}
