//! The receiving half in whole connections: windows follow the reader, and acknowledgements their rules.

use crate::common;
use common::Pipe;
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

const MSS: u64 = 1448;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What came back, without the handshake.
fn acknowledgements(pipe: &Pipe) -> Vec<(Timestamp, Segment)> {
    pipe.lanes[1].log.iter().flatten().filter(|(_, segment)| !segment.flags.syn).copied().collect()
}

#[test]
fn the_window_grows_to_what_the_path_needs() {
    // 100 Mbit/s times 100 ms are 863 packets, 1.25 MB: twenty times the first window.
    let mut pipe = Pipe::path(&TcpConfig::default(), Bitrate::from_mbps(100), 2_000, millis(100)).bulk(u64::MAX / 4);
    pipe.run(Timestamp::from_secs(3));
    let before = pipe.applications[1].read;
    pipe.run(Timestamp::from_secs(6));
    let share = (pipe.applications[1].read - before) as f64 * 8.0 / 3.0 / (100e6 * 1448.0 / 1500.0);
    assert!(share > 0.98, "{share}");
    let window = pipe.ends[0].info().send_window.as_bytes();
    assert!((1_250_000..=16_000_000).contains(&window), "{window}");
}

#[test]
fn a_fixed_receive_buffer_bounds_the_rate() {
    let config = TcpConfig { receive_buffer: Some(DataSize::from_bytes(65_536)), ..TcpConfig::default() };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(100), 2_000, millis(100)).bulk(u64::MAX / 4);
    pipe.run(Timestamp::from_secs(5));
    // 65,536 bytes of memory hold 28 packets of 2,304, and so much is sent per round trip.
    let per_round = pipe.applications[1].read as f64 / 50.0 / MSS as f64;
    assert!(per_round > 22.0 && per_round < 29.0, "{per_round}");
}

#[test]
fn a_reader_that_pauses_stops_the_sender_and_gets_all() {
    let mut pipe = Pipe::path(&TcpConfig::default(), Bitrate::from_mbps(50), 500, millis(20)).bulk(2_000 * MSS);
    pipe.applications[1].reads_from = Timestamp::from_secs(3);
    pipe.lanes[1].log = Some(Vec::new());
    pipe.run(Timestamp::from_millis(2_990));
    assert_eq!(pipe.applications[1].read, 0);
    let held = pipe.ends[1].readable();
    assert!(held > 40_000 && held < 131_072, "{held}");
    pipe.run(Timestamp::from_millis(3_700));
    assert!(pipe.applications[1].read > held, "the reader's update gets it going, at the latest the next probe");
    pipe.run_until_done(Timestamp::from_secs(20));
    assert_eq!(pipe.applications[1].read, 2_000 * MSS);
    assert_eq!(pipe.ends[0].info().timeouts, 0);
    let acknowledgements = acknowledgements(&pipe);
    let edges: Vec<u64> = acknowledgements.iter().map(|(_, ack)| ack.acknowledgement + ack.window).collect();
    assert!(edges.windows(2).all(|pair| pair[1] >= pair[0]), "a window was taken back");
}

#[test]
fn every_second_packet_is_acknowledged() {
    let mut pipe = Pipe::path(&TcpConfig::default(), Bitrate::from_mbps(10), 200, millis(40)).bulk(4_001 * MSS);
    pipe.lanes[1].log = Some(Vec::new());
    pipe.run_until_done(Timestamp::from_secs(20));
    let acknowledgements = acknowledgements(&pipe);
    let count = acknowledgements.len();
    // One for each packet while the window grows, about 500 packets, and one for two later.
    assert!((2_000..=2_500).contains(&count), "{count} for 4,001 packets");
}

#[test]
fn a_lone_packet_is_acknowledged_by_the_timer() {
    let mut pipe = Pipe::path(&TcpConfig::default(), Bitrate::from_mbps(100), 200, millis(40));
    pipe.lanes[0].log = Some(Vec::new());
    pipe.lanes[1].log = Some(Vec::new());
    // Full packets without the end of a write in them, one every 300 ms: after a quick start each waits.
    pipe.applications[0].to_write = 60 * MSS;
    pipe.applications[0].pace = Some((millis(300), MSS));
    pipe.applications[1].reads_from = Timestamp::from_secs(100);
    pipe.run(Timestamp::from_secs(25));
    let data: Vec<Timestamp> =
        pipe.lanes[0].log.iter().flatten().filter(|(_, s)| s.payload > 0).map(|(at, _)| *at).collect();
    let waits: Vec<Duration> = acknowledgements(&pipe)
        .iter()
        .filter_map(|(at, ack)| {
            let number = (ack.acknowledgement - 1) / MSS;
            let sent = *data.get(number.checked_sub(1)? as usize)?;
            Some(at.saturating_since(sent).saturating_sub(millis(20)))
        })
        .collect();
    assert!(waits.len() >= 50, "{}", waits.len());
    assert!(waits.iter().all(|&wait| wait < millis(210)), "{waits:?}");
}
