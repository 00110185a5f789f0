//! Queues that mark, and a TCP that answers to marks.

use framewire_link::disciplines::{CodelSettings, DualPi2Settings, FqCodelSettings, RedSettings};
use framewire_link::{Discipline, LossConfig, NetworkConfig, QueueLimit};
use framewire_sim::lone_connection::{LoneConnection, TcpOutcome, bottleneck};
use framewire_tcp::TcpConfig;
use framewire_units::{Bitrate, Duration, Probability, Seed};

fn run(discipline: Discipline, ecn: bool) -> TcpOutcome {
    let queue = QueueLimit::Packets(1_000);
    let mut network = bottleneck(Bitrate::from_mbps(10), Duration::from_millis(40), LossConfig::None, queue);
    if let NetworkConfig::Wired(wired) = &mut network {
        wired.wire.queue_discipline = discipline;
    }
    let connection = LoneConnection::new("cubic".parse().unwrap(), network);
    let sender = TcpConfig { ecn, ..connection.sender.clone() };
    LoneConnection { sender, seed: Seed(1), ..connection }.run().unwrap()
}

#[test]
fn a_connection_that_knows_ecn_loses_nothing_where_one_that_does_not_loses_packets() {
    let codel = Discipline::Codel(CodelSettings { ecn: true, ..CodelSettings::default() });
    for discipline in [codel, Discipline::FqCodel(FqCodelSettings::default())] {
        let (with, without) = (run(discipline, true), run(discipline, false));
        assert_eq!(with.last.retransmissions, 0, "{discipline:?}");
        assert!((10..2_000).contains(&without.last.retransmissions), "{discipline:?}: {:?}", without.last);
        for outcome in [&with, &without] {
            let goodput = outcome.goodput().as_mbps_f64();
            assert!((8.5..9.6).contains(&goodput), "{discipline:?}: {goodput}");
            // 40 ms of the path, and the wait that CoDel lets stand.
            let srtt = outcome.mean_srtt().unwrap();
            assert!(srtt > Duration::from_millis(41) && srtt < Duration::from_millis(75), "{discipline:?}: {srtt:?}");
        }
        // Both answer to a signal alike (RFC 3168, section 6.1.2), and so see about as many.
        assert!(with.last.recoveries == 0, "{:?}", with.last);
    }
}

#[test]
fn without_ecn_in_the_queue_both_lose_alike() {
    let codel = Discipline::Codel(CodelSettings::default());
    assert_eq!(run(codel, true).last.retransmissions, run(codel, false).last.retransmissions);
}

/// A connection with this algorithm at both ends.
fn with(algorithm: &str, discipline: Discipline, rate: u64) -> TcpOutcome {
    let queue = QueueLimit::Packets(1_000);
    let mut network = bottleneck(Bitrate::from_mbps(rate), Duration::from_millis(20), LossConfig::None, queue);
    if let NetworkConfig::Wired(wired) = &mut network {
        wired.wire.queue_discipline = discipline;
    }
    let connection = LoneConnection::new(algorithm.parse().unwrap(), network);
    let ends = |config: &TcpConfig| TcpConfig { congestion: connection.sender.congestion, ecn: true, ..config.clone() };
    let (sender, receiver) = (ends(&connection.sender), ends(&connection.receiver));
    LoneConnection { sender, receiver, seed: Seed(1), ..connection }.run().unwrap()
}

#[test]
fn dctcp_keeps_a_queue_that_marks_at_thirty_packets_there() {
    // RFC 8257, section 3.1: marks by the length of the queue now, all of them above a threshold.
    let step = RedSettings {
        min_threshold: 30,
        max_threshold: 31,
        max_probability: Probability::ONE,
        weight: Probability::ONE,
        gentle: true,
        wait: false,
        ecn: true,
        ..RedSettings::default()
    };
    let outcome = with("dctcp", Discipline::Red(step), 50);
    let goodput = outcome.goodput().as_mbps_f64();
    assert!((46.0..48.4).contains(&goodput), "{goodput}");
    // 30 packets of 0.24 ms behind the 10 ms of the way there.
    let delay = outcome.forward_delay;
    assert!(delay > Duration::from_millis(14) && delay < Duration::from_millis(20), "{delay:?}");
    let reno = with("reno", Discipline::Red(step), 50);
    assert!(reno.goodput().as_mbps_f64() < goodput - 1.0, "a sender that halves lets it run empty: {reno:?}");
}

#[test]
fn prague_has_a_millisecond_of_queue_in_dualpi2_where_classic_senders_have_fifteen() {
    let queue = Discipline::DualPi2(DualPi2Settings::default());
    let (prague, cubic) = (with("prague", queue, 50), with("cubic", queue, 50));
    for (outcome, least, most) in [(&prague, 10, 13), (&cubic, 17, 30)] {
        let delay = outcome.forward_delay;
        assert!(delay > Duration::from_millis(least) && delay < Duration::from_millis(most), "{delay:?}");
        let goodput = outcome.goodput().as_mbps_f64();
        assert!((44.0..48.4).contains(&goodput), "{goodput}");
        assert_eq!(outcome.last.retransmissions, 0);
    }
}
