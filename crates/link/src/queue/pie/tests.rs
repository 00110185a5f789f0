//! After RFC 8033, appendix A.

use framewire_units::{DataSize, Ecn};

use super::*;
use crate::queue::QueueLimit;
use crate::verdict::{Packet, PacketId};

fn pie(settings: PieSettings) -> Pie {
    let setup = QueueSetup { limit: QueueLimit::Packets(1_000), mtu: DataSize::from_bytes(1500), rate: None };
    Pie::new(settings, &setup, Seed(1))
}

fn offer(pie: &mut Pie, at: Timestamp, ecn: Ecn) -> usize {
    let packet = Packet { ecn, ..Packet::new(PacketId(0), DataSize::from_bytes(1000)) };
    let mut dropped = Vec::new();
    let wait = Some(Duration::from_millis(1));
    pie.enqueue(Arrival { packet: Queued::new(packet, at), wait, idle: Duration::ZERO }, &mut dropped);
    dropped.len()
}

#[test]
fn the_controller_moves_by_the_rfcs_numbers() {
    let mut pie = pie(PieSettings::default());
    pie.burst_allowance = Duration::ZERO;
    (pie.wait, pie.last_wait) = (Duration::from_millis(35), Duration::from_millis(25));
    // 0.125 x 20 ms + 1.25 x 10 ms = 0.015, of which the smallest probability takes a 2,048th.
    for (before, divisor) in [(0.0, 2048.0), (0.000_005, 512.0), (0.000_05, 128.0), (0.000_5, 32.0), (0.005, 8.0)] {
        let mut one = Pie { draws: pie.draws.clone(), fifo: pie.fifo.clone(), probability: before, ..pie };
        one.update();
        assert!((one.probability - before - 0.015 / divisor).abs() < 1e-12, "{before}: {}", one.probability);
    }
    pie.probability = 0.5;
    pie.wait = Duration::from_millis(150);
    pie.update();
    assert!((pie.probability - 0.52).abs() < 1e-12, "no step adds more than 0.02");
}

#[test]
fn a_burst_passes_and_the_allowance_comes_back_when_the_queue_is_short() {
    let mut pie = pie(PieSettings::default());
    pie.probability = 1.0;
    pie.last_wait = Duration::from_millis(100);
    let dropped: usize = (0..200).map(|ms| offer(&mut pie, Timestamp::from_millis(ms), Ecn::NotEct)).sum();
    assert!((35..=50).contains(&dropped), "150 ms pass, and 50 ms do not: {dropped}");
    while pie.fifo.pop().is_some() {}
    pie.wait = Duration::ZERO;
    pie.update_until(Timestamp::from_secs(30));
    assert!(pie.is_at_rest(), "{pie:?}");
}

#[test]
fn while_nothing_waits_the_probability_decays() {
    let mut pie = pie(PieSettings::default());
    pie.burst_allowance = Duration::ZERO;
    pie.probability = 0.5;
    pie.update();
    // The step is -0.125 x 15 ms.
    assert!((pie.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-12);
}

#[test]
fn safeguards_keep_a_short_queue() {
    let mut pie = pie(PieSettings::default());
    pie.burst_allowance = Duration::ZERO;
    pie.probability = 0.19;
    assert!((0..100).all(|_| offer(&mut pie, Timestamp::ZERO, Ecn::NotEct) == 0), "the wait is under half the target");
    pie.probability = 1.0;
    while pie.fifo.pop().is_some() {}
    let dropped: usize = (0..100).map(|_| offer(&mut pie, Timestamp::ZERO, Ecn::NotEct)).sum();
    assert_eq!(dropped, 97, "two packets wait without a drop, so a third does");
}

#[test]
fn it_marks_up_to_a_limit_and_drops_from_there_on() {
    let mut pie = pie(PieSettings { ecn: true, ..PieSettings::default() });
    pie.burst_allowance = Duration::ZERO;
    pie.last_wait = Duration::from_millis(20);
    pie.probability = 0.099;
    assert!((0..900).all(|_| offer(&mut pie, Timestamp::ZERO, Ecn::Ect0) == 0));
    let marked = std::iter::from_fn(|| pie.fifo.pop()).filter(|one| one.marked).count();
    // Binomial, standard deviation 9.
    assert!((45..=135).contains(&marked), "{marked}");
    pie.probability = 0.1;
    let dropped: usize = (0..900).map(|_| offer(&mut pie, Timestamp::ZERO, Ecn::Ect0)).sum();
    assert!((45..=135).contains(&dropped), "{dropped}");
}
