//! What holds for every network and every traffic.
#![allow(missing_docs, reason = "a test binary")]

use crate::common;
use std::collections::BTreeMap;

use common::{medium, station_config};
use framewire_link::wifi::{ArfConfig, MediumEvent, PacketFallbackConfig, Preamble, Protection, RatePolicy, Standard};
use framewire_link::{
    BottleneckPlace, DeliveryTrace, Discipline, Hop, HopRecord, Interval, LossConfig, Mains, Network, NetworkConfig,
    NetworkEvent, NodeId, Outcome, OvenConfig, Packet, PacketId, QueueLimit, SnifferConfig, WifiConfig,
    WifiNetworkConfig, WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Timestamp,
    from: NodeId,
    /// Of several stations of the sender's side, counted around.
    station: usize,
    size: u64,
}

/// Traffic of both directions in the order of its times: bursts, pauses, and arrivals at the same time.
fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![Just(0u64), 1..100_000u64, 100_000..20_000_000u64];
    let port = prop_oneof![3 => Just(NodeId::SENDER), 1 => Just(NodeId::RECEIVER)];
    prop::collection::vec((gap, port, 0..6usize, 28..1500u64), 1..150).prop_map(|steps| {
        let mut nanos = 0;
        let arrival = |(gap, from, station, size)| {
            nanos += gap;
            Arrival { at: Timestamp::from_nanos(nanos), from, station, size }
        };
        steps.into_iter().map(arrival).collect()
    })
}

fn wire() -> impl Strategy<Value = WireConfig> {
    let queue = prop_oneof![
        (0..20u32).prop_map(QueueLimit::Packets),
        (0..20_000u64).prop_map(|bytes| QueueLimit::Bytes(DataSize::from_bytes(bytes))),
        (0..50u64).prop_map(|ms| QueueLimit::Time(Duration::from_millis(ms))),
    ];
    let recorded = || DeliveryTrace::parse("1\n3\n3\n8\n").ok();
    let server = prop_oneof![
        Just((None, None)),
        (1..100u64).prop_map(|rate| (Some(Bitrate::from_mbps(rate)), None)),
        // Slow enough for standing queues.
        (50..2_000u64).prop_map(|rate| (Some(Bitrate::from_kbps(rate)), None)),
        Just((None, recorded())),
    ];
    let tick = prop_oneof![Just(0), 1..20_000u64];
    (server, (queue, discipline()), 0..30_000u64, 0..5_000u64, tick, 0.0..0.3f64).prop_map(
        |(server, (queue, queue_discipline), delay, jitter, tick, loss)| WireConfig {
            rate: server.0,
            trace: server.1,
            queue,
            queue_discipline,
            mtu: DataSize::from_bytes(1500),
            delay: Duration::from_micros(delay),
            jitter: Duration::from_micros(jitter),
            loss: LossConfig::Bernoulli(Probability::clamped(loss)),
            outages: vec![Interval { start: Timestamp::from_millis(100), end: Timestamp::from_millis(150) }],
            tick: Duration::from_micros(tick),
            ..WireConfig::default()
        },
    )
}

fn discipline() -> impl Strategy<Value = Discipline> {
    prop::sample::select(Discipline::ALL)
}

/// A standard, a protection that it has, and a way to choose among its rates.
fn standard() -> impl Strategy<Value = (Standard, Protection, RatePolicy)> {
    let protection = prop::sample::select(vec![Protection::None, Protection::CtsToSelf, Protection::RtsCts]);
    let standard = prop_oneof![
        2 => Just((Standard::Ieee80211b, Protection::None)),
        1 => Just((Standard::Ieee80211a, Protection::None)),
        2 => protection.prop_map(|protection| (Standard::Ieee80211g, protection)),
    ];
    standard.prop_flat_map(|(standard, protection)| {
        let rate = prop_oneof![
            Just(RatePolicy::Automatic(ArfConfig::default())),
            Just(RatePolicy::ByPacket(PacketFallbackConfig { recovery: Duration::from_millis(20) })),
            prop::sample::select(standard.rates()).prop_map(RatePolicy::Fixed),
        ];
        rate.prop_map(move |rate| (standard, protection, rate))
    })
}

