//! The traffic of `benches/validation/ns3/queues.cc`, what this project's models make of it, and what ns-3 did.

use std::collections::BTreeMap;

use framewire_link::{
    BottleneckPlace, Discipline, Network, NetworkConfig, NetworkEvent, NodeId, Outcome, Packet, PacketId, QueueLimit,
    WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Ecn, Seed, Timestamp};

/// From, to and interval in nanoseconds, bytes, connection, and whether it knows ECN: as in `queues.cc`.
pub(crate) type Source = (u64, u64, u64, u64, u32, bool);

pub(crate) const SHARED: &[Source] = &[
    (0, 4_000_000_000, 1_000_000, 1500, 1, true),
    (137_000, 4_000_000_000, 2_000_000, 1500, 2, false),
    (421_000, 4_000_000_000, 20_000_000, 200, 3, false),
    (1_000_211_000, 3_000_000_000, 3_000_000, 700, 4, true),
];

pub(crate) const ALONE: &[Source] =
    &[(137, 2_000_000_000, 1_000_000, 1500, 1, true), (3_000_000_137, 5_000_000_000, 900_000, 1500, 1, false)];

pub(crate) const PHASES: &[Source] = &[
    (137, 20_000_000_000, 760_013, 1000, 1, false),
    (20_000_000_137, 30_000_000_000, 700_009, 1000, 1, false),
    (31_000_000_137, 41_000_000_000, 727_001, 1000, 1, false),
    (41_000_000_137, 51_000_000_000, 830_003, 1000, 1, false),
];

/// What became of a packet, as ns-3 says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Sent,
    Marked,
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Left {
    pub(crate) packet: u64,
    pub(crate) what: What,
    /// When it was dropped, or when its transmission began.
    pub(crate) at: Timestamp,
    /// When it arrived.
    pub(crate) arrived: Timestamp,
}

/// The packets of all sources in the order of their times, with the number of their source.
pub(crate) fn arrivals(sources: &[Source]) -> Vec<(Timestamp, usize)> {
    let of = |(number, &(from, to, interval, ..)): (usize, &Source)| {
        (from..to).step_by(interval as usize).map(move |at| (Timestamp::from_nanos(at), number))
    };
    let mut all: Vec<_> = sources.iter().enumerate().flat_map(of).collect();
    all.sort();
    all
}

pub(crate) fn run(queue_discipline: Discipline, limit: u32, sources: &[Source], seed: u64) -> Vec<Left> {
    let queue = QueueLimit::Packets(limit);
    let wire = WireConfig { rate: Some(Bitrate::from_mbps(10)), queue, queue_discipline, ..WireConfig::default() };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    let mut network = Network::new(&config, Seed(seed)).unwrap();
    for (id, (at, source)) in (0..).zip(arrivals(sources)) {
        let (_, _, _, bytes, flow, knows_ecn) = sources[source];
        let ecn = if knows_ecn { Ecn::Ect0 } else { Ecn::NotEct };
        network.handle_packet(
            at,
            at,
            NodeId::SENDER,
            Packet { ecn, flow, ..Packet::new(PacketId(id), DataSize::from_bytes(bytes)) },
        );
    }
    network.handle_timeout(Timestamp::MAX);
    let hops = std::iter::from_fn(|| network.poll_event()).filter_map(|event| match event {
        NetworkEvent::Hop { record, .. } => Some(record),
        _ => None,
    });
    let left = hops.map(|hop| Left {
        packet: hop.packet.0,
        what: match hop.outcome {
            Outcome::Dropped(_) => What::Dropped,
            Outcome::Delivered if hop.marked => What::Marked,
            Outcome::Delivered => What::Sent,
        },
        at: hop.started.unwrap_or(hop.finished),
        arrived: hop.enqueued,
    });
    let mut left: Vec<Left> = left.collect();
    left.sort_by_key(|left| (left.at, left.packet));
    left
}

pub(crate) fn ns3(text: &str, sources: &[Source]) -> Vec<Left> {
    let arrivals = arrivals(sources);
    let lines = text.lines().skip(1).map(|line| {
        let [packet, what, at] = line.split(',').collect::<Vec<_>>()[..] else { panic!("three columns: {line}") };
        let packet: u64 = packet.parse().unwrap();
        let what = match what {
            "sent" => What::Sent,
            "marked" => What::Marked,
            _ => What::Dropped,
        };
        let at = Timestamp::from_nanos(at.parse().unwrap());
        Left { packet, what, at, arrived: arrivals[packet as usize].0 }
    });
    let mut left: Vec<Left> = lines.collect();
    left.sort_by_key(|left| (left.at, left.packet));
    left
}

/// Number of the source of a packet.
pub(crate) fn source_of(left: &Left, sources: &[Source]) -> usize {
    let source = sources.iter().position(|source| {
        let since = left.arrived.as_nanos().checked_sub(source.0);
        since.is_some_and(|since| since.is_multiple_of(source.2)) && left.arrived.as_nanos() < source.1
    });
    source.expect("it came from one of them")
}

/// Its connection.
pub(crate) fn flow_of(left: &Left, sources: &[Source]) -> u32 {
    sources[source_of(left, sources)].4
}

/// Of a phase of the traffic: share of packets dropped, mean wait, and percentiles of waits, in microseconds.
pub(crate) type Figures = [f64; 4];

/// By phase, those of every seed.
pub(crate) fn figures_of_ns3(discipline: &str) -> BTreeMap<usize, Vec<Figures>> {
    let mut figures = BTreeMap::<usize, Vec<Figures>>::new();
    for line in include_str!("../data/ns3_queues_random.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[0] == discipline {
            let number = |at: usize| cells[at].parse::<f64>().unwrap();
            let row = [number(4) / number(3), number(5), number(6), number(7)];
            figures.entry(number(2) as usize).or_default().push(row);
        }
    }
    figures
}

pub(crate) fn figures_here(discipline: Discipline, seeds: u64) -> BTreeMap<usize, Vec<Figures>> {
    let sources = arrivals(PHASES);
    let mut figures = BTreeMap::<usize, Vec<Figures>>::new();
    for seed in 1..=seeds {
        let left = run(discipline, 1_000, PHASES, seed);
        for phase in 0..PHASES.len() {
            let of_phase: Vec<&Left> = left.iter().filter(|left| sources[left.packet as usize].1 == phase).collect();
            let sent = of_phase.iter().filter(|left| left.what != What::Dropped);
            let mut waits: Vec<f64> =
                sent.map(|left| left.at.saturating_since(left.arrived).as_secs_f64() * 1e6).collect();
            waits.sort_by(f64::total_cmp);
            let at = |share: f64| waits[(share * (waits.len() - 1) as f64) as usize];
            let dropped = 1.0 - waits.len() as f64 / of_phase.len() as f64;
            let mean = waits.iter().sum::<f64>() / waits.len() as f64;
            figures.entry(phase).or_default().push([dropped, mean, at(0.5), at(0.95)]);
        }
    }
    figures
}

/// Mean, and the standard error of it.
pub(crate) fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
