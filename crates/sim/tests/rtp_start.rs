//! Streams of RTP begin with numbers of chance (RFC 3550, section 5.1), and runs are as if they began with 0.

use std::collections::BTreeSet;

use crate::common;
use common::{movie, run, scenario, summaries};
use framewire_recording::record::FlowStatus;
use framewire_session::RtpSeed;
use framewire_sim::Simulated;
use framewire_world::session_seed;

const LOSSY: &str = "[network]\nkind = \"wired\"\nbottleneck = \"remote\"\n\
                     [network.wire]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\n";

fn simulated(seed: u64, loss: &str, flow: &str) -> Simulated {
    run(&scenario(&format!("seed = {seed}\n{LOSSY}loss = \"{loss}\"\n[[flow]]\n{flow}")), &movie(3.0, 20), true)
}

/// The sequence number with which the only flow of a scenario of this seed begins.
fn first_number(seed: u64) -> u16 {
    let scenario = scenario(&format!("seed = {seed}\n[[flow]]\ntransport = \"udp\""));
    RtpSeed { seed: session_seed(&scenario, 0), flow: 1 }.video().sequence
}

/// A seed whose flow wraps its sequence number within the first packets.
fn wrapping_seed() -> u64 {
    (0..100_000).find(|&seed| first_number(seed) > 65_530).expect("one in 13,000 seeds")
}

#[test]
fn a_number_that_wraps_with_the_first_packets_is_as_good_as_any() {
    let seed = wrapping_seed();
    for transport in ["udp", "ts+rtp", "rtp+tcp", "rtsp", "rtsp+udp"] {
        let run = simulated(seed, "0 %", &format!("transport = \"{transport}\""));
        assert_eq!(run.outcomes[0].status, FlowStatus::Complete, "{transport}");
        let fates = summaries(&run)[0].fates.unwrap();
        assert_eq!((fates.shown, fates.lost, fates.late), (500, 0, 0), "{transport}");
    }
}

#[test]
fn packets_are_counted_from_the_first_one_on() {
    for seed in [1, wrapping_seed()] {
        for transport in ["udp", "ts+rtp"] {
            let run = simulated(seed, "2 %", &format!("transport = \"{transport}\"\nrtcp = \"full\""));
            let packets = run.logs[0].packets.to_vec();
            let sent: BTreeSet<u64> = packets.iter().filter_map(|packet| packet.sequence).collect();
            let count = run.logs[0].datagrams_sent.len() as u64;
            assert_eq!((sent.first(), sent.last()), (Some(&0), Some(&(count - 1))), "{transport}, seed {seed}");
            let blocks: Vec<_> = run.logs[0].rtcp.iter().filter(|report| report.lost.is_some()).collect();
            let last = blocks.last().expect("the receiver reports");
            assert!(u64::from(last.highest_sequence.unwrap()) < count, "{transport}, seed {seed}: {last:?}");
            assert!(u64::from(last.highest_sequence.unwrap()) > count * 9 / 10, "{transport}, seed {seed}: {last:?}");
            let (said, so) = (i64::from(last.lost.unwrap()), last.true_lost.unwrap() as i64);
            assert!((0..=3).contains(&(so - said)), "{transport}, seed {seed}: {said} lost, {so} in truth");
        }
    }
}
