//! Whole transfers through a pipe: the link is filled, losses are repaired in the way that is meant for them, and
//! windows do not grow on what was not tried.

use crate::common;
use common::{Fate, Lane, Pipe};
use framewire_tcp::congestion::{Algorithm, State};
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

pub const MSS: u64 = 1448;

pub fn config(algorithm: Algorithm) -> TcpConfig {
    TcpConfig { congestion: algorithm, ..TcpConfig::default() }
}

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn seconds(seconds: u64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

/// Drops the packets of the forward direction whose first transmission carries one of these packet numbers.
fn drop_data(lane: &mut Lane, packets: &'static [u64]) {
    lane.script = Box::new(move |_, segment: &Segment| {
        let number = (segment.sequence.max(1) - 1) / MSS;
        let hit = segment.payload > 0 && !segment.retransmission && packets.contains(&number);
        if hit { Fate::Drop } else { Fate::Pass }
    });
}

#[test]
fn bulk_fills_the_link_and_no_more() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let mut pipe = Pipe::path(&config(algorithm), Bitrate::from_mbps(10), 100, millis(40)).bulk(u64::MAX / 4);
        pipe.run(seconds(20));
        let goodput = pipe.applications[1].read as f64 * 8.0 / 20.0;
        let ceiling = 10e6 * 1448.0 / 1500.0;
        assert!(goodput > 0.96 * ceiling && goodput <= ceiling, "{algorithm}: {goodput:.0} of {ceiling:.0} bit/s");
        assert_eq!(pipe.ends[0].info().timeouts, 0, "{algorithm}");
    }
}

#[test]
fn a_short_transfer_takes_the_round_trips_of_slow_start() {
    // 100 packets from a window of 10: 10, 20, 40, 30: three round trips until the last flight, and one until it is
    // acknowledged; one for the handshake.
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(1000), 1000, millis(100)).bulk(100 * MSS);
    let done = pipe.run_until_done(seconds(10));
    assert!(done >= Timestamp::from_millis(500) && done < Timestamp::from_millis(520), "{done}");
    assert_eq!(pipe.applications[1].read, 100 * MSS);
    assert_eq!(pipe.ends[0].info().retransmissions, 0);
}

#[test]
fn a_single_loss_is_repaired_by_one_retransmission() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(200 * MSS);
    drop_data(&mut pipe.lanes[0], &[40]);
    pipe.run_until_done(seconds(20));
    let info = pipe.ends[0].info();
    assert_eq!((info.retransmissions, info.recoveries, info.timeouts, info.loss_probes), (1, 1, 0, 0));
    assert_eq!((info.lost, info.undone), (1, 0));
    assert_eq!(pipe.applications[1].read, 200 * MSS);
}

#[test]
fn many_losses_of_one_flight_are_one_recovery() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(400 * MSS);
    drop_data(&mut pipe.lanes[0], &[70, 72, 73, 80, 90]);
    pipe.run_until_done(seconds(20));
    let info = pipe.ends[0].info();
    assert_eq!((info.retransmissions, info.recoveries, info.timeouts), (5, 1, 0));
    assert_eq!(pipe.applications[1].read, 400 * MSS);
}

#[test]
fn recovery_ends_with_the_window_at_half() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(100), 1000, millis(100)).bulk(2000 * MSS);
    drop_data(&mut pipe.lanes[0], &[100]);
    let (mut before, mut after) = (0, 0);
    while !pipe.ends[0].is_done() && pipe.now < seconds(5) {
        let next = pipe.now + millis(1);
        pipe.run(next);
        let info = pipe.ends[0].info();
        match (info.recoveries, info.state) {
            (0, _) => before = info.cwnd,
            (1, State::Open) if after == 0 => after = info.cwnd,
            _ => {}
        }
    }
    // The window of the last look before recovery may miss the last acknowledgements of its flight.
    assert!(after.abs_diff(before / 2) <= 3, "from {before} to {after}");
}

