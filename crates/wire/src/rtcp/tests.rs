//! Participants of sessions, told to each other without a network.

use framewire_units::{Bitrate, Duration, Seed, Timestamp};

use super::bandwidth::MINIMUM_INTERVAL;
use super::timer::ReportTimer;
use super::*;
use crate::rtp::RtpHeader;

const MILLISECOND: Duration = Duration::from_millis(1);

/// A participant of a session with 5 % of this bandwidth.
fn participant(ssrc: u32, bandwidth: RtcpBandwidth, seed: u64) -> Participant {
    let settings = Settings { ssrc, name: format!("{ssrc:04}@example.org"), bandwidth, ..Settings::default() };
    Participant::new(settings, Timestamp::ZERO, Seed(seed).stream("rtcp", &[ssrc.into()])).unwrap()
}

fn session(kbps: u64) -> RtcpBandwidth {
    RtcpBandwidth::of_session(Bitrate::from_kbps(kbps))
}

/// What was sent: when, by whom, how many bytes with the headers below, and whether it was a BYE packet.
struct Sent(Timestamp, usize, usize, bool);

/// Runs the participants until the time; what one sends all others have at once.
fn run(members: &mut [Participant], from: Timestamp, until: Timestamp) -> Vec<Sent> {
    let mut sent = Vec::new();
    let mut now = from;
    while let Some(next) = members.iter().filter_map(Participant::next_timeout).min().map(|next| next.max(now)) {
        if next > until {
            break;
        }
        now = next;
        for sender in 0..members.len() {
            while let Some(packet) = members[sender].poll_transmit(now) {
                let is_bye = !Compound::parse(&packet).unwrap().leaving.is_empty();
                sent.push(Sent(now, sender, packet.len() + 28, is_bye));
                for (receiver, member) in members.iter_mut().enumerate() {
                    if receiver != sender {
                        member.handle_rtcp(now, &packet).unwrap();
                    }
                }
            }
        }
    }
    sent
}

fn header(ssrc: u32, number: u32) -> RtpHeader {
    let (sequence_number, timestamp) = (number as u16, number.wrapping_mul(3_600));
    RtpHeader { marker: true, payload_type: 96, sequence_number, timestamp, ssrc }
}

/// A sender and a receiver 25 times a second, one packet each, and RTCP between them after a delay.
fn stream(bandwidth: RtcpBandwidth, delay: Duration, seconds: u64) -> (Vec<Event>, Vec<Event>, [Vec<Timestamp>; 2]) {
    let (mut sender, mut receiver) = (participant(1, bandwidth, 3), participant(2, bandwidth, 3));
    let (mut of_sender, mut of_receiver, mut sent) = (Vec::new(), Vec::new(), [vec![], vec![]]);
    let mut under_way: Vec<(Timestamp, bool, Vec<u8>)> = Vec::new();
    for milli in 0..seconds * 1_000 {
        let now = Timestamp::from_millis(milli);
        if milli % 40 == 0 {
            let header = header(1, (milli / 40) as u32);
            sender.handle_rtp_sent(now, header.timestamp, 500);
            receiver.handle_rtp(now + delay, &header);
        }
        let arrived: Vec<_> = under_way.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, to_receiver, packet) in arrived {
            if to_receiver { &mut receiver } else { &mut sender }.handle_rtcp(now, &packet).unwrap();
        }
        for (index, end) in [&mut sender, &mut receiver].into_iter().enumerate() {
            while let Some(packet) = end.poll_transmit(now) {
                sent[index].push(now);
                under_way.push((now + delay, index == 0, packet));
            }
        }
        of_sender.extend(std::iter::from_fn(|| sender.poll_event()));
        of_receiver.extend(std::iter::from_fn(|| receiver.poll_event()));
    }
    (of_sender, of_receiver, sent)
}

