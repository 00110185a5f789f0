//! Explicit congestion notification: who asks and grants, what is marked and echoed, and what algorithms make of it.

use framewire_tcp::congestion::Algorithm;
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{Bitrate, Ecn, Probability, Seed};

use crate::common::{Fate, Lane, Pipe};
use crate::transfer::{MSS, config, millis, seconds};

#[test]
fn ecn_is_offered_granted_and_used() {
    let config = TcpConfig { ecn: true, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(100), 1000, millis(100)).bulk(3000 * MSS);
    pipe.lanes[0].log = Some(Vec::new());
    pipe.lanes[0].mark = Some(1 + 200 * MSS);
    pipe.run_until_done(seconds(20));
    let log = pipe.lanes[0].log.take().unwrap();
    let data: Vec<&Segment> = log.iter().map(|(_, segment)| segment).filter(|segment| segment.payload > 0).collect();
    assert!(data.iter().all(|segment| segment.ecn == Ecn::Ect0));
    assert_eq!(data.iter().filter(|segment| segment.flags.cwr).count(), 1, "one mark, one reduction");
    let info = pipe.ends[0].info();
    assert_eq!((info.retransmissions, info.recoveries), (0, 0));
    assert!(info.ssthresh.is_some_and(|ssthresh| ssthresh > 50), "{:?}", info.ssthresh);
}

#[test]
fn a_server_grants_ecn_that_it_would_not_ask_for() {
    for (client, expected) in [(true, Ecn::Ect0), (false, Ecn::NotEct)] {
        let client = TcpConfig { ecn: client, ..config(Algorithm::Reno) };
        let server = config(Algorithm::Reno);
        let (forward, back) = (Lane::new(None, 100, millis(5)), Lane::new(None, 100, millis(5)));
        let mut pipe = Pipe::between(&client, &server, forward, back).bulk(10 * MSS);
        pipe.lanes[0].log = Some(Vec::new());
        pipe.run(seconds(2));
        let log = pipe.lanes[0].log.take().unwrap();
        assert!(log.iter().filter(|(_, segment)| segment.payload > 0).all(|(_, segment)| segment.ecn == expected));
    }
}

#[test]
fn a_syn_that_was_lost_asks_no_more() {
    // RFC 3168, section 6.1.1.1.
    let config = TcpConfig { ecn: true, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 100, millis(20)).bulk(10 * MSS);
    pipe.lanes[0].script = Box::new(|number, _| if number == 0 { Fate::Drop } else { Fate::Pass });
    pipe.lanes[0].log = Some(Vec::new());
    pipe.run(seconds(5));
    let log = pipe.lanes[0].log.take().unwrap();
    let syns: Vec<_> = log.iter().filter(|(_, segment)| segment.flags.syn).map(|(_, segment)| segment.flags).collect();
    assert_eq!(syns.iter().map(|flags| (flags.ece, flags.cwr)).collect::<Vec<_>>(), [(true, true), (false, false)]);
    assert!(log.iter().all(|(_, segment)| segment.ecn == Ecn::NotEct));
    assert_eq!(pipe.applications[1].read, 10 * MSS);
}

#[test]
fn classic_ecn_leaves_acknowledgements_and_retransmissions_alone() {
    // RFC 3168, sections 6.1.4 and 6.1.5.
    let config = TcpConfig { ecn: true, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&config, Bitrate::from_mbps(10), 10, millis(40)).bulk(1000 * MSS);
    pipe.lanes.iter_mut().for_each(|lane| lane.log = Some(Vec::new()));
    pipe.run_until_done(seconds(20));
    let [there, back] = [0, 1].map(|lane| pipe.lanes[lane].log.take().unwrap());
    let resent = there.iter().filter(|(_, segment)| segment.retransmission && segment.payload > 0);
    assert!(resent.clone().count() > 5 && resent.clone().all(|(_, segment)| segment.ecn == Ecn::NotEct));
    let new = there.iter().filter(|(_, segment)| !segment.retransmission && segment.payload > 0);
    assert!(new.clone().count() == 1000 && new.clone().all(|(_, segment)| segment.ecn == Ecn::Ect0));
    assert!(back.iter().all(|(_, segment)| segment.ecn == Ecn::NotEct));
}