#[test]
fn a_lost_tail_is_found_by_a_probe() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100));
    pipe.applications[0].to_write = 30 * MSS;
    drop_data(&mut pipe.lanes[0], &[29]);
    pipe.run(Timestamp::from_millis(900));
    assert_eq!(pipe.applications[1].read, 30 * MSS);
    let info = pipe.ends[0].info();
    assert_eq!((info.loss_probes, info.timeouts, info.retransmissions), (1, 0, 1));
    assert_eq!(info.ssthresh, None, "the probe may have been needless");
    // Once more is acknowledged, and no duplicate was reported, it was a loss: the window is halved for it.
    pipe.applications[0].to_write = MSS;
    pipe.run(Timestamp::from_millis(1100));
    assert_eq!(pipe.ends[0].info().ssthresh, Some(info.cwnd / 2));
}

#[test]
fn a_longer_lost_tail_is_a_probe_and_then_recovery() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(30 * MSS);
    drop_data(&mut pipe.lanes[0], &[25, 26, 27, 28, 29]);
    pipe.run_until_done(seconds(20));
    let info = pipe.ends[0].info();
    assert_eq!((info.loss_probes, info.timeouts, info.recoveries), (1, 0, 1));
    assert_eq!(info.retransmissions, 5);
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(400 * MSS);
    let mut drops = 0;
    pipe.lanes[0].script = Box::new(move |_, segment| {
        let hit = segment.sequence == 1 + 60 * MSS && drops < 2;
        drops += u64::from(hit);
        if hit { Fate::Drop } else { Fate::Pass }
    });
    pipe.run_until_done(seconds(20));
    let info = pipe.ends[0].info();
    assert_eq!((info.retransmissions, info.timeouts), (2, 0));
    assert_eq!(info.lost, 2);
}

#[test]
fn silence_backs_the_timeout_off() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(100 * MSS);
    let (from, to) = (Timestamp::from_millis(250), seconds(15));
    pipe.lanes[0].log = Some(Vec::new());
    pipe.lanes[0].script =
        Box::new(move |_, segment| if segment.sent > from && segment.sent < to { Fate::Drop } else { Fate::Pass });
    let done = pipe.run_until_done(seconds(40));
    assert_eq!(pipe.applications[1].read, 100 * MSS);
    assert!(done < seconds(30), "{done}");
    // After the probe, each repetition takes twice as long as the one before, to the grain of the timer.
    let log = pipe.lanes[0].log.iter().flatten();
    let repeated: Vec<_> = log.filter(|(at, s)| s.retransmission && *at < to).map(|&(at, _)| at).collect();
    let gaps: Vec<f64> = repeated.windows(2).map(|pair| pair[1].saturating_since(pair[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 4, "{gaps:?}");
    for pair in gaps.windows(2) {
        assert!((1.75..2.25).contains(&(pair[1] / pair[0])), "{gaps:?}");
    }
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    // The path stalls for 0.6 s, and then delivers everything.
    let mut pipe =
        Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), usize::MAX, millis(40)).bulk(1000 * MSS);
    let (from, to) = (Timestamp::from_millis(200), Timestamp::from_millis(800));
    pipe.lanes[0].script =
        Box::new(
            move |_, segment| {
                if segment.sent >= from && segment.sent < to { Fate::NotBefore(to) } else { Fate::Pass }
            },
        );
    pipe.run(from);
    let before = pipe.ends[0].info();
    pipe.run(to);
    assert!(pipe.ends[0].info().timeouts >= 1);
    assert_eq!(pipe.ends[0].info().state, State::Loss);
    pipe.run(to + millis(60));
    let after = pipe.ends[0].info();
    assert_eq!((after.state, after.undone), (State::Open, 1));
    assert!(after.cwnd >= before.cwnd && after.ssthresh == before.ssthresh, "{after:?}");
    assert!(after.retransmissions <= 3, "{}", after.retransmissions);
}

