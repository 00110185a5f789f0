//! After RFC 8290, section 4.

use super::*;
use crate::verdict::{Packet, PacketId};

fn queue(settings: FqCodelSettings, limit: QueueLimit) -> FqCodel {
    FqCodel::new(settings, &QueueSetup { limit, mtu: DataSize::from_bytes(1500), rate: None }, Seed(3))
}

fn offer(queue: &mut FqCodel, id: u64, flow: u32, size: u64) -> Vec<u64> {
    let packet = Packet { flow, ..Packet::new(PacketId(id), DataSize::from_bytes(size)) };
    let packet = Queued::new(packet, Timestamp::ZERO);
    let mut dropped = Vec::new();
    queue.enqueue(Arrival { packet, wait: Some(Duration::from_millis(1)), idle: Duration::ZERO }, &mut dropped);
    dropped.iter().map(|dropped| dropped.packet.packet.id.0).collect()
}

fn flows_in_order(queue: &mut FqCodel) -> Vec<u32> {
    let mut dropped = Vec::new();
    let order =
        std::iter::from_fn(|| queue.dequeue(Timestamp::ZERO, &mut dropped)).map(|one| one.packet.flow).collect();
    assert!(dropped.is_empty());
    order
}

#[test]
fn a_new_connection_goes_before_those_that_had_their_turn_and_all_share_the_bytes() {
    let mut fq = queue(FqCodelSettings::default(), QueueLimit::Packets(1_000));
    (0..6).for_each(|id| assert!(offer(&mut fq, id, 1, 1500).is_empty()));
    let mut none = Vec::new();
    // Its first turn is over when it has sent more than a quantum.
    assert!((0..2).all(|_| fq.dequeue(Timestamp::ZERO, &mut none).is_some_and(|one| one.packet.flow == 1)));
    (6..9).for_each(|id| assert!(offer(&mut fq, id, 2, 1500).is_empty()));
    // The new one has a turn of two packets, which goes over its quantum; then they take turns, by bytes.
    assert_eq!(flows_in_order(&mut fq), [2, 2, 1, 2, 1, 1, 1]);
}

#[test]
fn small_packets_have_as_many_bytes_as_large_ones() {
    let mut fq = queue(FqCodelSettings::default(), QueueLimit::Packets(10_000));
    (0..1_000).for_each(|id| drop(offer(&mut fq, id, 1, 1500)));
    (0..5_000).for_each(|id| drop(offer(&mut fq, id, 2, 300)));
    let mut none = Vec::new();
    let mut bytes = [0; 2];
    for _ in 0..3_000 {
        let packet = fq.dequeue(Timestamp::ZERO, &mut none).unwrap().packet;
        bytes[packet.flow as usize - 1] += packet.size.as_bytes();
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
}

#[test]
fn a_full_queue_drops_half_of_the_fattest_from_its_head() {
    let mut fq = queue(FqCodelSettings::default(), QueueLimit::Packets(10));
    (0..8).for_each(|id| assert!(offer(&mut fq, id, 1, 1500).is_empty()));
    (8..10).for_each(|id| assert!(offer(&mut fq, id, 2, 100).is_empty()));
    assert_eq!(offer(&mut fq, 10, 2, 100), [0, 1, 2, 3]);
    assert_eq!(fq.backlog(), Backlog { packets: 7, size: DataSize::from_bytes(4 * 1500 + 300) });
    let one_by_one = FqCodelSettings { drop_batch: 1, ..FqCodelSettings::default() };
    let mut fq = queue(one_by_one, QueueLimit::Bytes(DataSize::from_bytes(3_000)));
    (0..10).for_each(|id| assert!(offer(&mut fq, id, 1, 300).is_empty()));
    // Of a small limit several have to go for a large packet.
    assert_eq!(offer(&mut fq, 10, 2, 1_500), [0, 1, 2, 3, 4]);
}

#[test]
fn connections_spread_over_the_queues_as_the_seed_says() {
    let fq = queue(FqCodelSettings::default(), QueueLimit::Packets(10));
    let number = |fq: &FqCodel, flow| {
        fq.queue_of(&Queued::new(Packet { flow, ..Packet::new(PacketId(0), DataSize::from_bytes(1)) }, Timestamp::ZERO))
    };
    let mut hits = vec![0u32; 1024];
    (0..102_400).for_each(|flow| hits[number(&fq, flow)] += 1);
    // Chi-square over 1,024 bins: mean 1,023, standard deviation 45.
    let chi_square: f64 = hits.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
    assert!((1_023.0 - chi_square).abs() < 4.0 * 45.2, "{chi_square}");
    let setup = QueueSetup { limit: QueueLimit::Packets(10), mtu: DataSize::from_bytes(1500), rate: None };
    let other = FqCodel::new(FqCodelSettings::default(), &setup, Seed(4));
    let moved = (0..1_000).filter(|&flow| number(&fq, flow) != number(&other, flow)).count();
    assert!(moved > 980, "{moved}");
}