#[test]
fn two_participants_report_every_five_seconds_on_average() {
    let bandwidth = session(4_000);
    let mut members = [participant(1, bandwidth, 1), participant(2, bandwidth, 1)];
    let sent = run(&mut members, Timestamp::ZERO, Timestamp::from_secs(20_000));
    let of_first: Vec<Timestamp> = sent.iter().filter(|sent| sent.1 == 0).map(|sent| sent.0).collect();
    let gaps = of_first.windows(2).map(|pair| pair[1].saturating_since(pair[0]).as_secs_f64());
    let (shortest, longest) = gaps.fold((f64::MAX, 0.0f64), |(low, high), gap| (low.min(gap), high.max(gap)));
    // 0.5 and 1.5 times 5 s / 1.21828; a packet goes when the interval that is drawn anew has passed.
    assert!((2.05..2.3).contains(&shortest) && (6.0..6.157).contains(&longest), "{shortest} {longest}");
    let mean = 20_000.0 / of_first.len() as f64;
    assert!((4.9..5.1).contains(&mean), "the compensation makes it 5 s: {mean}");
    let first = of_first[0].as_secs_f64();
    assert!((1.02..3.08).contains(&first), "half the minimum at first: {first}");
}

#[test]
fn a_session_keeps_to_its_bandwidth_however_many_there_are() {
    for count in [20, 100] {
        let mut members: Vec<_> = (0..count).map(|ssrc| participant(ssrc, session(64), 1)).collect();
        let begin = Timestamp::from_secs(500);
        let sent = run(&mut members, Timestamp::ZERO, Timestamp::from_secs(2_500));
        let bytes: usize = sent.iter().filter(|sent| sent.0 >= begin).map(|sent| sent.2).sum();
        let rate = bytes as f64 * 8.0 / 2_000.0;
        // Nobody sends RTP: the receivers' part, 2,400 bit/s, is all there is. 20 of them need less than that at 5 s.
        let allowed = (f64::from(count) * 64.0 * 8.0 / 5.0).min(2_400.0);
        assert!((0.95 * allowed..1.05 * allowed).contains(&rate), "{count}: {rate} of {allowed} bit/s");
    }
}

#[test]
fn many_that_join_at_once_reconsider() {
    let mut members: Vec<_> = (0..200).map(|ssrc| participant(ssrc, session(64), 1)).collect();
    let sent = run(&mut members, Timestamp::ZERO, Timestamp::from_secs(10)).len();
    // Without reconsideration all 200 would send within 3.1 s. At 2,400 bit/s 47 go in 10 s, and some before others are known.
    assert!((47..100).contains(&sent), "{sent}");
}

#[test]
fn many_that_leave_at_once_take_turns_and_few_do_not() {
    let leave = |count: u32| {
        let mut members: Vec<_> = (0..count).map(|ssrc| participant(ssrc, session(64), 1)).collect();
        let now = Timestamp::from_secs(1_000);
        run(&mut members, Timestamp::ZERO, now);
        members.iter_mut().for_each(|member| member.leave(now));
        let sent = run(&mut members, now, now + Duration::from_secs(1_000));
        assert!(members.iter().all(Participant::has_left) && sent.iter().all(|sent| sent.3));
        assert_eq!(sent.len(), count as usize, "each says it once");
        let within = |seconds| sent.iter().filter(|sent| sent.0 <= now + Duration::from_secs(seconds)).count();
        (within(0), within(10), sent.last().unwrap().0.saturating_since(now).as_secs())
    };
    assert_eq!(leave(50), (50, 50, 0), "up to 50 say it at once");
    let (at_once, soon, last) = leave(120);
    // 120 BYE packets of 72 bytes with headers take 29 s at 2,400 bit/s.
    assert!(at_once == 0 && (10..70).contains(&soon) && (20..60).contains(&last), "{at_once} {soon} {last}");
}

#[test]
fn who_has_sent_nothing_leaves_without_a_word() {
    let mut member = participant(1, session(64), 1);
    member.leave(Timestamp::from_millis(1));
    assert!(member.has_left() && member.poll_transmit(Timestamp::from_secs(9)).is_none());
    let mut sender = participant(1, session(64), 1);
    sender.handle_rtp_sent(Timestamp::ZERO, 0, 1);
    sender.leave(Timestamp::from_millis(1));
    let packet = sender.poll_transmit(Timestamp::from_millis(1)).unwrap();
    assert_eq!(Compound::parse(&packet).unwrap().leaving, [1]);
    assert!(sender.has_left() && sender.poll_transmit(Timestamp::from_secs(9)).is_none());
}