#[test]
fn dctcp_asks_by_itself_and_makes_every_packet_capable() {
    let mut pipe = Pipe::path(&config(Algorithm::Dctcp), Bitrate::from_mbps(10), 30, millis(40)).bulk(1000 * MSS);
    pipe.lanes.iter_mut().for_each(|lane| lane.log = Some(Vec::new()));
    pipe.run_until_done(seconds(20));
    let mut logs = pipe.lanes.iter_mut().flat_map(|lane| lane.log.take().unwrap());
    assert!(logs.all(|(_, segment)| segment.ecn == Ecn::Ect0), "Linux: TCP_CONG_NEEDS_ECN");
}

#[test]
fn without_a_peer_that_has_it_dctcp_is_reno() {
    let run = |algorithm| {
        let (client, server) = (config(algorithm), config(Algorithm::Cubic));
        let forward = Lane::new(Some(Bitrate::from_mbps(10)), 50, millis(20));
        let mut pipe = Pipe::between(&client, &server, forward, Lane::new(None, 1000, millis(20))).bulk(5000 * MSS);
        pipe.lanes[0].log = Some(Vec::new());
        pipe.lanes[0].mark_above = Some(5);
        let end = pipe.run_until_done(seconds(60));
        let log = pipe.lanes[0].log.take().unwrap();
        let data = log.iter().filter(|(_, segment)| !segment.flags.syn);
        assert!(data.clone().all(|(_, segment)| segment.ecn == Ecn::NotEct));
        (end, pipe.ends[0].info().retransmissions, pipe.ends[0].info().recoveries)
    };
    let found = run(Algorithm::Dctcp);
    assert!(found.1 > 20, "{found:?}");
    assert_eq!(found, run(Algorithm::Reno));
}

#[test]
fn the_exact_echo_tells_every_marked_byte() {
    // RFC 8257, section 3.2: runs of marked packets of all lengths, and acknowledgements for every second packet.
    let mut pipe = Pipe::path(&config(Algorithm::Dctcp), Bitrate::from_mbps(20), 1000, millis(40)).bulk(4000 * MSS);
    let mut stream = Seed(7).stream("marks", &[]);
    let mut is_marking = false;
    pipe.lanes[0].marker = Some(Box::new(move |_| {
        if stream.chance(Probability::new(0.3).unwrap()) {
            is_marking = !is_marking;
        }
        is_marking
    }));
    pipe.lanes[1].log = Some(Vec::new());
    pipe.run_until_done(seconds(60));
    let acknowledgements = pipe.lanes[1].log.take().unwrap();
    let (mut acknowledged, mut told, mut pure) = (1, 0, 0);
    for (_, segment) in acknowledgements.iter().filter(|(_, segment)| !segment.flags.syn) {
        let newly = segment.acknowledgement.saturating_sub(acknowledged);
        acknowledged += newly;
        told += if segment.flags.ece { newly } else { 0 };
        pure += 1;
    }
    // The end of the stream has a number of its own.
    let marked = pipe.lanes[0].marked * MSS;
    assert!(marked > 1000 * MSS && told.abs_diff(marked) <= 1, "{told} bytes of {marked}");
    assert!(pure < 3700, "delayed acknowledgements stay delayed: {pure}");
}

#[test]
fn dctcp_keeps_the_queue_at_the_marking_threshold() {
    // Alizadeh et al. 2010, section 3.3: one flow's queue reaches K + N packets and swings by
    // 1/2 sqrt(2 N (C RTT + K)); C RTT = 83 packets of 1,500 bytes, K = 30: 7.5 packets.
    let mut pipe = Pipe::path(&config(Algorithm::Dctcp), Bitrate::from_mbps(50), 1000, millis(20)).bulk(u64::MAX / 4);
    pipe.lanes[0].mark_above = Some(30);
    pipe.run(seconds(4));
    let (read, before) = (pipe.applications[1].read, pipe.ends[0].info());
    pipe.lanes[0].longest = 0;
    pipe.run(seconds(12));
    assert!((29..=36).contains(&pipe.lanes[0].longest), "{}", pipe.lanes[0].longest);
    let info = pipe.ends[0].info();
    assert_eq!(info.retransmissions, before.retransmissions);
    let goodput = (pipe.applications[1].read - read) as f64;
    let payload = 50e6 * MSS as f64 / (MSS + 52) as f64;
    assert!((0.985..=1.001).contains(&(goodput / payload)), "the queue never runs empty: {}", goodput / payload);
    // A halving sender with the same marks lets it run empty: 113 packets to 56, of which 83 would fill the path; and to
    // 28 where the queue is still that long behind the packet that says CWR.
    let reno = TcpConfig { ecn: true, ..config(Algorithm::Reno) };
    let mut pipe = Pipe::path(&reno, Bitrate::from_mbps(50), 1000, millis(20)).bulk(u64::MAX / 4);
    pipe.lanes[0].mark_above = Some(30);
    pipe.run(seconds(4));
    let read = pipe.applications[1].read;
    pipe.run(seconds(12));
    let share = (pipe.applications[1].read - read) as f64 / payload;
    assert!((0.7..0.9).contains(&share), "{share}");
}

