//! After RFC 9332, appendix A. The whole of it is held against the same pseudocode in Python in `tests/dualpi2_reference.rs`.

use framewire_units::DataSize;

use super::*;
use crate::verdict::{Packet, PacketId};

fn dual(settings: DualPi2Settings) -> DualPi2 {
    let setup = QueueSetup { limit: QueueLimit::Packets(1_000), mtu: DataSize::from_bytes(1500), rate: None };
    DualPi2::new(settings, &setup)
}

fn offer(queue: &mut DualPi2, at: Timestamp, ecn: Ecn) {
    let packet = Packet { ecn, ..Packet::new(PacketId(0), DataSize::from_bytes(1000)) };
    let wait = Some(Duration::from_millis(1));
    let mut dropped = Vec::new();
    queue.enqueue(Arrival { packet: Queued::new(packet, at), wait, idle: Duration::ZERO }, &mut dropped);
    assert!(dropped.is_empty());
}

fn take(queue: &mut DualPi2, at: Timestamp) -> Option<Queued> {
    queue.dequeue(at, &mut Vec::new())
}

#[test]
fn gains_follow_from_the_target_and_the_longest_round_trip() {
    let controller = Controller::new(&DualPi2Settings::default());
    assert_eq!(controller.update, Duration::from_millis(15));
    assert!((controller.alpha - 0.15).abs() < 1e-12 && (controller.beta - 3.0).abs() < 1e-12, "{controller:?}");
}

#[test]
fn l4s_packets_go_first_and_classic_ones_have_their_share() {
    let mut queue = dual(DualPi2Settings::default());
    for _ in 0..320 {
        offer(&mut queue, Timestamp::ZERO, Ecn::Ect0);
        offer(&mut queue, Timestamp::ZERO, Ecn::Ect1);
    }
    let order: Vec<bool> =
        (0..320).map(|_| take(&mut queue, Timestamp::ZERO).unwrap().packet.ecn == Ecn::Ect0).collect();
    assert!(order[..15].iter().all(|&classic| !classic));
    assert_eq!(order.iter().filter(|&&classic| classic).count(), 20, "a sixteenth");
}

#[test]
fn an_l4s_packet_is_marked_by_its_own_wait_on_a_ramp_or_a_step() {
    let marks = |ramp: u64, wait: u64| {
        let settings = DualPi2Settings { ramp: Duration::from_micros(ramp), ..DualPi2Settings::default() };
        let mut queue = dual(settings);
        (0..102).for_each(|_| offer(&mut queue, Timestamp::ZERO, Ecn::Ect1));
        (0..100).filter(|_| take(&mut queue, Timestamp::from_micros(wait)).unwrap().marked).count()
    };
    assert_eq!([marks(400, 800), marks(400, 900), marks(400, 1_000)], [0, 24, 49]);
    assert!(marks(400, 1_200) >= 99);
    assert_eq!([marks(0, 800), marks(0, 801)], [0, 99]);
}

#[test]
fn a_short_queue_is_not_marked_by_its_wait() {
    let mut queue = dual(DualPi2Settings::default());
    for second in 0..100 {
        offer(&mut queue, Timestamp::from_secs(second), Ecn::Ect1);
        // Between two updates of the controller.
        let packet = take(&mut queue, Timestamp::from_secs(second) + Duration::from_millis(2)).unwrap();
        assert!(!packet.marked);
    }
}

#[test]
fn classic_probability_is_the_square_and_l4s_twice_the_root() {
    let mut queue = dual(DualPi2Settings::default());
    queue.controller.base = 0.3;
    let (mut classic, mut low_latency) = (0, 0);
    for _ in 0..10_000 {
        offer(&mut queue, Timestamp::ZERO, Ecn::Ect0);
        classic += u32::from(take(&mut queue, Timestamp::ZERO).unwrap().marked);
        offer(&mut queue, Timestamp::ZERO, Ecn::Ect1);
        low_latency += u32::from(take(&mut queue, Timestamp::ZERO).unwrap().marked);
    }
    assert!((899..=900).contains(&classic) && (5_999..=6_000).contains(&low_latency), "{classic} {low_latency}");
}

#[test]
fn in_overload_all_are_dropped_alike() {
    let mut queue = dual(DualPi2Settings::default());
    queue.controller.base = 0.5;
    let mut dropped = Vec::new();
    for _ in 0..500 {
        offer(&mut queue, Timestamp::ZERO, Ecn::Ect1);
    }
    let sent: Vec<Queued> = std::iter::from_fn(|| queue.dequeue(Timestamp::ZERO, &mut dropped)).collect();
    assert!((120..=130).contains(&dropped.len()), "a quarter: {}", dropped.len());
    assert!(sent.iter().filter(|packet| !packet.marked).count() <= 1);
}
