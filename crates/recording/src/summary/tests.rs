//! The summary against values worked out by hand.

use framewire_units::{Bitrate, Duration, Playout, Timestamp};

use super::statistics::nearest_ranks;
use super::{Connection, LossRuns, Summary};
use crate::ledger::Ledger;
use crate::record::{AirCounts, DatagramReceived, FlowLog, FlowSample, LossPlace, Stuffing};
use crate::samples::Samples;
use crate::testing::{DatagramFlow, Injected, LIVE, STALL, StreamFlow, movie, ms};

const LOST: Injected = Injected::Dropped(LossPlace::Link, "retry limit");
const ARRIVES: Injected = Injected::Arrives(Duration::from_millis(5));

fn summary(log: &FlowLog, playout: Playout) -> Summary {
    Summary::build(&Ledger::build(log, playout), log, &playout)
}

#[test]
fn percentiles_are_values_by_nearest_rank() {
    let values = [15, 20, 35, 40, 50];
    let of = |values: &[i64], percents| nearest_ranks(values.iter().copied(), values.len(), percents);
    assert_eq!(of(&values, [5, 30, 40, 50, 100]), Some([15, 20, 20, 35, 50]));
    assert_eq!(nearest_ranks([7].into_iter(), 1, [99]), Some([7]));
    assert_eq!(nearest_ranks([].into_iter(), 0, [50]), None);
}

#[test]
fn loss_runs_are_maximal() {
    let runs = |pattern: &str| LossRuns::of(pattern.chars().map(|packet| packet == 'x')).counts;
    assert_eq!(runs("x.xx.xxx.xxxx.xxxxx.xxxxxxxxxx.xxxxxxxxxxx"), [1, 1, 1, 1, 2, 1]);
    assert_eq!(runs("....."), [0; 6]);
    assert_eq!(runs("xx"), [0, 1, 0, 0, 0, 0]);
    assert_eq!(runs(""), [0; 6]);
}

#[test]
fn runs_of_packets_cross_frames_and_count_what_the_socket_refused() {
    // Three datagrams a frame: ..x xx. x.. -> one run of three, one of one.
    let mut flow = DatagramFlow::new(movie(&[1500; 3]));
    flow.send(0, &[ARRIVES, ARRIVES, LOST]);
    flow.send(1, &[Injected::NoRoom, LOST, ARRIVES]);
    flow.send(2, &[Injected::Unread, ARRIVES, ARRIVES]);
    let summary = summary(&flow.log, LIVE);
    assert_eq!((summary.packets_sent, summary.packets_lost), (Some(9), Some(4)));
    assert_eq!(summary.packet_runs.unwrap().counts, [1, 0, 1, 0, 0, 0]);
    assert_eq!(summary.frame_runs.unwrap().counts, [0, 0, 1, 0, 0, 0]);
    assert_eq!(
        (
            summary.places.unwrap().link,
            summary.places.unwrap().sender_socket,
            summary.places.unwrap().receiver_pipeline
        ),
        (1, 1, 1)
    );
    assert_eq!((summary.duration_s, summary.frame_throughput_bps, summary.latency_ms), (None, None, None));
}

#[test]
fn throughput_and_bytes_add_up() {
    // I0 P1 B2 B3: P1 is lost after one of its two datagrams arrived; the B frames arrive in vain.
    let mut flow = DatagramFlow::new(movie(&[1000; 4]));
    for frame in 0..4 {
        flow.send(frame, if frame == 1 { &[ARRIVES, LOST] } else { &[] });
    }
    let summary = summary(&flow.log, LIVE);
    assert_eq!(summary.movie_bitrate_bps, Some(200_000));
    // From frame 0 to frame 3: 120 ms, and one interval more.
    let duration = summary.duration_s.unwrap();
    assert!((duration - 0.16).abs() < 1e-9, "{duration}");
    // The first datagram came 0.1 ms before the first frame was whole.
    assert!((summary.frame_throughput_bps.unwrap() - 3_000.0 * 8.0 / 0.1601).abs() < 1e-3);
    assert!((summary.packet_throughput_bps.unwrap() - 7.0 * 516.0 * 8.0 / 0.1601).abs() < 1e-3);
    assert_eq!(
        (summary.wasted_bytes, summary.useless_bytes, summary.shed_bytes),
        (Some(500 + 2_000), Some(0), Some(0))
    );
    assert_eq!(
        (summary.types.unwrap().frames_i, summary.types.unwrap().frames_p, summary.types.unwrap().frames_b),
        (1, 1, 2)
    );
    assert_eq!(
        (summary.types.unwrap().lost_i, summary.types.unwrap().lost_p, summary.types.unwrap().lost_b),
        (0, 1, 0)
    );
    let transmissions = summary.transmissions.unwrap();
    assert_eq!((transmissions.mean, transmissions.shares), (1.0, [1.0, 0.0, 0.0, 0.0, 0.0]));
    assert!(summary.sniffed.is_none());
}