#[test]
fn dctcp_has_a_window_of_two_over_the_share_of_marks() {
    // RFC 9332, appendix: in each round trip one packet more, and W p / 2 less: W = 2 / p.
    for probability in [0.2, 0.1, 0.05] {
        let mut pipe = Pipe::path(&config(Algorithm::Dctcp), Bitrate::from_mbps(1000), 10_000, millis(20));
        pipe = pipe.bulk(u64::MAX / 4);
        let mut stream = Seed(11).stream("marks", &[]);
        let share = Probability::new(probability).unwrap();
        pipe.lanes[0].marker = Some(Box::new(move |_| stream.chance(share)));
        pipe.run(seconds(10));
        let read = pipe.applications[1].read;
        pipe.run(seconds(70));
        let window = (pipe.applications[1].read - read) as f64 / MSS as f64 / (60.0 / 0.02);
        let found = window * probability / 2.0;
        assert!((0.75..1.25).contains(&found), "{window} packets at {probability}");
    }
}

#[test]
fn prague_asks_for_accurate_feedback_and_every_mark_is_counted() {
    let mut pipe = Pipe::path(&config(Algorithm::Prague), Bitrate::from_mbps(20), 1000, millis(40)).bulk(4000 * MSS);
    let mut stream = Seed(7).stream("marks", &[]);
    let share = Probability::new(0.3).unwrap();
    pipe.lanes[0].marker = Some(Box::new(move |_| stream.chance(share)));
    pipe.lanes.iter_mut().for_each(|lane| lane.log = Some(Vec::new()));
    pipe.run_until_done(seconds(120));
    let [there, back] = [0, 1].map(|lane| pipe.lanes[lane].log.take().unwrap());
    // RFC 9768, section 3.1.1: AE, CWR and ECE ask; the answer says that the SYN came with ECT(1).
    let bits = |segment: &Segment| [segment.flags.ae, segment.flags.cwr, segment.flags.ece];
    assert_eq!((bits(&there[0].1), bits(&back[0].1)), ([true; 3], [false, true, true]));
    assert!(there.iter().chain(&back).all(|(_, segment)| segment.ecn == Ecn::Ect1));
    let (marked, told) = (pipe.lanes[0].marked, pipe.ends[0].info().delivered_ce);
    assert!(marked > 1000 && told == marked, "{told} of {marked}");
    assert!(back.len() < 3500, "delayed acknowledgements stay delayed: {}", back.len());
}

#[test]
fn accurate_feedback_survives_lost_and_late_acknowledgements() {
    let mut pipe = Pipe::path(&config(Algorithm::Prague), Bitrate::from_mbps(20), 1000, millis(40)).bulk(4000 * MSS);
    let mut stream = Seed(7).stream("marks", &[]);
    let share = Probability::new(0.1).unwrap();
    pipe.lanes[0].marker = Some(Box::new(move |_| stream.chance(share)));
    pipe.lanes[1].script = Box::new(|number, _| match number {
        0..10 => Fate::Pass,
        number if number % 3 == 0 => Fate::Drop,
        number if number % 7 == 0 => Fate::Late(millis(3)),
        _ => Fate::Pass,
    });
    pipe.run_until_done(seconds(120));
    let (marked, told) = (pipe.lanes[0].marked, pipe.ends[0].info().delivered_ce);
    // Of more than seven packets at once the most that may be marked counts.
    assert!(told >= marked && told < marked * 3, "{told} of {marked}");
}

