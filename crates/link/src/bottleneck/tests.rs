use framewire_units::{Bitrate, Duration};
use proptest::prelude::*;

use super::*;
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
    (server, queue).prop_map(|((rate, trace), queue)| WireConfig { rate, trace, queue, ..WireConfig::default() })
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
        let setup = QueueSetup { limit: config.queue, mtu: config.mtu };
        for woken in [false, true] {
            let queue = Box::new(AtDeparture(config.queue_discipline.build(&setup, Seed(1))));
            let at_departure = run(Bottleneck::with_queue(Server::new(&config), queue), &traffic, woken);
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
