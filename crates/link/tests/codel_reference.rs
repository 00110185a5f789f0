//! CoDel against that of ns-3: the same packets at the same times.
//!
//! `data/codel_ns3.csv` is what `benches/validation/ns3/codel.cc` printed with ns-3 3.37: every packet that was dropped, and
//! when. ns-3 has the pseudocode of RFC 8289 in the arithmetic of Linux: times in units of 1.024 us, and a square root of
//! 16 bits that one Newton step improves at each drop. Its drops may therefore come a little earlier or later.

use framewire_link::disciplines::CodelSettings;
use framewire_link::{
    BottleneckPlace, Discipline, DropCause, HopRecord, Network, NetworkConfig, NetworkEvent, NodeId, Outcome, Packet,
    PacketId, WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Seed, Timestamp};

/// From, to, interval of the packets, in nanoseconds: as in `codel.cc`.
const PHASES: [[u64; 3]; 6] = [
    [137, 2_000_000_000, 1_000_000],
    [3_000_000_137, 5_000_000_000, 900_000],
    [5_000_000_137, 5_500_000_000, 2_000_000],
    [5_500_000_137, 8_000_000_000, 1_100_000],
    [10_000_000_137, 10_060_000_000, 100_000],
    [10_100_000_137, 12_000_000_000, 1_200_000],
];

fn dropped_by_ns3() -> Vec<(u64, Timestamp)> {
    let lines = include_str!("data/codel_ns3.csv").lines().skip(1);
    let numbers = lines.map(|line| line.split_once(',').expect("two columns"));
    numbers.map(|(packet, at)| (packet.parse().unwrap(), Timestamp::from_nanos(at.parse().unwrap()))).collect()
}

fn dropped_here() -> Vec<(u64, Timestamp)> {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(10)),
        queue_discipline: Discipline::Codel(CodelSettings::default()),
        ..WireConfig::default()
    };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    let mut network = Network::new(&config, Seed(1)).unwrap();
    let times = PHASES.iter().flat_map(|&[from, to, interval]| (from..to).step_by(interval as usize));
    for (id, at) in times.enumerate() {
        let at = Timestamp::from_nanos(at);
        let packet = Packet::new(PacketId(id as u64), DataSize::from_bytes(1500));
        network.handle_packet(at, at, NodeId::SENDER, packet);
    }
    network.handle_timeout(Timestamp::MAX);
    let dropped = std::iter::from_fn(|| network.poll_event()).filter_map(|event| match event {
        NetworkEvent::Hop { record: HopRecord { packet, finished, outcome: Outcome::Dropped(cause), .. }, .. } => {
            assert_eq!(cause, DropCause::ActiveQueueManagement);
            Some((packet.0, finished))
        }
        _ => None,
    });
    dropped.collect()
}

/// ns-3 first reckons the square root of 2 as 2, so that its third drop comes after 50 ms and not 71 ms; from there on it
/// is ahead by as much, and drops as fast.
#[test]
fn it_drops_as_ns3_does() {
    let (here, ns3) = (dropped_here(), dropped_by_ns3());
    assert_eq!(here[..2], ns3[..2]);
    assert!(here.len().abs_diff(ns3.len()) <= 4, "{} drops, ns-3 {}", here.len(), ns3.len());
    // While the traffic of the first phase is under way.
    for (here, ns3) in here.iter().zip(&ns3).skip(2).take_while(|(here, _)| here.1 < Timestamp::from_secs(2)) {
        let behind = here.1.saturating_since(ns3.1).as_secs_f64();
        assert!((0.020..=0.030).contains(&behind), "{here:?}, ns-3 {ns3:?}");
    }
    // Afterwards queues run empty and build up again, and each has dropped about as much as the other at any time.
    for half_seconds in 1..=25 {
        let end = Timestamp::from_millis(500 * half_seconds);
        let dropped = |drops: &[(u64, Timestamp)]| drops.iter().filter(|drop| drop.1 < end).count();
        let (here, ns3) = (dropped(&here), dropped(&ns3));
        assert!(here.abs_diff(ns3) <= 12, "{here} drops until {end}, ns-3 {ns3}");
    }
}