#[test]
fn reports_tell_round_trips_and_what_was_sent() {
    let (of_sender, of_receiver, [from_sender, from_receiver]) = stream(session(4_000), 70 * MILLISECOND, 120);
    for sent in [&from_sender, &from_receiver] {
        assert!((18..=32).contains(&sent.len()), "{} in 120 s", sent.len());
    }
    let mut round_trips = Vec::new();
    for event in &of_sender {
        let Event::Report { from: 2, block, round_trip } = event else { panic!("{event:?}") };
        assert_eq!((block.ssrc, block.lost, block.fraction_lost, block.jitter), (1, 0, 0, 0));
        round_trips.extend(round_trip.map(|time| time.as_secs_f64()));
    }
    assert!(round_trips.len() > 15);
    assert!(round_trips.iter().all(|time| (0.14 - 5e-5..0.14 + 5e-5).contains(time)), "{round_trips:?}");
    for (event, at) in of_receiver.iter().zip(&from_sender) {
        let Event::Sender { from: 1, info } = event else { panic!("{event:?}") };
        let packets = at.as_nanos() / 40_000_000 + 1;
        assert_eq!((u64::from(info.packets), u64::from(info.octets)), (packets, 500 * packets));
        assert_eq!(info.ntp, NtpTime::of(*at));
        assert_eq!(info.rtp_timestamp, crate::rtp::timestamp(at.saturating_since(Timestamp::ZERO), 90_000));
    }
}

/// The sender reports of one that sends these time stamps, a packet every 40 ms, from a second on: when, and what they say.
fn sender_infos(sender: Participant, timestamps: impl Iterator<Item = u32>) -> Vec<(Timestamp, u32)> {
    let mut sender = sender;
    let mut infos = Vec::new();
    for (number, timestamp) in (0..).zip(timestamps) {
        let now = Timestamp::from_secs(1) + 40 * number * MILLISECOND;
        sender.handle_rtp_sent(now, timestamp, 500);
        while let Some(packet) = sender.poll_transmit(now) {
            let info = Compound::parse(&packet).unwrap().reports[0].sender;
            infos.extend(info.map(|info| (now, info.rtp_timestamp)));
        }
    }
    assert!(infos.len() > 20, "{}", infos.len());
    infos
}

#[test]
fn reports_relate_time_stamps_to_the_clock_in_one_way_whatever_order_pictures_are_sent_in() {
    // I B B P B B: a group of three is sent as the last of it and the two before.
    let in_coding_order =
        |count: u32| (0..count).map(|number| (number / 3 * 3 + [2, 0, 1][number as usize % 3]) * 3_600);
    let start = Timestamp::from_secs(1);
    let expected =
        |at: Timestamp, first: u32| first.wrapping_add(crate::rtp::timestamp(at.saturating_since(start), 90_000));

    let mut of_media = participant(1, session(4_000), 3);
    of_media.handle_media_clock(start, u32::MAX - 100);
    for (at, timestamp) in sender_infos(of_media, in_coding_order(3_000)) {
        assert_eq!(timestamp, expected(at, u32::MAX - 100));
    }
    for (at, timestamp) in sender_infos(participant(1, session(4_000), 3), in_coding_order(3_000)) {
        assert_eq!(timestamp, expected(at, 7_200), "from its first packet");
    }
    // A clock that is read in what is to come.
    let mut later = participant(1, session(4_000), 3);
    later.handle_media_clock(start + 1_000_000 * MILLISECOND, 5);
    for (at, timestamp) in sender_infos(later, in_coding_order(3_000)) {
        assert_eq!(timestamp, expected(at, 5u32.wrapping_sub(90_000_000)));
    }
}

#[test]
fn receivers_without_bandwidth_are_silent_and_without_any_all_are() {
    let only_senders = RtcpBandwidth::described(Bitrate::from_mbps(4), None, Some(0));
    let (of_sender, of_receiver, [from_sender, from_receiver]) = stream(only_senders, MILLISECOND, 120);
    assert!(of_sender.is_empty() && from_receiver.is_empty());
    assert!((18..=32).contains(&from_sender.len()) && of_receiver.len() == from_sender.len());
    let (of_sender, of_receiver, sent) = stream(RtcpBandwidth::NONE, MILLISECOND, 60);
    assert!(of_sender.is_empty() && of_receiver.is_empty() && sent.iter().all(Vec::is_empty));
}

