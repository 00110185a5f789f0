use framewire_units::{Bitrate, Duration, Ecn, Probability};
use proptest::prelude::*;

use super::*;
use crate::framing::{Framing, LineKind};
use crate::queue::{Discipline, Setting, SettingValue};
use crate::token_bucket::{Exceeding, PolicerConfig, TokenBucket};
use crate::trace::DeliveryTrace;
use crate::verdict::PacketId;

/// A discipline as it would be if it did not say that it only has a limit.
#[derive(Debug)]
struct AtDeparture(Box<dyn QueueDiscipline>);

impl QueueDiscipline for AtDeparture {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        self.0.enqueue(arrival, dropped);
    }

    fn dequeue(&mut self, at: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        self.0.dequeue(at, dropped)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

/// Takes every packet, gives up the oldest for it, and sends the newest first: no discipline that anyone wants, but one
/// that drops others at an arrival, drops all that waits when it is asked for a packet, and reorders.
#[derive(Debug, Default)]
struct Unruly {
    packets: Vec<Queued>,
    limit: usize,
}

impl QueueDiscipline for Unruly {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        self.packets.push(arrival.packet);
        while self.packets.len() > self.limit.max(1) {
            dropped.push(Dropped { packet: self.packets.remove(0), cause: DropCause::ActiveQueueManagement });
        }
    }

    fn dequeue(&mut self, at: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        if at.as_nanos().is_multiple_of(5) {
            let all = self.packets.drain(..);
            dropped.extend(all.map(|packet| Dropped { packet, cause: DropCause::ActiveQueueManagement }));
        }
        self.packets.pop()
    }

    fn backlog(&self) -> Backlog {
        let size = self.packets.iter().map(|queued| queued.packet.size).fold(DataSize::ZERO, |sum, size| sum + size);
        Backlog { packets: self.packets.len(), size }
    }
}

fn config() -> impl Strategy<Value = WireConfig> {
    let queue = prop_oneof![
        (0..20u32).prop_map(QueueLimit::Packets),
        (0..20_000u64).prop_map(|bytes| QueueLimit::Bytes(DataSize::from_bytes(bytes))),
        (0..50u64).prop_map(|ms| QueueLimit::Time(Duration::from_millis(ms))),
    ];
    let recorded = |text: &str| Just((None, DeliveryTrace::parse(text).ok()));
    let server = prop_oneof![
        Just((None, None)),
        (1..20_000_000u64).prop_map(|rate| (Some(Bitrate::from_bps(rate)), None)),
        recorded("0\n1\n3\n3\n8\n"),
        recorded("2\n2\n2\n40\n"),
    ];
    let bucket = (1_000..20_000_000u64, 4_000..20_000u64)
        .prop_map(|(rate, burst)| TokenBucket { rate: Bitrate::from_bps(rate), burst: DataSize::from_bytes(burst) });
    let framing = prop_oneof![Just(Framing::NONE), prop::sample::select(LineKind::ALL).prop_map(Framing::of)];
    (server, queue, prop::option::of(bucket), framing, prop::option::of(policer())).prop_map(
        |((rate, trace), queue, shaper, framing, policer)| {
            // What is on the line of packets that wait is known of either alone; each packet's own is exact of both.
            let framing = if rate.is_none() || shaper.is_some() { Framing::NONE } else { framing };
            let shaper = shaper.filter(|_| trace.is_none());
            WireConfig { rate, trace, queue, shaper, framing, policer, ..WireConfig::default() }
        },
    )
}

fn policer() -> impl Strategy<Value = PolicerConfig> {
    let exceeding = prop::sample::select(Exceeding::ALL);
    (100_000..20_000_000u64, 4_000..20_000u64, exceeding).prop_map(|(rate, burst, exceeding)| PolicerConfig {
        bucket: TokenBucket { rate: Bitrate::from_bps(rate), burst: DataSize::from_bytes(burst) },
        exceeding,
    })
}

/// Times in nanoseconds and sizes: many at once, some at whole milliseconds, where a trace has its opportunities.
fn traffic() -> impl Strategy<Value = Vec<(Timestamp, Packet)>> {
    let gap = prop_oneof![3 => Just(0), 2 => 1..100_000u64, 2 => 100_000..20_000_000u64, 1 => Just(1_000_000)];
    prop::collection::vec((gap, 28..4_000u64), 1..100).prop_map(|steps| {
        let mut nanos = 0;
        let packet = |(id, (gap, size))| {
            nanos += gap;
            (Timestamp::from_nanos(nanos), Packet::new(PacketId(id), DataSize::from_bytes(size)))
        };
        (0..).zip(steps).map(packet).collect()
    })
}