#[test]
fn a_reduction_is_spread_over_the_round_trip() {
    // RFC 6937: about one packet leaves for every two that arrive, instead of none at all for half a window.
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(2000 * MSS);
    drop_data(&mut pipe.lanes[0], &[300]);
    pipe.lanes[0].log = Some(Vec::new());
    pipe.run(seconds(3));
    let log = pipe.lanes[0].log.take().expect("it was asked for");
    let begin = log.iter().find(|(_, segment)| segment.retransmission).expect("the loss is repaired").0;
    let sent: Vec<Timestamp> =
        log.iter().map(|&(at, _)| at).filter(|&at| at >= begin && at < begin + millis(80)).collect();
    let longest = sent.windows(2).map(|pair| pair[1].saturating_since(pair[0])).max().expect("several were sent");
    assert!(longest < millis(10), "silent for {} ms", longest.as_millis());
    // Two packets arrive in 2.4 ms: 33 times in these 80 ms.
    assert!((25..=42).contains(&sent.len()), "{} packets", sent.len());
}

#[test]
fn acknowledgements_tell_of_three_islands() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 1000, millis(100)).bulk(400 * MSS);
    drop_data(&mut pipe.lanes[0], &[70, 72, 75, 80, 90]);
    pipe.lanes[1].log = Some(Vec::new());
    pipe.run_until_done(seconds(20));
    let log = pipe.lanes[1].log.take().expect("it was asked for");
    // RFC 2018, section 3: three beside timestamps, the most recent first.
    assert_eq!(log.iter().map(|(_, segment)| segment.sack.as_slice().len()).max(), Some(3));
    let number = |sequence: u64| (sequence - 1) / MSS;
    let full = log.iter().map(|(_, segment)| segment.sack.as_slice()).find(|blocks| blocks.len() == 3);
    let starts: Vec<u64> = full.expect("seen above").iter().map(|block| number(block.start)).collect();
    assert_eq!(starts, [76, 73, 71]);
}

#[test]
fn a_spurious_timeout_is_noticed_without_timestamps() {
    // Only F-RTO (RFC 5682) can detect it then: the first acknowledgements after the timeout are of what was not sent
    // again.
    let config = TcpConfig { timestamps: false, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), usize::MAX, millis(40)).bulk(1000 * 1460);
    let (from, to) = (Timestamp::from_millis(200), Timestamp::from_millis(800));
    pipe.lanes[0].script =
        Box::new(
            move |_, segment| {
                if segment.sent >= from && segment.sent < to { Fate::NotBefore(to) } else { Fate::Pass }
            },
        );
    pipe.run(to + millis(100));
    let info = pipe.ends[0].info();
    assert!(info.timeouts >= 1);
    assert_eq!((info.state, info.undone), (State::Open, 1));
    assert!(info.retransmissions <= 3, "{}", info.retransmissions);
}

#[test]
fn reordering_is_learned_and_its_reductions_taken_back() {
    let mut pipe =
        Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), usize::MAX, millis(100)).bulk(3000 * MSS);
    pipe.lanes[0].script = Box::new(|number, _| if number % 50 == 49 { Fate::Late(millis(12)) } else { Fate::Pass });
    pipe.run_until_done(seconds(60));
    let info = pipe.ends[0].info();
    assert_eq!(pipe.lanes[0].dropped, 0);
    assert_eq!(info.timeouts, 0);
    assert!(info.retransmissions < 12, "{} needless retransmissions", info.retransmissions);
    assert_eq!(pipe.applications[1].read, 3000 * MSS);
}

#[test]
fn a_window_that_the_application_does_not_fill_does_not_grow() {
    // 1.2 Mbit/s over a path of 100 Mbit/s and 100 ms: 10 packets per round trip.
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(100), 1000, millis(100));
    pipe.applications[0].to_write = u64::MAX / 4;
    pipe.applications[0].pace = Some((millis(10), MSS));
    pipe.run(seconds(20));
    let info = pipe.ends[0].info();
    assert!((10..=24).contains(&info.cwnd), "{}", info.cwnd);
    assert_eq!(info.retransmissions, 0);
}

#[test]
fn idling_restarts_from_the_initial_window() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(100), 1000, millis(100));
    pipe.applications[0].to_write = 2000 * MSS;
    pipe.run(seconds(5));
    assert_eq!(pipe.applications[1].read, 2000 * MSS);
    assert!(pipe.ends[0].info().cwnd > 100);
    pipe.run(seconds(30));
    pipe.applications[0].to_write = MSS;
    let now = pipe.now;
    pipe.run(now);
    assert_eq!(pipe.ends[0].info().cwnd, 10);
}