fn wifi() -> impl Strategy<Value = WifiConfig> {
    let preamble = prop_oneof![Just(Preamble::Long), Just(Preamble::Short)];
    let channel = (preamble, 0..6u16, -20.0..10.0f64, 0.0..0.3f64, prop::option::of(0..=9u64));
    (standard(), channel).prop_map(|((standard, protection, rate), (preamble, retry, strength_db, floor, sense))| {
        let on = vec![Interval { start: Timestamp::from_millis(20), end: Timestamp::from_secs(5) }];
        WifiConfig {
            standard,
            protection,
            rate,
            preamble,
            retry,
            error_floor: Probability::clamped(floor),
            carrier_sense: sense.map(Duration::from_micros),
            oven: Some(OvenConfig { on, mains: Mains::Hz60, strength_db }),
            sniffer: Some(SnifferConfig { capture: Probability::clamped(0.65) }),
            ..WifiConfig::default()
        }
    })
}

fn config() -> impl Strategy<Value = NetworkConfig> {
    let place = || prop_oneof![Just(BottleneckPlace::LocalDevice), Just(BottleneckPlace::Remote)];
    let wired = (wire(), wire(), place()).prop_map(|(wire, backward, bottleneck)| {
        NetworkConfig::Wired(WiredNetworkConfig { wire, backward, bottleneck })
    });
    let further = prop::collection::vec((0..30u32).prop_map(QueueLimit::Packets), 0..3);
    let wireless = (wifi(), 0..30u32, (0..30_000u64, discipline()), wire(), place(), further).prop_map(
        |(wifi, packets, (bytes, access_point_discipline), wire, bottleneck, further)| {
            // Several stations are all on the sender's side.
            let further_stations = if bottleneck == BottleneckPlace::LocalDevice { further } else { Vec::new() };
            NetworkConfig::Wifi(WifiNetworkConfig {
                wifi,
                station_queue: QueueLimit::Packets(packets),
                access_point_queue: QueueLimit::Bytes(DataSize::from_bytes(bytes)),
                access_point_discipline,
                wire,
                bottleneck,
                further_stations,
                ..WifiNetworkConfig::default()
            })
        },
    );
    prop_oneof![1 => wired, 3 => wireless]
}

fn packet(id: usize, size: u64) -> Packet {
    Packet::new(PacketId(id as u64), DataSize::from_bytes(size))
}

/// Number of wireless stations on the sender's side, or the sender alone.
fn stations(config: &NetworkConfig) -> usize {
    if let NetworkConfig::Wifi(wifi) = config { 1 + wifi.further_stations.len() } else { 1 }
}

/// A packet comes into the network, at the station that sends it.
fn offer(network: &mut Network, stations: usize, now: Timestamp, id: usize, arrival: &Arrival) {
    let from = match arrival.from {
        NodeId::SENDER => NodeId::station((arrival.station % stations) as u16),
        other => other,
    };
    let to = if arrival.from == NodeId::SENDER { NodeId::RECEIVER } else { NodeId::SENDER };
    network.handle_packet(now, arrival.at, from, Packet { to, ..packet(id, arrival.size) });
}

fn drain(network: &mut Network, events: &mut Vec<NetworkEvent>) {
    events.extend(std::iter::from_fn(|| network.poll_event()));
}

/// The world as it should be: every timeout kept.
fn run(config: &NetworkConfig, traffic: &[Arrival]) -> Vec<NetworkEvent> {
    let mut network = Network::new(config, Seed(5)).unwrap();
    let mut events = Vec::new();
    for (id, arrival) in traffic.iter().enumerate() {
        while let Some(timeout) = network.next_timeout().filter(|timeout| timeout.at <= arrival.at) {
            network.handle_timeout(timeout.at);
            drain(&mut network, &mut events);
        }
        offer(&mut network, stations(config), arrival.at, id, arrival);
        drain(&mut network, &mut events);
    }
    while let Some(timeout) = network.next_timeout() {
        network.handle_timeout(timeout.at);
        drain(&mut network, &mut events);
    }
    events
}

fn sorted(mut events: Vec<NetworkEvent>) -> Vec<String> {
    events.sort_by_cached_key(|event| format!("{event:?}"));
    events.iter().map(|event| format!("{event:?}")).collect()
}