/// What became of each packet, in the order in which it was settled; woken at every timeout, or only by packets.
fn run(mut bottleneck: Bottleneck, traffic: &[(Timestamp, Packet)], woken: bool) -> Vec<Settled> {
    let mut all = Vec::new();
    for &(at, packet) in traffic {
        while let Some(timeout) = bottleneck.next_timeout().filter(|&timeout| woken && timeout <= at) {
            bottleneck.handle_timeout(timeout, |settled| all.push(settled));
        }
        bottleneck.handle_packet(at, packet, |settled| all.push(settled));
    }
    bottleneck.handle_timeout(Timestamp::MAX, |settled| all.push(settled));
    assert_eq!(bottleneck.next_timeout(), None);
    all
}

fn by_packet(mut settled: Vec<Settled>) -> Vec<Settled> {
    settled.sort_by_key(|settled| settled.packet.packet.id);
    settled
}

proptest! {
    #[test]
    fn a_queue_that_only_has_a_limit_decides_as_if_it_were_asked_at_departures(
        config in config(),
        traffic in traffic(),
    ) {
        let at_arrival = run(Bottleneck::new(&config, Seed(1)), &traffic, true);
        let setup = QueueSetup { limit: config.queue, mtu: config.mtu, rate: config.mean_rate() };
        for woken in [false, true] {
            let queue = Box::new(AtDeparture(config.queue_discipline.build(&setup, Seed(1))));
            let bottleneck = Bottleneck::with_queue(Server::new(&config), queue);
            let at_departure = run(bottleneck.policed(config.policer), &traffic, woken);
            prop_assert_eq!(&by_packet(at_departure), &at_arrival);
        }
    }

    #[test]
    fn whatever_a_discipline_does_each_packet_is_settled_once_and_the_transmitter_never_serves_two(
        config in config(),
        traffic in traffic(),
        limit in 0..20usize,
        woken in any::<bool>(),
    ) {
        let queue = Box::new(Unruly { packets: Vec::new(), limit });
        let settled = run(Bottleneck::with_queue(Server::new(&config), queue), &traffic, woken);
        let mut free = Timestamp::ZERO;
        for Settled { packet, fate } in &settled {
            match *fate {
                Fate::Served(Service { start, departure }) => {
                    prop_assert!(packet.at <= start && free <= start && start <= departure);
                    free = departure;
                }
                Fate::Dropped { at, .. } => prop_assert!(packet.at <= at),
            }
        }
        let ids: Vec<u64> = by_packet(settled).iter().map(|settled| settled.packet.packet.id.0).collect();
        prop_assert_eq!(ids, (0..traffic.len() as u64).collect::<Vec<_>>());
    }
}

/// Any discipline with any numbers.
fn discipline() -> impl Strategy<Value = Discipline> {
    let kind = prop::sample::select(Discipline::ALL);
    (kind, prop::collection::vec((0.0..1.0f64, any::<bool>()), 10)).prop_map(|(discipline, draws)| {
        let set = |discipline: Discipline, (setting, (place, wanted)): (&Setting, (f64, bool))| {
            let value = if wanted { between(setting, place) } else { setting.default };
            discipline.with(setting.name, value).expect("it lies between the least and the most")
        };
        let changed = discipline.settings().iter().zip(draws).fold(discipline, set);
        if changed.validate().is_ok() { changed } else { discipline }
    })
}

