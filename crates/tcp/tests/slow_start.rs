//! Where slow start ends in whole connections, and what limits the window after it.

use crate::common;
use common::Pipe;
use framewire_tcp::congestion::Algorithm;
use framewire_tcp::{TcpConfig, TcpInfo};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

const MSS: u64 = 1448;

/// A connection over a path of 10 Mbit/s and 100 ms, which 83 packets fill, and a queue that never does, after 6 s.
fn after_six_seconds(algorithm: Algorithm) -> TcpInfo {
    let config = TcpConfig { congestion: algorithm, ..TcpConfig::default() };
    let rtt = Duration::from_millis(100);
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), usize::MAX, rtt).bulk(u64::MAX / 4);
    pipe.run(Timestamp::from_secs(6));
    let info = pipe.ends[0].info();
    assert_eq!(info.retransmissions, 0, "{algorithm}");
    info
}

#[test]
fn hystart_leaves_slow_start_near_the_path_and_reno_does_not() {
    let cubic = after_six_seconds(Algorithm::Cubic);
    // The train that fills half of the least delay is seen in the round that begins with 40 packets or with 80.
    assert!(cubic.ssthresh.is_some_and(|ssthresh| (60..=166).contains(&ssthresh)), "{:?}", cubic.ssthresh);
    // The round whose least delay shows a queue begins with 94 to 332 packets, one to four paths; five rounds at a quarter
    // of the pace follow: 1.25^5 of it. Plain slow start would make 32 of it.
    let plus_plus = after_six_seconds(Algorithm::CubicHyStartPlusPlus);
    assert!(plus_plus.ssthresh.is_some_and(|ssthresh| (286..=1013).contains(&ssthresh)), "{:?}", plus_plus.ssthresh);
    let reno = after_six_seconds(Algorithm::Reno);
    assert_eq!(reno.ssthresh, None);
    assert!(reno.cwnd > 1_000, "{}", reno.cwnd);
}

#[test]
fn a_long_fast_path_is_limited_by_the_send_buffer_before_cubic() {
    // 1 Gbit/s and 40 ms: 3,333 packets. Linux' default `tcp_wmem` ends at 4 MiB, and without segmentation offload each
    // packet of 1,448 bytes is charged 2,280: 1,839 of them, of which a third may be free before the writer is woken.
    // Linux 6.18 in the emulated world: a window of 3,716, at most 1,858 packets under way, 371 to 378 Mbit/s; its writer
    // takes time to write, in which more room comes.
    let run = |send_buffer| {
        let config = TcpConfig { congestion: Algorithm::Cubic, send_buffer, ..TcpConfig::default() };
        let rtt = Duration::from_millis(40);
        let mut pipe = Pipe::path(&config, Bitrate::from_mbps(1_000), 3_333, rtt).bulk(u64::MAX / 4);
        pipe.run(Timestamp::from_secs(2));
        (pipe.applications[1].read as f64 * 8.0 / 2e6, pipe.ends[0].info())
    };
    let (goodput, info) = run(None);
    assert!(info.cwnd > 3_333 && info.in_flight <= 1_839, "{info:?}");
    assert!((280.0..460.0).contains(&goodput), "{goodput} Mbit/s");
    let (goodput, info) = run(Some(DataSize::from_bytes(20_000_000)));
    assert!(u64::from(info.cwnd) * MSS > 4 << 20, "{info:?}");
    assert!(goodput > 700.0, "{goodput} Mbit/s");
}