fn records(events: &[NetworkEvent]) -> impl Iterator<Item = &HopRecord> {
    events.iter().filter_map(|event| match event {
        NetworkEvent::Hop { record, .. } => Some(record),
        _ => None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_has_one_fate_and_one_release(config in config(), traffic in traffic()) {
        let events = run(&config, &traffic);
        let mut fates = BTreeMap::<u64, u32>::new();
        let mut releases = BTreeMap::<u64, u32>::new();
        for event in &events {
            match event {
                NetworkEvent::Deliver { packet, at } => {
                    let sent = traffic[packet.id.0 as usize];
                    prop_assert!(packet.to != sent.from && *at >= sent.at);
                    *fates.entry(packet.id.0).or_default() += 1;
                }
                NetworkEvent::Hop { record: HopRecord { packet, outcome: Outcome::Dropped(_), .. }, .. } => {
                    *fates.entry(packet.0).or_default() += 1;
                }
                NetworkEvent::Released { packet, at } => {
                    prop_assert!(*at >= traffic[packet.0 as usize].at);
                    *releases.entry(packet.0).or_default() += 1;
                }
                NetworkEvent::Hop { .. } | NetworkEvent::Sniffed(_) => {}
            }
        }
        let once: BTreeMap<u64, u32> = (0..traffic.len() as u64).map(|id| (id, 1)).collect();
        prop_assert_eq!(&fates, &once);
        prop_assert_eq!(&releases, &once);
    }

    /// So that a world can let go of a packet.
    #[test]
    fn every_packet_has_one_last_record_and_nothing_is_said_after_it(config in config(), traffic in traffic()) {
        let mut last = BTreeMap::new();
        for event in run(&config, &traffic) {
            match event {
                NetworkEvent::Hop { record, last: is_last } => {
                    let earlier = last.get(&record.packet);
                    prop_assert!(earlier.is_none(), "{:?} after {:?}", record, earlier);
                    if is_last {
                        last.insert(record.packet, record);
                    }
                }
                NetworkEvent::Sniffed(frame) => prop_assert!(!last.contains_key(&frame.packet), "{:?}", frame),
                NetworkEvent::Deliver { .. } | NetworkEvent::Released { .. } => {}
            }
        }
        prop_assert_eq!(last.len(), traffic.len());
    }

    #[test]
    fn each_hop_is_recorded_once_in_order_and_within_its_limits(config in config(), traffic in traffic()) {
        let events = run(&config, &traffic);
        let mut seen = BTreeMap::new();
        for record in records(&events) {
            prop_assert!(seen.insert((record.packet, record.hop), ()).is_none(), "twice: {:?}", record);
            prop_assert!(!record.clamped);
            prop_assert!(record.enqueued <= record.finished);
            prop_assert!(record.started.is_none_or(|at| record.enqueued <= at && at <= record.finished));
            if let NetworkConfig::Wifi(network) = &config {
                let limit = if network.wifi.retry == 0 { 16 } else { usize::from(network.wifi.retry) };
                prop_assert!(record.transmissions.len() <= limit);
            }
        }
        // First in, first out on every hop and in every direction; each station has a queue of its own.
        let stations = stations(&config);
        let from = |record: &HopRecord| traffic[record.packet.0 as usize].from;
        let queue_of = |record: &HopRecord| {
            let own = record.hop == Hop::SenderDevice && from(record) == NodeId::SENDER;
            if own { traffic[record.packet.0 as usize].station % stations } else { 0 }
        };
        let mut last = BTreeMap::new();
        let mut by_arrival: Vec<_> = records(&events).filter(|record| record.started.is_some()).collect();
        by_arrival.sort_by_key(|record| (record.enqueued, record.packet));
        for record in by_arrival {
            let way = (record.hop, from(record), queue_of(record));
            let started = last.insert((way, "started"), record.started);
            prop_assert!(started.flatten() <= record.started);
            if record.outcome == Outcome::Delivered {
                let finished = last.insert((way, "delivered"), Some(record.finished));
                prop_assert!(finished.flatten() <= Some(record.finished));
            }
        }
    }

    #[test]
    fn when_the_world_wakes_changes_nothing(
        config in config(),
        traffic in traffic(),
        wakes in prop::collection::vec(0..500_000_000u64, 0..200),
    ) {
        let expected = sorted(run(&config, &traffic));
        // All packets at once, then one jump to the end.
        let mut network = Network::new(&config, Seed(5)).unwrap();
        let mut events = Vec::new();
        for (id, arrival) in traffic.iter().enumerate() {
            offer(&mut network, stations(&config), arrival.at, id, arrival);
        }
        network.handle_timeout(Timestamp::MAX);
        drain(&mut network, &mut events);
        prop_assert_eq!(&sorted(events), &expected);
        // Needless wakes at any time, and at the very time of an arrival.
        let mut network = Network::new(&config, Seed(5)).unwrap();
        let mut events = Vec::new();
        let mut wakes: Vec<Timestamp> = wakes.into_iter().map(Timestamp::from_nanos).collect();
        wakes.sort();
        let mut wakes = wakes.into_iter().peekable();
        for (id, arrival) in traffic.iter().enumerate() {
            while let Some(now) = wakes.next_if(|&wake| wake <= arrival.at) {
                network.handle_timeout(now);
                drain(&mut network, &mut events);
            }
            network.handle_timeout(arrival.at);
            offer(&mut network, stations(&config), arrival.at, id, arrival);
        }
        wakes.for_each(|now| network.handle_timeout(now));
        network.handle_timeout(Timestamp::MAX);
        drain(&mut network, &mut events);
        prop_assert_eq!(sorted(events), expected);
    }

    #[test]
    fn arrivals_seen_late_are_honoured_or_flagged(
        config in config(),
        traffic in traffic(),
        lateness in prop::collection::vec(0..2_000_000u64, 150),
    ) {
        let mut network = Network::new(&config, Seed(5)).unwrap();
        let mut events = Vec::new();
        let mut now = Timestamp::ZERO;
        for (id, (arrival, late)) in traffic.iter().zip(lateness).enumerate() {
            now = now.max(arrival.at + Duration::from_nanos(late));
            network.handle_timeout(now);
            offer(&mut network, stations(&config), now, id, arrival);
            drain(&mut network, &mut events);
        }
        network.handle_timeout(Timestamp::MAX);
        drain(&mut network, &mut events);
        let mut first_hop = BTreeMap::new();
        for record in records(&events) {
            let first = first_hop.entry(record.packet).or_insert(record);
            if record.enqueued < first.enqueued { *first = record; }
        }
        prop_assert_eq!(first_hop.len(), traffic.len());
        for (id, record) in first_hop {
            let stamp = traffic[id.0 as usize].at;
            prop_assert!(if record.clamped { record.enqueued > stamp } else { record.enqueued == stamp }, "{:?}", record);
        }
        let fates = events.iter().filter(|event| match event {
            NetworkEvent::Deliver { .. } => true,
            NetworkEvent::Hop { record, .. } => record.outcome != Outcome::Delivered,
            _ => false,
        });
        prop_assert_eq!(fates.count(), traffic.len());
    }
}

#[test]
fn the_same_seed_gives_the_same_verdicts_and_another_seed_others() {
    let config = WifiConfig { error_floor: Probability::clamped(0.2), ..WifiConfig::default() };
    let verdicts = |seed| common::saturate(medium(&config, seed, None), 3, 1500, 2).records;
    assert_eq!(verdicts(1), verdicts(1));
    assert_ne!(verdicts(1), verdicts(2));
}

/// Fate of every transmission of the first station, in order.
fn fates_of_first(others: usize) -> Vec<bool> {
    let config = WifiConfig { retry: 1, ..WifiConfig::default() };
    let mut medium = medium(&config, 9, Some(0.3));
    for id in 0..=others {
        let station = medium.add_station(station_config(3000));
        for n in 0..3000 {
            medium.handle_packet(station, Timestamp::ZERO, packet(id * 3000 + n, 500));
        }
    }
    medium.handle_timeout(Timestamp::MAX);
    std::iter::from_fn(|| medium.poll_event())
        .filter_map(|event| match event {
            MediumEvent::Done { station, verdict } if station.0 == 0 => {
                Some(verdict.record.outcome == Outcome::Delivered)
            }
            _ => None,
        })
        .collect()
}

#[test]
fn the_channel_of_a_station_does_not_depend_on_the_traffic_of_others() {
    let alone = fates_of_first(0);
    let shared = fates_of_first(2);
    assert_eq!(alone.len(), shared.len());
    // Others can only add collisions.
    assert!(alone.iter().zip(&shared).all(|(&alone, &shared)| alone || !shared));
    let collisions = alone.iter().zip(&shared).filter(|(alone, shared)| alone != shared).count();
    assert!((50..600).contains(&collisions), "{collisions} of {}", alone.len());
}

#[test]
fn two_packets_of_the_same_moment_collide_although_the_world_wakes_between_them() {
    let records = |wake: bool| {
        let mut medium = medium(&WifiConfig::default(), 1, Some(0.0));
        let at = Timestamp::from_millis(10);
        for id in 0..2 {
            let station = medium.add_station(station_config(1));
            medium.handle_packet(station, at, packet(id, 500));
            if wake {
                medium.handle_timeout(at);
            }
        }
        medium.handle_timeout(Timestamp::MAX);
        let verdicts = std::iter::from_fn(|| medium.poll_event()).filter_map(|event| match event {
            MediumEvent::Done { verdict, .. } => Some(verdict.record),
            _ => None,
        });
        verdicts.collect::<Vec<_>>()
    };
    let expected = records(false);
    assert!(expected.iter().all(|record| record.transmissions.len() >= 2 && !record.clamped), "{expected:?}");
    assert_eq!(records(true), expected);
}