#[test]
fn late_frames_are_useless_bytes() {
    const SLOW: Injected = Injected::Arrives(Duration::from_secs(3));
    let mut flow = DatagramFlow::new(movie(&[1000; 4]));
    for frame in 0..4 {
        flow.send(frame, if frame == 3 { &[SLOW] } else { &[] });
    }
    let summary = summary(&flow.log, LIVE);
    assert_eq!((summary.fates.unwrap().late, summary.useless_bytes, summary.wasted_bytes), (1, Some(1000), Some(0)));
}

#[test]
fn transmissions_are_counted_on_the_senders_device_as_sent_and_as_sniffed() {
    let mut flow = DatagramFlow::new(movie(&[2000]));
    flow.send(0, &[]);
    let device = flow.log.packets.in_memory().iter_mut().filter(|packet| packet.hop == "sender-device");
    for (packet, (sent, sniffed)) in device.zip([(1, 1), (2, 1), (7, 5), (0, 0)]) {
        packet.transmissions = vec![Bitrate::from_mbps(11); sent];
        packet.sniffed = Some(sniffed);
    }
    let summary = summary(&flow.log, LIVE);
    let transmissions = summary.transmissions.unwrap();
    assert!((transmissions.mean - 10.0 / 3.0).abs() < 1e-12, "the packet that was never sent does not count");
    assert_eq!(transmissions.shares.map(|share| (share * 3.0).round()), [1.0, 1.0, 0.0, 0.0, 1.0]);
    let sniffed = summary.sniffed.unwrap();
    assert_eq!((sniffed.unique, sniffed.total), (3, 7));
    assert_eq!(sniffed.shares.unwrap().map(|share| (share * 3.0).round()), [2.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn behind_a_wire_the_transmissions_are_those_of_the_access_point() {
    let mut flow = DatagramFlow::new(movie(&[2000]));
    flow.send(0, &[]);
    let (mut found, mut ahead) = (0, AirCounts::default());
    for packet in flow.log.packets.in_memory().iter_mut() {
        packet.hop = if packet.hop == "wire" { "access-point" } else { "wire" };
        packet.transmissions = vec![Bitrate::from_mbps(11); if packet.hop == "wire" { 1 } else { 3 }];
        packet.sniffed = (packet.hop != "wire").then_some(2);
        found += usize::from(packet.hop != "wire");
        ahead.add(packet);
    }
    assert!(found > 1);
    let summary = summary(&flow.log, LIVE);
    assert_eq!(summary.transmissions.unwrap().mean, 3.0);
    assert_eq!(summary.sniffed.unwrap().total, 2 * found as u64);
    assert_eq!(ahead.transmissions.packets, [0, 0, found as u64, 0, 0]);
    assert_eq!(ahead.sniffed.unwrap().total, 2 * found as u64);
}

/// Seven frames `I P B B P B B` of 100 bytes, read at the given times.
fn stream(millis: [u64; 7]) -> StreamFlow {
    let mut flow = StreamFlow::new(movie(&[100; 7]));
    for (frame, at) in (0u32..).zip(millis) {
        flow.write(frame);
        flow.read(100 * (u64::from(frame) + 1), ms(at));
    }
    flow
}

#[test]
fn a_player_that_waits_stops_its_clock() {
    // Start-up 100 ms after 10 ms; display order 0 2 3 1 5 6 4, due at 110, 150, 190, 230, 270, 310, 350 ms.
    let flow = stream([10, 60, 170, 205, 250, 289, 400]);
    // Frame 2 is 20 ms late (clock + 20), frame 3 at 205 < 210, frame 5 at 289 < 290, frame 6 due 330, comes at 400.
    let stalls = summary(&flow.log, STALL).stalls.unwrap();
    assert_eq!(stalls.stalls, 2);
    assert!((stalls.stalled_s - 0.090).abs() < 1e-9, "{}", stalls.stalled_s);
}

#[test]
fn a_frame_waits_for_its_references_too() {
    // P1 comes at 345 ms, and B2, due at 5 + 100 + 40 ms, cannot be shown before; nothing after it waits again.
    const SLOW: Injected = Injected::Arrives(Duration::from_millis(305));
    let mut flow = DatagramFlow::new(movie(&[100; 4]));
    for (frame, fault) in (0u32..).zip([ARRIVES, SLOW, ARRIVES, ARRIVES]) {
        flow.send(frame, &[fault]);
    }
    let stalls = summary(&flow.log, STALL).stalls.unwrap();
    assert_eq!(stalls.stalls, 1);
    assert!((stalls.stalled_s - (0.345 - 0.145)).abs() < 1e-9, "{}", stalls.stalled_s);
}

#[test]
fn a_smooth_stream_has_no_stalls_and_an_empty_one_no_player() {
    let stalls = summary(&stream([10, 50, 90, 130, 170, 210, 250]).log, STALL).stalls.unwrap();
    assert_eq!((stalls.stalls, stalls.stalled_s), (0, 0.0));
    let silent = summary(&StreamFlow::new(movie(&[100; 3])).log, STALL);
    assert_eq!(silent.stalls, None);
    assert_eq!((silent.latency_ms, silent.jitter_ms, silent.duration_s), (None, None, None));
    assert_eq!(silent.places.unwrap().sender_pipeline, 3);
}

#[test]
fn a_lost_frame_is_not_waited_for() {
    let mut flow = stream([10, 50, 90, 130, 170, 210, 250]);
    // P4 is never read: B5 and B6, which came before the cut, refer to it.
    flow.log.frame_events.retain(|event| event.frame != 4);
    flow.discard(4, LossPlace::SenderPipeline, "ifd: P while a P waits");
    let summary = summary(&flow.log, STALL);
    assert_eq!(
        (summary.fates.unwrap().lost, summary.fates.unwrap().undecodable, summary.fates.unwrap().shown),
        (1, 2, 4)
    );
    assert_eq!(summary.stalls.unwrap().stalls, 0);
    assert_eq!(summary.shed_bytes, Some(100));
}

#[test]
fn a_rate_has_the_time_of_its_first_frame_in_it() {
    // A large first frame and four small ones over a link that brings 1,000 bytes every 20 ms, which is 400 kbit/s.
    let sizes = [20_000, 1_000, 1_000, 1_000, 1_000];
    let mut flow = StreamFlow::new(movie(&sizes));
    (0..5).for_each(|frame| flow.write(frame));
    (1..=24).for_each(|step| flow.read(1_000 * step, ms(20 * step)));
    let late = summary(&flow.log, LIVE);
    // Whole frames came from 400 to 480 ms, all bytes within 460 ms; and one interval more.
    assert!((late.duration_s.unwrap() - 0.12).abs() < 1e-9);
    for rate in [late.frame_throughput_bps.unwrap(), late.packet_throughput_bps.unwrap()] {
        assert!((rate - 24_000.0 * 8.0 / 0.5).abs() < 1e-3, "{rate}");
        assert!((0.95 * 400e3..=400e3).contains(&rate), "no more than the link brings, and nearly that: {rate}");
    }
    // Where every frame comes at once when it is due, the rate is that of the movie.
    let mut flow = StreamFlow::new(movie(&[5_000; 5]));
    for frame in 0..5 {
        flow.write(frame);
        flow.read(5_000 * (u64::from(frame) + 1), ms(40 * u64::from(frame) + 5));
    }
    let paced = summary(&flow.log, LIVE);
    assert_eq!(paced.frame_throughput_bps.map(f64::round), paced.movie_bitrate_bps.map(|rate| rate as f64));
}

#[test]
fn payload_behind_the_last_whole_frame_has_its_time() {
    // Frames of two datagrams every 40 ms; of all but the first two the second one is lost.
    let mut flow = DatagramFlow::new(movie(&[1000; 25]));
    (0..25).for_each(|frame| flow.send(frame, if frame < 2 { &[] } else { &[ARRIVES, LOST] }));
    let found = summary(&flow.log, LIVE);
    assert!((found.duration_s.unwrap() - 0.08).abs() < 1e-9);
    // The first datagram came 0.1 ms before the first frame was whole, and the last one 960 ms after that one.
    assert!((found.frame_throughput_bps.unwrap() - 2_000.0 * 8.0 / 0.0801).abs() < 1e-3);
    assert!((found.packet_throughput_bps.unwrap() - 27.0 * 516.0 * 8.0 / 0.96).abs() < 1e-3);
    // What comes twice brings nothing, and takes no time.
    let twice = flow.log.datagrams_received.to_vec()[0].clone();
    flow.log.datagrams_received.push(DatagramReceived { at: ms(5_000), ..twice });
    assert_eq!(summary(&flow.log, LIVE), found);
}

#[test]
fn null_packets_fill_the_interval_of_the_last_frame() {
    // 1,316 bytes every 10.528 ms are 1 Mbit/s; the last frame comes with the 31st of 41 groups.
    let due = |group: u64| Timestamp::from_nanos(group * 10_528_000 + 3_000_000);
    let mut flow = StreamFlow::new(movie(&[8 * 1316, 8 * 1316, 14 * 1316]));
    (0..3).for_each(|frame| flow.write(frame));
    flow.log.frame_ends = vec![8 * 1316, 16 * 1316, 31 * 1316];
    (0..41).for_each(|group| flow.read((group + 1) * 1316, due(group)));
    let rate = |log: &FlowLog| summary(log, LIVE).packet_throughput_bps.unwrap();
    assert!(
        (rate(&flow.log) - 41.0 * 1316.0 * 8.0 / 0.421_12).abs() < 1e-3,
        "the last byte is later than the interval"
    );
    flow.log.stuffing = Some(Stuffing { bytes: 1316, of: 41 * 1316 });
    assert!((rate(&flow.log) - 1e6 * 41.0 / 40.0).abs() < 1e-3);
    // With the last frame's bytes as the last ones, no interval is added.
    flow.log.stream_reads = flow.log.stream_reads.to_vec().into_iter().take(31).collect();
    assert!((rate(&flow.log) - 1e6 * 31.0 / 30.0).abs() < 1e-3);
    flow.log.stuffing = None;
    assert!((rate(&flow.log) - 31.0 * 1316.0 * 8.0 / (0.315_84 + 0.04)).abs() < 1e-3);
}

#[test]
fn a_movie_of_one_frame_or_none_is_summed_up() {
    let mut flow = StreamFlow::new(movie(&[100]));
    flow.write(0);
    flow.read(100, ms(3));
    let one = summary(&flow.log, LIVE);
    assert_eq!((one.frames, one.fates.unwrap().shown, one.movie_bitrate_bps), (Some(1), 1, None));
    assert_eq!((one.duration_s, one.frame_throughput_bps, one.jitter_ms), (Some(0.0), None, None));
    assert_eq!(one.latency_ms, Some([3.0; 4]));
    let none = summary(&StreamFlow::new(vec![]).log, LIVE);
    assert_eq!((none.frames, none.duration_s), (Some(0), None));
}

#[test]
fn a_connection_is_summed_up_by_its_samples() {
    let sample = |srtt: u64, retransmissions| FlowSample {
        srtt: Some(Duration::from_millis(srtt)),
        retransmissions: Some(retransmissions),
        timeouts: Some(retransmissions / 3),
        ..FlowSample::default()
    };
    fn connection<const N: usize>(samples: [FlowSample; N]) -> Connection {
        let kept: Samples = samples.iter().cloned().collect();
        let mut summed = Samples::summed_only();
        summed.extend(samples);
        assert_eq!((kept.len(), summed.len()), (N, 0));
        assert_eq!(kept.connection(), summed.connection());
        summed.connection()
    }
    // Zero is "not yet measured"; counters run from the start.
    let summed_up = connection([sample(0, 0), sample(20, 2), sample(40, 7)]);
    assert_eq!(summed_up, Connection { retransmissions: Some(7), timeouts: Some(2), srtt_mean_ms: Some(30.0) });
    let untold = FlowSample { timeouts: None, ..sample(20, 1) };
    assert_eq!(connection([untold]).timeouts, None);
    assert_eq!(connection([FlowSample::default()]), Connection::default());
}