#[test]
fn a_closed_window_is_probed_and_opens_again() {
    let config = TcpConfig { receive_buffer: Some(DataSize::from_bytes(65_536)), ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 1000, millis(20)).bulk(300 * MSS);
    pipe.applications[1].reads_from = seconds(5);
    pipe.run(seconds(4));
    assert!(pipe.applications[0].to_write > 0 || pipe.ends[0].queued() > DataSize::ZERO);
    pipe.run_until_done(seconds(60));
    assert_eq!(pipe.applications[1].read, 300 * MSS);
    assert!(pipe.ends[0].is_done());
}

#[test]
fn both_sides_end_their_streams() {
    let mut pipe = Pipe::path(&config(Algorithm::Cubic), Bitrate::from_mbps(10), 100, millis(20)).bulk(50 * MSS);
    pipe.applications[1].to_write = 70 * MSS;
    pipe.applications[1].finishes = true;
    pipe.run(seconds(10));
    for end in 0..2 {
        assert!(pipe.ends[end].is_done() && pipe.ends[end].has_ended(), "end {end}");
        assert_eq!(pipe.ends[end].next_timeout(), None, "end {end}");
    }
    assert_eq!((pipe.applications[0].read, pipe.applications[1].read), (70 * MSS, 50 * MSS));
}

#[test]
fn small_writes_wait_for_each_other_unless_told_not_to() {
    let packets = |no_delay| {
        let config = TcpConfig { no_delay, ..config(Algorithm::Reno) };
        let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 100, millis(100));
        pipe.applications[0].to_write = 100 * 100;
        pipe.applications[0].pace = Some((millis(20), 100));
        pipe.run(seconds(5));
        assert_eq!(pipe.applications[1].read, 100 * 100);
        pipe.ends[0].info().sent
    };
    assert_eq!(packets(true), 100);
    let nagle = packets(false);
    assert!((15..=22).contains(&nagle), "one packet per round trip, not {nagle}");
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second() {
    let mut pipe = Pipe::path(&config(Algorithm::Reno), Bitrate::from_mbps(10), 100, millis(100)).bulk(MSS);
    pipe.lanes[0].script = Box::new(|number, _| if number == 0 { Fate::Drop } else { Fate::Pass });
    pipe.run(Timestamp::from_millis(990));
    assert!(!pipe.ends[0].is_established());
    pipe.run(Timestamp::from_millis(1160));
    assert!(pipe.ends[0].is_established());
    pipe.run_until_done(seconds(10));
    assert_eq!(pipe.applications[1].read, MSS);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let config = TcpConfig { max_retries: 5, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 100, millis(100)).bulk(1000 * MSS);
    pipe.lanes[0].script = Box::new(|_, s| if s.sent > Timestamp::from_millis(400) { Fate::Drop } else { Fate::Pass });
    pipe.run(seconds(600));
    assert!(pipe.ends[0].has_failed());
    assert!(pipe.ends[0].next_timeout().is_none());

    let mut silent = Pipe::path(&config, Bitrate::from_mbps(10), 100, millis(100));
    silent.lanes[0].script = Box::new(|_, _| Fate::Drop);
    silent.run(seconds(600));
    assert!(silent.ends[0].has_failed() && silent.ends[0].next_timeout().is_none());
}

#[test]
fn without_selective_acknowledgements_new_reno_repairs() {
    let config = TcpConfig { sack: false, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 1000, millis(100)).bulk(400 * MSS);
    drop_data(&mut pipe.lanes[0], &[70, 75]);
    pipe.run_until_done(seconds(20));
    let info = pipe.ends[0].info();
    assert_eq!((info.recoveries, info.timeouts, info.retransmissions), (1, 0, 2));
    assert_eq!(pipe.applications[1].read, 400 * MSS);
}