/// A value at this place of a setting's range, nearer to its default where that is far from the most.
fn between(setting: &Setting, place: f64) -> SettingValue {
    let number = |least: f64, default: f64, most: f64| least + (most.min(default * 4.0) - least).max(0.0) * place;
    match (setting.least, setting.default, setting.most) {
        (SettingValue::Time(least), SettingValue::Time(default), SettingValue::Time(most)) => {
            let seconds = number(least.as_secs_f64(), default.as_secs_f64(), most.as_secs_f64());
            SettingValue::Time(Duration::from_secs_f64(seconds).clamp(least, most))
        }
        (SettingValue::Size(least), SettingValue::Size(default), SettingValue::Size(most)) => {
            let [least, default, most] = [least, default, most].map(|size| size.as_bytes() as f64);
            SettingValue::Size(DataSize::from_bytes(number(least, default, most) as u64))
        }
        (SettingValue::Count(least), SettingValue::Count(default), SettingValue::Count(most)) => {
            SettingValue::Count(number(f64::from(least), f64::from(default), f64::from(most)) as u32)
        }
        (SettingValue::Share(least), SettingValue::Share(default), SettingValue::Share(most)) => {
            SettingValue::Share(Probability::clamped(number(least.get(), default.get(), most.get())))
        }
        (SettingValue::Number(least), SettingValue::Number(default), SettingValue::Number(most)) => {
            SettingValue::Number(number(least, default, most))
        }
        _ => SettingValue::Flag(place < 0.5),
    }
}

