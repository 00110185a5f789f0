//! BBR over whole connections: the pipe is full, the queue is short, and what is lost at random costs little.

use crate::common;
use common::{Fate, Pipe};
use framewire_tcp::congestion::Algorithm;
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{Bitrate, Duration, Seed, Timestamp};

const RATE: Bitrate = Bitrate::from_mbps(10);
const RTT: Duration = Duration::from_millis(40);
/// Payload that the link carries, in bit/s.
const CEILING: f64 = 10e6 * 1448.0 / 1500.0;

fn path(algorithm: Algorithm, queue: usize) -> Pipe {
    let config = TcpConfig { congestion: algorithm, seed: Seed(3), ..TcpConfig::default() };
    Pipe::path(&config, RATE, queue, RTT).bulk(u64::MAX / 4)
}

/// Share of the link that was used from the third second on, and the mean of the smoothed round-trip time.
fn measure(pipe: &mut Pipe, seconds: u64) -> (f64, Duration) {
    pipe.run(Timestamp::from_secs(3));
    let before = pipe.applications[1].read;
    let mut sum = Duration::ZERO;
    let steps = (seconds - 3) * 50;
    for step in 1..=steps {
        pipe.run(Timestamp::from_millis(3_000 + 20 * step));
        sum += pipe.ends[0].info().srtt;
    }
    let rate = (pipe.applications[1].read - before) as f64 * 8.0 / (seconds - 3) as f64;
    (rate / CEILING, sum / steps as u32)
}

#[test]
fn bulk_fills_the_link_with_a_short_queue() {
    for algorithm in [Algorithm::Bbr1, Algorithm::Bbr3] {
        // A queue of four times the path's own packets, which Reno would fill.
        let mut pipe = path(algorithm, 136);
        let (share, rtt) = measure(&mut pipe, 20);
        assert!(share > 0.94 && share <= 1.0, "{algorithm}: {share} of the link");
        assert!(rtt > RTT && rtt < Duration::from_millis(60), "{algorithm}: {rtt:?}");
        let info = pipe.ends[0].info();
        assert_eq!((info.timeouts, info.retransmissions), (0, 0), "{algorithm}");
    }
}

#[test]
fn random_loss_costs_little_where_reno_collapses() {
    let run = |algorithm| {
        let mut pipe = path(algorithm, 136);
        let mut state = Seed(11).stream("loss", &[]);
        pipe.lanes[0].script =
            Box::new(
                move |_, segment: &Segment| {
                    if segment.payload > 0 && state.next_f64() < 0.01 { Fate::Drop } else { Fate::Pass }
                },
            );
        measure(&mut pipe, 20).0
    };
    let (one, three, reno) = (run(Algorithm::Bbr1), run(Algorithm::Bbr3), run(Algorithm::Reno));
    assert!(one > 0.93 && one <= 0.995, "version 1: {one}");
    assert!(three > 0.8 && three <= 0.995, "version 3: {three}");
    assert!(reno < 0.6, "reno: {reno}");
}

#[test]
fn a_shallow_queue_loses_less_with_version_3() {
    let run = |algorithm| {
        let mut pipe = path(algorithm, 12);
        let (share, _) = measure(&mut pipe, 30);
        let info = pipe.ends[0].info();
        (share, info.retransmissions as f64 / info.sent as f64)
    };
    let (one, three) = (run(Algorithm::Bbr1), run(Algorithm::Bbr3));
    assert!(one.0 > 0.9 && three.0 > 0.85, "{one:?} {three:?}");
    assert!(one.1 > 0.0 && three.1 < 0.02, "{one:?} {three:?}");
    assert!(three.1 <= one.1, "{one:?} {three:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut pipe = path(Algorithm::Bbr3, 20);
        pipe.run(Timestamp::from_secs(8));
        (pipe.applications[1].read, pipe.ends[0].info())
    };
    assert_eq!(run(), run());
}
