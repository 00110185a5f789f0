//! DualPI2 against the pseudocode of RFC 9332, appendix A, in another language: the same packets at the same times.
//!
//! `data/dualpi2_appendix_a.csv` is what `benches/validation/dualpi2.py` prints: every packet that is marked or dropped.

use framewire_link::disciplines::DualPi2Settings;
use framewire_link::{
    BottleneckPlace, Discipline, Network, NetworkConfig, NetworkEvent, NodeId, Outcome, Packet, PacketId, QueueLimit,
    WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Ecn, Seed, Timestamp};

/// From, to and interval in nanoseconds, bytes, and what the packets say of ECN: as in `dualpi2.py`.
const SOURCES: &[(u64, u64, u64, u64, Ecn)] = &[
    (0, 6_000_000_000, 3_000_000, 1500, Ecn::Ect0),
    (137_000, 6_000_000_000, 4_100_000, 1200, Ecn::NotEct),
    (1_000_211_000, 4_500_000_000, 2_500_000, 1000, Ecn::Ect1),
    (2_000_400_000, 3_000_000_000, 1_700_000, 1500, Ecn::Ect1),
    (7_000_000_000, 8_000_000_000, 1_000_000, 1100, Ecn::Ect1),
];

fn here() -> String {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(10)),
        queue: QueueLimit::Packets(1_000_000),
        queue_discipline: Discipline::DualPi2(DualPi2Settings::default()),
        ..WireConfig::default()
    };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    let mut network = Network::new(&config, Seed(1)).unwrap();
    let of = |&(from, to, interval, bytes, ecn): &(u64, u64, u64, u64, Ecn)| {
        (from..to).step_by(interval as usize).map(move |at| (Timestamp::from_nanos(at), bytes, ecn))
    };
    let mut arrivals: Vec<_> = SOURCES.iter().flat_map(of).collect();
    arrivals.sort_by_key(|(at, ..)| *at);
    for (id, (at, bytes, ecn)) in (0..).zip(arrivals) {
        let packet = Packet { ecn, ..Packet::new(PacketId(id), DataSize::from_bytes(bytes)) };
        network.handle_packet(at, at, NodeId::SENDER, packet);
    }
    network.handle_timeout(Timestamp::MAX);
    let mut lines = String::from("packet,what,at_ns\n");
    while let Some(event) = network.poll_event() {
        let NetworkEvent::Hop { record: hop, .. } = event else { continue };
        let what = match hop.outcome {
            Outcome::Dropped(_) => "dropped",
            Outcome::Delivered if hop.marked => "marked",
            Outcome::Delivered => continue,
        };
        let at = hop.started.unwrap_or(hop.finished).as_nanos();
        lines.push_str(&format!("{},{what},{at}\n", hop.packet.0));
    }
    lines
}

#[test]
fn each_mark_and_drop_is_that_of_appendix_a() {
    let (here, expected) = (here(), include_str!("data/dualpi2_appendix_a.csv"));
    for (number, (here, expected)) in here.lines().zip(expected.lines()).enumerate() {
        assert_eq!(here, expected, "line {number}");
    }
    assert_eq!(here.lines().count(), expected.lines().count());
    let count = |what: &str| here.lines().filter(|line| line.contains(what)).count();
    assert!(count("marked") > 500 && count("dropped") > 500, "both happen");
}