#[test]
fn with_a_peer_of_classic_ecn_prague_is_reno() {
    let run = |client: &TcpConfig| {
        let forward = Lane::new(Some(Bitrate::from_mbps(10)), 50, millis(20));
        let server = config(Algorithm::Cubic);
        let mut pipe = Pipe::between(client, &server, forward, Lane::new(None, 1000, millis(20))).bulk(3000 * MSS);
        pipe.lanes[0].log = Some(Vec::new());
        pipe.lanes[0].mark_above = Some(20);
        let end = pipe.run_until_done(seconds(60));
        let log = pipe.lanes[0].log.take().unwrap();
        let is_classic = |segment: &Segment| segment.ecn == Ecn::Ect0 || segment.payload == 0 || segment.retransmission;
        assert!(log.iter().skip(1).all(|(_, segment)| is_classic(segment)), "RFC 9331, section 4.2");
        (end, pipe.lanes[0].marked, pipe.ends[0].info().retransmissions)
    };
    let found = run(&config(Algorithm::Prague));
    assert!(found.1 > 3, "{found:?}");
    assert_eq!(found, run(&TcpConfig { ecn: true, ..config(Algorithm::Reno) }));
}

/// The mean window of Prague over `rtt` milliseconds where so many packets are marked at random, after a while.
fn window_of_prague(rtt: u64, probability: f64, after: u64) -> f64 {
    let mut pipe = Pipe::path(&config(Algorithm::Prague), Bitrate::from_mbps(1000), 10_000, millis(rtt));
    pipe = pipe.bulk(u64::MAX / 4);
    let mut stream = Seed(11).stream("marks", &[]);
    let share = Probability::new(probability).unwrap();
    pipe.lanes[0].marker = Some(Box::new(move |_| stream.chance(share)));
    pipe.run(seconds(after));
    let read = pipe.applications[1].read;
    pipe.run(seconds(after + 60));
    (pipe.applications[1].read - read) as f64 / MSS as f64 / (60e3 / rtt as f64)
}

/// Marked packets per round trip where each costs half the marked part of the window, the window grows by a packet per
/// round trip of which none is marked, and a reduction takes a round trip, after which the next mark has to come: with
/// x = p W, (1 - p) (1 + 1/x) = x/2.
fn marks_per_round(probability: f64) -> f64 {
    let growth = 1.0 - probability;
    growth + (growth * growth + 2.0 * growth).sqrt()
}

#[test]
fn prague_has_the_window_that_its_law_gives() {
    for probability in [0.2, 0.1, 0.05] {
        let wanted = marks_per_round(probability) / probability;
        let found = window_of_prague(40, probability, 30);
        assert!((0.8..1.15).contains(&(found / wanted)), "{found} for {wanted}");
    }
}

#[test]
fn prague_sends_as_fast_over_five_milliseconds_as_over_twenty() {
    // After 500 rounds round trips below 25 ms behave as that: the rate is that of 25 ms, the window in proportion.
    let rate = |rtt: u64| window_of_prague(rtt, 0.05, 30) / rtt as f64;
    let (five, twenty) = (rate(5), rate(20));
    assert!((0.75..1.3).contains(&(five / twenty)), "{five} and {twenty} packets per millisecond");
    // A mark that comes before 25 ms are over begins a round trip in which no other one counts: reductions are a little
    // further apart than the law has them.
    let wanted = marks_per_round(0.05) / 0.05 / 25.0;
    assert!((0.9..1.4).contains(&(twenty / wanted)), "{twenty} for {wanted}");
}

#[test]
fn prague_fills_a_path_whose_queue_marks_at_a_millisecond() {
    // 50 Mbit/s: 1 ms are 4 packets of 1,500 bytes.
    let mut pipe = Pipe::path(&config(Algorithm::Prague), Bitrate::from_mbps(50), 1000, millis(20)).bulk(u64::MAX / 4);
    pipe.lanes[0].mark_above = Some(4);
    pipe.run(seconds(10));
    let read = pipe.applications[1].read;
    pipe.lanes[0].longest = 0;
    pipe.run(seconds(30));
    let share = (pipe.applications[1].read - read) as f64 * 8.0 / 20.0 / (50e6 * MSS as f64 / (MSS + 52) as f64);
    assert!((0.93..=1.001).contains(&share), "{share}");
    assert!((4..=25).contains(&pipe.lanes[0].longest), "{}", pipe.lanes[0].longest);
    assert_eq!(pipe.ends[0].info().retransmissions, 0);
}