#[test]
fn who_is_silent_is_forgotten_and_who_stops_sending_reports_as_a_receiver() {
    let (mut here, mut there) = (participant(1, session(64), 1), participant(2, session(64), 1));
    for number in 0..10 {
        here.handle_rtp(Timestamp::from_millis(number), &header(2, number as u32));
        there.handle_rtp_sent(Timestamp::from_millis(number), 0, 1);
    }
    assert_eq!(here.census(), Census { members: 2, senders: 1, we_sent: false });
    let mut forgotten = None;
    for seconds in 1..60 {
        let now = Timestamp::from_secs(seconds);
        here.poll_transmit(now);
        let packet = there.poll_transmit(now).map(|packet| Compound::parse(&packet).unwrap());
        if let Some(report) = packet.map(|compound| compound.reports[0].clone()) {
            assert_eq!(report.sender.is_some(), seconds <= 10, "two intervals: {seconds} s");
        }
        forgotten = forgotten.or((here.census().members == 1).then_some(seconds));
    }
    let forgotten = forgotten.expect("it is forgotten");
    assert!((25..=32).contains(&forgotten), "five intervals, at the next report: {forgotten} s");
}

#[test]
fn the_timer_goes_sooner_where_members_leave() {
    let random = Seed(1).stream("test", &[]);
    let mut timer = ReportTimer::new(Timestamp::ZERO, session(64), MINIMUM_INTERVAL, 100, random);
    let census = Census { members: 100, senders: 0, we_sent: false };
    timer.sent(Timestamp::from_secs(100), 100, census);
    let next = timer.next().unwrap().saturating_since(Timestamp::from_secs(100)).as_secs_f64();
    let mean = 100.0 * 100.0 * 8.0 / 2_400.0;
    assert!((0.5 * mean / 1.21829..1.5 * mean / 1.21828).contains(&next), "{next}");
    timer.handle_fewer(Timestamp::from_secs(102), 25);
    let sooner = timer.next().unwrap().as_secs_f64();
    assert!((sooner - (102.0 + (next - 2.0) / 4.0)).abs() < 1e-6, "{sooner} after {next}");
    timer.handle_fewer(Timestamp::from_secs(103), 30);
    assert_eq!(timer.next().unwrap().as_secs_f64(), sooner, "more than before change nothing");
}

#[test]
fn more_sources_than_a_report_holds_take_turns_and_there_is_a_limit_to_all() {
    let mut member = participant(0, session(4_000), 1);
    for number in 0..2 {
        for ssrc in 1..=40 {
            member.handle_rtp(Timestamp::ZERO, &header(ssrc, number));
        }
    }
    let mut reported = Vec::new();
    for seconds in [5, 12] {
        let packet = member.poll_transmit(Timestamp::from_secs(seconds)).unwrap();
        let compound = Compound::parse(&packet).unwrap();
        reported.push(compound.reports[0].blocks.iter().map(|block| block.ssrc).collect::<Vec<_>>());
    }
    assert_eq!(reported, [(1..=31).collect::<Vec<_>>(), (32..=40).collect()]);
    for ssrc in 0..10_000 {
        member.handle_rtp(Timestamp::from_secs(121), &header(ssrc, 1));
    }
    let known = member.census().members;
    assert!(known <= MOST_MEMBERS + 1, "{known}");
}

#[test]
fn the_own_number_is_no_member() {
    let (mut member, mut other) = (participant(1, session(64), 1), participant(1, session(64), 2));
    other.handle_rtp_sent(Timestamp::ZERO, 0, 1);
    let packet = other.poll_transmit(Timestamp::from_secs(4)).unwrap();
    member.handle_rtcp(Timestamp::from_secs(4), &packet).unwrap();
    member.handle_rtp(Timestamp::from_secs(4), &header(1, 0));
    member.handle_rtp(Timestamp::from_secs(4), &header(1, 1));
    assert_eq!(member.census().members, 1);
    assert_eq!(member.poll_event(), None);
}

mod reception {
    use super::*;

    /// Tells it of packets with these numbers, and returns which of them counted.
    fn receive(reception: &mut Reception, numbers: impl IntoIterator<Item = u16>) -> Vec<bool> {
        let header = |number: u16| header(1, number.into());
        numbers.into_iter().map(|number| reception.handle_packet(Timestamp::ZERO, &header(number), 90_000)).collect()
    }

