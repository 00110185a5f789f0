//! Queues that mark, and a TCP that answers to marks.

use framewire_link::disciplines::{CodelSettings, FqCodelSettings};
use framewire_link::{Discipline, LossConfig, NetworkConfig, QueueLimit};
use framewire_sim::lone_connection::{LoneConnection, TcpOutcome, bottleneck};
use framewire_tcp::TcpConfig;
use framewire_units::{Bitrate, Duration, Seed};

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