#[test]
fn a_local_device_is_kept_short_and_busy() {
    let mut pipe = Pipe::path(&config(Algorithm::Cubic), Bitrate::from_mbps(10), 1000, millis(40)).bulk(u64::MAX / 4);
    pipe.lanes[0].is_local = true;
    pipe.run(seconds(20));
    let goodput = pipe.applications[1].read as f64 * 8.0 / 20.0;
    let ceiling = 10e6 * 1448.0 / 1500.0;
    assert!(goodput > 0.98 * ceiling && goodput <= ceiling, "{goodput:.0} of {ceiling:.0} bit/s");
    // Two bursts of two packets, and one more on the way.
    assert!((2..=6).contains(&pipe.lanes[0].longest), "{}", pipe.lanes[0].longest);
    let info = pipe.ends[0].info();
    assert_eq!(info.retransmissions, 0);
    assert!(info.srtt < millis(60), "{:?}", info.srtt);
}

#[test]
fn a_near_peer_gets_larger_bursts_where_the_device_takes_them() {
    // Linux 6.18 over a veth pair behind tbf at 10 Mbit/s: two bursts of 45 packets; 84 to 101 packets in the device
    // and 92 to 109 ms of round-trip time where tbf takes the bursts apart.
    let rtt = Duration::from_micros(100);
    let config = TcpConfig { offload_packets: u32::MAX, ..config(Algorithm::Cubic) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 1000, rtt).bulk(u64::MAX / 4);
    pipe.lanes[0].is_local = true;
    pipe.run(seconds(10));
    assert!((84..=105).contains(&pipe.lanes[0].longest), "{}", pipe.lanes[0].longest);
    let srtt = pipe.ends[0].info().srtt;
    assert!(srtt > millis(90) && srtt < millis(120), "{srtt:?}");
}

#[test]
fn what_only_one_side_offers_is_not_used() {
    let plain = TcpConfig { timestamps: false, sack: false, window_scaling: false, ..config(Algorithm::Reno) };
    for (client, server) in [(plain.clone(), config(Algorithm::Reno)), (config(Algorithm::Reno), plain.clone())] {
        let lane = || Lane::new(Some(Bitrate::from_mbps(10)), 100, millis(20));
        let mut pipe = Pipe::between(&client, &server, lane(), lane()).bulk(500 * MSS);
        for lane in &mut pipe.lanes {
            lane.log = Some(Vec::new());
            lane.script = Box::new(|number, _| if number % 40 == 39 { Fate::Drop } else { Fate::Pass });
        }
        pipe.run_until_done(seconds(60));
        assert_eq!(pipe.applications[1].read, 500 * MSS);
        for (_, segment) in pipe.lanes.iter().flat_map(|lane| lane.log.iter().flatten()) {
            assert!(segment.sack.is_empty() && segment.window <= 65_535);
            assert!(segment.flags.syn || segment.timestamps.is_none());
        }
        assert_eq!(pipe.ends[0].info().maximum_segment, 1460);
    }
}

#[test]
fn newreno_is_reno_while_the_window_is_full_and_halves_what_is_in_flight_where_it_is_not() {
    // One loss in each of 20 frames of 8 packets a second, where nothing fills the window; and in a bulk transfer.
    let run = |algorithm, pace: Option<(Duration, u64)>| {
        let mut pipe = Pipe::path(&config(algorithm), Bitrate::from_mbps(50), 500, millis(40));
        pipe.applications[0].to_write = 4000 * MSS;
        pipe.applications[0].pace = pace;
        pipe.lanes[0].script = Box::new(|number, _| if number % 400 == 399 { Fate::Drop } else { Fate::Pass });
        pipe.run(seconds(20));
        (pipe.applications[1].read, pipe.ends[0].info().ssthresh)
    };
    let [reno, newreno] = [Algorithm::Reno, Algorithm::NewReno].map(|algorithm| run(algorithm, None));
    assert_eq!(reno.0, newreno.0);
    let paced = Some((millis(50), 8 * MSS));
    let [reno, newreno] = [Algorithm::Reno, Algorithm::NewReno].map(|algorithm| run(algorithm, paced).1.unwrap());
    assert!(newreno <= 4 && reno > newreno, "half of 8 in flight; half the window: {newreno}, {reno}");
}