    #[test]
    fn a_source_counts_from_its_second_packet_in_a_row() {
        let mut reception = Reception::default();
        assert_eq!(receive(&mut reception, [7, 9, 10, 11]), [false, false, true, true]);
        let block = reception.report(1, 90_000, 0, 0);
        assert_eq!((block.highest_sequence, block.lost, block.fraction_lost), (11, 0, 0));
    }

    #[test]
    fn losses_count_since_the_beginning_and_since_the_last_report() {
        let mut reception = Reception::default();
        receive(&mut reception, [65_529, 65_530, 65_531, 65_534, 65_535, 2, 3]);
        // From 65,530 on 10 were sent, and 6 came.
        let block = reception.report(1, 90_000, 0, 0);
        assert_eq!((block.highest_sequence, block.lost, block.fraction_lost), (0x1_0003, 4, 102));
        receive(&mut reception, [65_532, 4, 5, 6, 7]);
        let block = reception.report(1, 90_000, 0, 0);
        assert_eq!((block.lost, block.fraction_lost), (3, 0), "one came late: more than were expected");
        receive(&mut reception, [7, 7, 7, 7]);
        let block = reception.report(1, 90_000, 0, 0);
        assert_eq!((block.lost, block.fraction_lost, block.highest_sequence), (-1, 0, 0x1_0007), "duplicates");
        receive(&mut reception, [2_000]);
        let block = reception.report(1, 90_000, 0, 0);
        assert_eq!((block.lost, block.fraction_lost), (1_991, 255), "1,992 of 1,993");
    }

    #[test]
    fn a_jump_counts_when_the_next_packet_confirms_it() {
        let mut reception = Reception::default();
        receive(&mut reception, [0, 1, 2]);
        assert_eq!(
            receive(&mut reception, [3_001, 2_902, 2_901]),
            [true, true, false],
            "fewer than 3,000 ahead, 100 behind"
        );
        assert_eq!(receive(&mut reception, [40_000, 3_002, 40_001]), [false, true, true]);
        let block = reception.report(1, 90_000, 0, 0);
        assert_eq!((block.highest_sequence, block.lost), (40_001, 0), "it began anew");
    }

    #[test]
    fn jitter_is_that_of_the_estimator_in_units_of_the_time_stamp() {
        let mut reception = Reception::default();
        let mut estimator = framewire_units::JitterEstimator::default();
        let mut expected = None;
        for number in 0..200u32 {
            let late = u64::from(number * 7_919 % 31) * 1_000_000;
            let now = Timestamp::from_nanos(u64::from(number) * 40_000_000 + late);
            if reception.handle_packet(now, &header(1, number.wrapping_sub(3)), 90_000) {
                expected = estimator.update(late as i64);
            }
        }
        let jitter = i64::from(reception.report(1, 90_000, 0, 0).jitter);
        let expected = expected.unwrap() * 90_000 / 1_000_000_000;
        assert!(expected > 500 && (jitter - expected).abs() <= 1, "{jitter} of {expected}");
    }
}

#[test]
fn a_sender_that_reports_at_once_does_so_with_its_first_packet_and_then_by_the_interval() {
    let bandwidth = session(2_000);
    let begins = Timestamp::from_nanos(7_000_000_000);
    let mut first = Vec::new();
    for reports_at_once in [false, true] {
        let settings =
            Settings { ssrc: 1, name: "sender".to_owned(), bandwidth, reports_at_once, ..Settings::default() };
        let mut sender = Participant::new(settings, Timestamp::ZERO, Seed(5).stream("rtcp", &[1])).unwrap();
        assert_eq!(sender.next_timeout().is_none(), reports_at_once, "nothing to say before it sends");
        sender.handle_rtp_sent(begins, 100, 1_000);
        assert_eq!(sender.next_timeout() == Some(begins), reports_at_once);
        let due = sender.next_timeout().unwrap().max(begins);
        let report = Compound::parse(&sender.poll_transmit(due).unwrap()).unwrap();
        assert_eq!(report.reports[0].sender.map(|info| info.packets), Some(1));
        assert_eq!(sender.poll_transmit(due), None, "one");
        let next = sender.next_timeout().unwrap().saturating_since(due);
        assert!((Duration::from_millis(2_050)..Duration::from_millis(6_200)).contains(&next), "{next:?}");
        first.push(due);
        sender.leave(due);
        assert!(sender.poll_transmit(due).is_some() && sender.has_left());
    }
    assert_eq!(first[1], begins);
}