/// Several connections, with and without ECN.
fn mixed_traffic() -> impl Strategy<Value = Vec<(Timestamp, Packet)>> {
    let kinds = prop::collection::vec((0..5u32, prop::sample::select(Ecn::ALL)), 100);
    (traffic(), kinds).prop_map(|(traffic, kinds)| {
        let mixed = |((at, packet), (flow, ecn))| (at, Packet { flow, ecn, ..packet });
        traffic.into_iter().zip(kinds).map(mixed).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn with_every_discipline_each_packet_leaves_once_in_the_order_of_its_connection(
        config in config(),
        queue_discipline in discipline(),
        traffic in mixed_traffic(),
    ) {
        // What a policer marks is another class to DualPI2.
        let config = WireConfig { queue_discipline, policer: None, ..config };
        let settled = run(Bottleneck::new(&config, Seed(1)), &traffic, true);
        prop_assert_eq!(&settled, &run(Bottleneck::new(&config, Seed(1)), &traffic, true), "the same seed");
        prop_assert_eq!(&by_packet(settled.clone()), &by_packet(run(Bottleneck::new(&config, Seed(1)), &traffic, false)));
        let mut last = std::collections::BTreeMap::new();
        let mut free = Timestamp::ZERO;
        for Settled { packet, fate } in &settled {
            let (at, sent) = traffic[packet.packet.id.0 as usize];
            // ECT(1) and CE have a queue of their own in DualPI2.
            let class = (sent.flow, matches!(sent.ecn, Ecn::Ect1 | Ecn::Ce));
            prop_assert_eq!(packet.at, at);
            prop_assert_eq!(Packet { ecn: sent.ecn, ..packet.packet }, sent, "only its ECN field changes");
            match *fate {
                Fate::Served(Service { start, departure }) => {
                    prop_assert!(at <= start && free <= start && start <= departure);
                    free = departure;
                    prop_assert!(last.insert(class, sent.id) < Some(sent.id), "order within a connection");
                    let expected = if packet.marked { Ecn::Ce } else { sent.ecn };
                    prop_assert_eq!(packet.packet.ecn, expected);
                    prop_assert!(!packet.marked || sent.ecn.is_capable());
                }
                Fate::Dropped { at: dropped, .. } => prop_assert!(at <= dropped),
            }
        }
        let ids: Vec<u64> = by_packet(settled).iter().map(|settled| settled.packet.packet.id.0).collect();
        prop_assert_eq!(ids, (0..traffic.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn the_backlog_of_every_discipline_adds_up_and_is_bounded(
        queue_discipline in discipline(),
        packets in 1..20u32,
        steps in prop::collection::vec((any::<bool>(), 0..3_000_000u64, 0..5u32, prop::sample::select(Ecn::ALL)), 1..200),
    ) {
        let setup = QueueSetup {
            limit: QueueLimit::Packets(packets),
            mtu: DataSize::from_bytes(1500),
            rate: Some(Bitrate::from_mbps(1)),
        };
        let mut queue = queue_discipline.build(&setup, Seed(7));
        let mut waiting = std::collections::BTreeMap::new();
        let (mut now, mut dropped) = (Timestamp::ZERO, Vec::new());
        for (id, (arrives, nanos, flow, ecn)) in (0u64..).zip(steps) {
            now += Duration::from_nanos(nanos);
            let size = DataSize::from_bytes(28 + nanos % 1472);
            if arrives {
                let packet = Queued::new(Packet { ecn, flow, ..Packet::new(PacketId(id), size) }, now);
                waiting.insert(PacketId(id), size);
                let wait = Some(Duration::from_millis(1));
                queue.enqueue(Arrival { packet, wait, idle: Duration::ZERO }, &mut dropped);
            } else if queue.backlog().packets > 0 {
                let sent = queue.dequeue(now, &mut dropped);
                prop_assert!(sent.is_none_or(|sent| waiting.remove(&sent.packet.id).is_some()));
            }
            for one in dropped.drain(..) {
                prop_assert!(waiting.remove(&one.packet.packet.id).is_some(), "dropped once");
            }
            let size = waiting.values().fold(DataSize::ZERO, |sum, &size| sum + size);
            prop_assert_eq!(queue.backlog(), Backlog { packets: waiting.len(), size });
            prop_assert!(waiting.len() <= packets as usize);
        }
    }
}

proptest! {
    /// What has left since the end of any packet is at most the burst and what the rate brings.
    #[test]
    fn a_shaper_keeps_within_its_rate_and_burst_and_wastes_none_of_it(
        traffic in traffic(),
        (bps, burst) in (100_000..20_000_000u64, 4_000..20_000u64),
        line in prop::option::of(1_000_000..50_000_000u64),
        framing in prop::sample::select(LineKind::ALL),
    ) {
        let config = WireConfig {
            rate: line.map(Bitrate::from_bps),
            framing: if line.is_some() { Framing::of(framing) } else { Framing::NONE },
            shaper: Some(TokenBucket { rate: Bitrate::from_bps(bps), burst: DataSize::from_bytes(burst) }),
            queue: QueueLimit::Packets(1_000),
            ..WireConfig::default()
        };
        let settled = run(Bottleneck::new(&config, Seed(1)), &traffic, true);
        let served: Vec<(Queued, Service)> = settled.iter().filter_map(|one| match one.fate {
            Fate::Served(service) => Some((one.packet, service)),
            Fate::Dropped { .. } => None,
        }).collect();
        prop_assert_eq!(served.len(), traffic.len());
        let bits = |packets: &[(Queued, Service)]| packets.iter().map(|(one, _)| one.packet.size.as_bits()).sum::<u64>();
        let brings = |time: Duration| time.as_nanos() * u128::from(bps) / 1_000_000_000;
        for first in 0..served.len() {
            let since = served[first].1.departure;
            for last in first + 1..served.len() {
                let left = u128::from(bits(&served[first + 1..=last]));
                let room = u128::from(burst * 8) + brings(served[last].1.departure.saturating_since(since));
                prop_assert!(left <= room + u128::from(bps / 1_000_000_000 + 1), "{} of {}", left, room);
            }
        }
        // A packet that is later than the line would have had it is held by the bucket, which is empty then.
        for (number, &(packet, Service { start, departure })) in served.iter().enumerate() {
            let on_line = config.framing.on_line(packet.packet.size);
            let line = config.rate.map_or(Duration::ZERO, |rate| rate.transmit_time(on_line));
            if departure > start + line + Duration::from_nanos(2) {
                let full = (0..=number).find(|&from| {
                    let left = u128::from(bits(&served[from..=number]));
                    let room = u128::from(burst * 8) + brings(departure.saturating_since(served[from].1.start));
                    left + u128::from(bps / 500_000_000 + 2) >= room
                });
                prop_assert!(full.is_some(), "packet {number} was held for nothing");
            }
        }
    }
}

#[test]
fn a_rate_counts_what_the_line_carries() {
    // 32 cells of 53 bytes at 1 Mbit/s.
    let config =
        WireConfig { rate: Some(Bitrate::from_mbps(1)), framing: Framing::of(LineKind::Atm), ..WireConfig::default() };
    let traffic: Vec<_> =
        (0..100).map(|id| (Timestamp::ZERO, Packet::new(PacketId(id), DataSize::from_bytes(1_500)))).collect();
    let settled = run(Bottleneck::new(&config, Seed(1)), &traffic, true);
    let Fate::Served(last) = settled[99].fate else { panic!("{:?}", settled[99]) };
    assert_eq!(last.departure, Timestamp::from_micros(100 * 32 * 53 * 8));
}
