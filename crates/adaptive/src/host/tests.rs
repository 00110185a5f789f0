use std::net::Ipv4Addr;

use framewire_wire::vtp::{Key, Request, Start, Title};

use super::*;
use crate::client::{Client, ClientEvent, ClientSettings};
use crate::fixed::FixedRate;
use crate::testing::{Steps, server_settings, title};

const MOVIE: Steps = Steps { levels: 2, frames: 50, payload: 500 };

fn host_with(settings: ServerSettings, most: usize) -> Host {
    host_of(MOVIE, settings, most)
}

fn host_of(movie: Steps, settings: ServerSettings, most: usize) -> Host {
    let movie = Arc::new(movie);
    Host::new(movie.clone(), movie, Box::new(|| Box::new(FixedRate::new())), settings, most).unwrap()
}

/// A client at an address of its own.
struct Viewer {
    client: Client,
    address: Ipv4Addr,
    frames: usize,
    ended: Option<Reason>,
}

impl Viewer {
    fn new(number: u8, settings: ClientSettings) -> Self {
        Self { client: Client::new(settings), address: Ipv4Addr::new(192, 0, 2, number), frames: 0, ended: None }
    }

    fn on(&self, channel: Channel) -> SocketAddr {
        SocketAddr::from((self.address, 5_000 + channel as u16))
    }

    fn act(&mut self, now: Timestamp, host: &mut Host) {
        while let Some(sent) = self.client.poll_transmit(now) {
            host.handle_datagram(now, sent.channel, self.on(sent.channel), &sent.bytes);
        }
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::FrameComplete(_) => self.frames += 1,
                ClientEvent::Ended(reason) => self.ended = Some(reason),
                _ => {}
            }
        }
    }
}

/// Runs all over a network without delay until every session has ended, in steps of a millisecond.
fn run(host: &mut Host, viewers: &mut [Viewer], millis: u64) {
    for millis in 0..millis {
        let now = Timestamp::from_millis(1_000 + millis);
        viewers.iter_mut().for_each(|viewer| viewer.act(now, host));
        while let Some(sent) = host.poll_transmit(now) {
            sent.due.into_iter().for_each(|due| host.handle_departure(due, now));
            let viewer = viewers.iter_mut().find(|viewer| viewer.on(sent.channel) == sent.to).expect("a known address");
            viewer.client.handle_datagram(now, sent.channel, &sent.bytes);
            viewer.act(now, host);
        }
        if viewers.iter().all(|viewer| viewer.ended.is_some()) && host.sessions() == 0 {
            return;
        }
    }
}

fn viewers(count: u8) -> Vec<Viewer> {
    (1..=count).map(|number| Viewer::new(number, ClientSettings::paper(title(), u64::from(number)))).collect()
}

#[test]
fn every_client_gets_the_whole_movie_in_its_time_and_leaves_nothing_behind() {
    let mut host = host_with(server_settings(), 20);
    let mut viewers = viewers(20);
    run(&mut host, &mut viewers, 10_000);
    for viewer in &viewers {
        assert_eq!((viewer.frames, viewer.ended), (50, Some(Reason::EndOfMovie)), "{}", viewer.address);
    }
    assert_eq!((host.sessions(), host.next_timeout()), (0, None));
    let packets: u64 = viewers.iter().map(|viewer| viewer.client.state().packets).sum();
    assert_eq!(host.lateness().count(), packets);
    assert!(host.lateness().most() <= framewire_units::Duration::from_millis(1), "looked at each millisecond");
    let started = std::iter::from_fn(|| host.poll_event());
    assert_eq!(started.filter(|event| matches!(event.event, ServerEvent::Started { .. })).count(), 20);
}

#[test]
fn a_shared_key_opens_the_door_and_its_lack_does_not() {
    let key = || Key::new(&[3; 16]);
    let mut host = host_with(ServerSettings { key: key(), ..server_settings() }, 5);
    let with = ClientSettings { key: key(), ..ClientSettings::paper(title(), 1) };
    let mut viewers = vec![Viewer::new(1, with), Viewer::new(2, ClientSettings::paper(title(), 2))];
    run(&mut host, &mut viewers, 15_000);
    assert_eq!((viewers[0].frames, viewers[1].frames), (50, 0));
    assert!(host.drops().of(DropReason::NotAuthentic) > 0);
}

#[test]
fn a_full_host_and_a_foreign_title_are_refused_with_a_reason() {
    let mut host = host_with(server_settings(), 1);
    let mut viewers = viewers(2);
    viewers[0].act(Timestamp::from_millis(999), &mut host);
    run(&mut host, &mut viewers, 1_500);
    assert_eq!((viewers[1].frames, viewers[1].ended), (0, Some(Reason::Busy)));
    let other = ClientSettings::paper(Title::new("other").unwrap(), 9);
    let mut viewers = vec![Viewer::new(9, other)];
    run(&mut host_with(server_settings(), 1), &mut viewers, 1_500);
    assert_eq!(viewers[0].ended, Some(Reason::UnknownTitle));
}

#[test]
fn nothing_is_kept_of_those_who_prove_no_address() {
    let mut host = host_with(server_settings(), 10);
    let now = Timestamp::from_millis(1);
    let (mut asked, mut sent) = (0, 0);
    for number in 0..10_000u32 {
        let from = SocketAddr::from((Ipv4Addr::from(number), 1));
        let mut bytes = vec![];
        match number % 3 {
            0 => Packet::Request(Request { session: u64::from(number), title: title() }).emit(&mut bytes),
            1 => Packet::Start(Start { session: 5, title: title(), cookie: framewire_wire::vtp::Cookie([1; 16]) })
                .emit(&mut bytes),
            _ => bytes.extend([0; 40]),
        }
        asked += bytes.len();
        host.handle_datagram(now, Channel::Data, from, &bytes);
        let answers: Vec<_> = std::iter::from_fn(|| host.poll_transmit(now)).collect();
        assert_eq!(answers.len(), usize::from(number % 3 == 0), "to datagram {number}");
        assert!(answers.iter().all(|answer| answer.to == from && answer.bytes.len() <= bytes.len()));
        sent += answers.iter().map(|answer| answer.bytes.len()).sum::<usize>();
    }
    assert_eq!(host.sessions(), 0);
    assert!(sent > 0 && sent <= asked, "{sent} bytes for {asked}");
    assert_eq!(host.drops().of(DropReason::BadCookie), 3_333);
    assert_eq!(host.drops().of(DropReason::Malformed), 3_333);
}

#[test]
fn what_a_session_threw_away_is_counted_when_it_is_over_too() {
    let mut host = host_with(server_settings(), 5);
    let mut viewers = viewers(2);
    run(&mut host, &mut viewers, 300);
    let (now, before) = (Timestamp::from_millis(1_301), host.drops());
    let mut hostile = vec![];
    Packet::Request(Request { session: 1, title: title() }).emit(&mut hostile);
    for number in 0..7 {
        // To a session that knows its client.
        host.handle_datagram(now, Channel::Data, SocketAddr::from((Ipv4Addr::from(number), 1)), &hostile);
    }
    let of = |host: &Host, before: &Drops| host.drops().of(DropReason::Unexpected) - before.of(DropReason::Unexpected);
    assert_eq!((host.sessions(), of(&host, &before)), (2, 7), "while it lasts");
    run(&mut host, &mut viewers, 10_000);
    assert_eq!((host.sessions(), of(&host, &before)), (0, 7), "once, and for good");
    assert_eq!(host.drops().total(), before.total() + 7, "nothing else was thrown away");
}

/// Its address is proved, and there is no room any more: one word of that, however often it comes.
#[test]
fn a_start_at_a_full_host_is_answered_once() {
    let mut host = host_with(server_settings(), 1);
    let (now, from) = (Timestamp::from_millis(1_000), SocketAddr::from((Ipv4Addr::new(192, 0, 2, 9), 5_000)));
    let mut bytes = vec![];
    Packet::Request(Request { session: 9, title: title() }).emit(&mut bytes);
    host.handle_datagram(now, Channel::Data, from, &bytes);
    let answer = host.poll_transmit(now).expect("a description");
    let Ok(Packet::Description(description)) = Packet::parse(&answer.bytes) else { panic!("{answer:?}") };
    let mut viewers = viewers(1);
    run(&mut host, &mut viewers, 300);
    let now = Timestamp::from_millis(1_300);
    while host.poll_transmit(now).is_some() {}
    bytes.clear();
    Packet::Start(Start { session: 9, title: title(), cookie: description.cookie }).emit(&mut bytes);
    for _ in 0..3 {
        host.handle_datagram(now, Channel::Data, from, &bytes);
        let answers: Vec<_> = std::iter::from_fn(|| host.poll_transmit(now)).collect();
        let said: Vec<_> = answers.iter().map(|answer| (answer.to, Packet::parse(&answer.bytes).unwrap())).collect();
        let busy = framewire_wire::vtp::Teardown { session: 9, reason: Reason::Busy };
        assert_eq!(said, [(from, Packet::Teardown(busy))]);
    }
    assert_eq!(host.sessions(), 1);
}

#[test]
fn stopping_says_goodbye_to_everybody() {
    let mut host = host_with(server_settings(), 5);
    let mut viewers = viewers(5);
    run(&mut host, &mut viewers, 300);
    assert_eq!(host.sessions(), 5);
    host.stop(Timestamp::from_millis(1_301));
    run(&mut host, &mut viewers, 2_000);
    assert!(viewers.iter().all(|viewer| viewer.ended == Some(Reason::Stopped)));
    assert_eq!(host.sessions(), 0);
}

/// A packet each 4 ms, and no poll for 80 ms.
#[test]
fn what_is_due_first_leaves_first_whoever_it_is_for() {
    let mut host = host_of(Steps { levels: 10, ..MOVIE }, server_settings(), 20);
    let mut viewers = viewers(20);
    for (millis, viewer) in (0..).zip(&mut viewers) {
        let now = Timestamp::from_millis(1_000 + millis);
        viewer.act(now, &mut host);
        while let Some(sent) = host.poll_transmit(now) {
            viewer.client.handle_datagram(now, sent.channel, &sent.bytes);
            viewer.act(now, &mut host);
        }
    }
    let now = Timestamp::from_millis(1_100);
    let sent: Vec<_> = std::iter::from_fn(|| host.poll_transmit(now)).collect();
    assert!(sent.iter().all(|sent| sent.due.is_some_and(|due| due <= now)));
    assert!(sent.is_sorted_by_key(|sent| sent.due), "{:?}", sent.iter().map(|sent| sent.due).collect::<Vec<_>>());
    // Each of the first twenty to another client: none has two packets before every one has one.
    let first: std::collections::BTreeSet<_> = sent[..20].iter().map(|sent| sent.to).collect();
    assert_eq!((first.len(), sent.len() > 20), (20, true), "{}", sent.len());
    assert!(host.next_timeout() > Some(now));
}

#[test]
fn a_clock_that_jumps_back_or_forth_stops_no_session() {
    for jump in [-3_600_000i64, 3_600_000] {
        let mut host = host_with(server_settings(), 3);
        let mut viewers = viewers(3);
        let mut end = None;
        for millis in 0..10_000i64 {
            let at = |origin: i64| Timestamp::from_millis((origin + millis) as u64);
            // The server's clock alone; the clients' goes on.
            let (now, theirs) = (at(5_000_000 + if millis < 700 { 0 } else { jump }), at(1_000));
            while let Some(sent) = host.poll_transmit(now) {
                assert!(sent.due.is_none_or(|due| due <= now), "due at {:?}, sent at {now}", sent.due);
                let viewer = viewers.iter_mut().find(|viewer| viewer.on(sent.channel) == sent.to).unwrap();
                viewer.client.handle_datagram(theirs, sent.channel, &sent.bytes);
            }
            for viewer in &mut viewers {
                let from = Channel::BOTH.map(|channel| viewer.on(channel));
                while let Some(sent) = viewer.client.poll_transmit(theirs) {
                    host.handle_datagram(now, sent.channel, from[sent.channel.index()], &sent.bytes);
                }
                viewer.collect();
            }
            if end.is_none() && viewers.iter().all(|viewer| viewer.ended.is_some()) {
                end = Some(millis);
            }
        }
        let got: Vec<_> = viewers.iter().map(|viewer| (viewer.frames, viewer.ended)).collect();
        assert_eq!(got, [(50, Some(Reason::EndOfMovie)); 3], "by {jump} ms");
        // 2 s of movie, one interval held up at most, and the teardown.
        assert!(end.is_some_and(|end| (1_900..2_700).contains(&end)), "by {jump} ms: {end:?}");
        assert_eq!(host.sessions(), 0);
    }
}

/// The start of a session on one channel, with the cookie that a request from there earns.
fn start_from(host: &Host, now: Timestamp, channel: Channel, from: SocketAddr, session: u64) -> Vec<u8> {
    let request = Request { session, title: title() };
    let answer = host.admission.describe(now, channel, from, &request, host.description.clone());
    let Ok(Packet::Description(description)) = Packet::parse(&answer) else { panic!("{answer:?}") };
    let mut bytes = vec![];
    Packet::Start(Start { session, title: title(), cookie: description.cookie }).emit(&mut bytes);
    bytes
}

/// Opens half of each of these sessions, all from one address.
fn open_halves(host: &mut Host, now: Timestamp, sessions: std::ops::Range<u64>) {
    let from = SocketAddr::from((Ipv4Addr::new(203, 0, 113, 1), 7));
    for session in sessions {
        let start = start_from(host, now, Channel::Data, from, session);
        host.handle_datagram(now, Channel::Data, from, &start);
    }
}

/// A client that died between its two starts has its place for the timeout and no longer.
#[test]
fn a_session_whose_other_start_never_comes_is_forgotten() {
    let mut host = host_with(server_settings(), 4);
    let begin = Timestamp::from_secs(1);
    open_halves(&mut host, begin, 100..104);
    let end = begin + server_settings().peer_timeout;
    assert_eq!((host.sessions(), host.next_timeout()), (4, Some(end)));
    let mut now = begin;
    while let Some(next) = host.next_timeout() {
        assert_eq!(host.sessions(), 4, "at {now}");
        // A driver that is in time: what is more would be a jump of its clock.
        now = next.min(now + Duration::from_millis(900));
        assert_eq!(host.poll_transmit(now), None);
    }
    assert_eq!((host.sessions(), now), (0, end));
    assert!(host.half_open.is_empty() && host.poll_event().is_none());
    let mut viewers = viewers(4);
    run(&mut host, &mut viewers, 10_000);
    assert!(viewers.iter().all(|viewer| viewer.frames == 50), "every place is free again");
}

/// However often one address begins: a client that proves both addresses is admitted, and stays so.
#[test]
fn half_open_sessions_give_way_oldest_first_and_open_ones_never() {
    let mut host = host_with(server_settings(), 4);
    let mut viewers = viewers(2);
    viewers[0].act(Timestamp::from_millis(999), &mut host);
    run(&mut host, &mut viewers[..1], 100);
    assert_eq!((host.sessions(), host.half_open.len()), (1, 0));
    let now = Timestamp::from_millis(1_101);
    open_halves(&mut host, now, 100..104);
    assert_eq!((host.sessions(), host.half_open.values().copied().collect::<Vec<_>>()), (4, vec![101, 102, 103]));
    for round in 0..10u64 {
        open_halves(&mut host, now, 200 + 100 * round..300 + 100 * round);
        assert_eq!((host.sessions(), host.half_open.len()), (4, 3));
    }
    // The flood goes on while both watch.
    for millis in 0..4_000 {
        let now = Timestamp::from_millis(1_102 + millis);
        viewers.iter_mut().for_each(|viewer| viewer.act(now, &mut host));
        while let Some(sent) = host.poll_transmit(now) {
            let viewer = viewers.iter_mut().find(|viewer| viewer.on(sent.channel) == sent.to).expect("a viewer");
            viewer.client.handle_datagram(now, sent.channel, &sent.bytes);
            viewer.act(now, &mut host);
        }
        open_halves(&mut host, now, 10_000 + millis..10_001 + millis);
        assert!(host.sessions() <= 4);
    }
    let got: Vec<_> = viewers.iter().map(|viewer| (viewer.frames, viewer.ended)).collect();
    assert_eq!(got, [(50, Some(Reason::EndOfMovie)); 2]);
    // Where every client has proved both, none gives way.
    let mut host = host_with(server_settings(), 2);
    let mut viewers = self::viewers(2);
    run(&mut host, &mut viewers, 100);
    assert_eq!((host.sessions(), host.half_open.len()), (2, 0));
    let mut late = Viewer::new(9, ClientSettings::paper(title(), 9));
    late.act(Timestamp::from_millis(1_100), &mut host);
    let busy = std::iter::from_fn(|| host.poll_transmit(Timestamp::from_millis(1_100)))
        .filter(|sent| matches!(Packet::parse(&sent.bytes), Ok(Packet::Teardown(said)) if said.reason == Reason::Busy));
    assert_eq!((busy.count(), host.sessions()), (2, 2), "one word for each request");
}

/// A client that asks and never fetches costs a bounded memory: what is beyond is dropped and counted.
#[test]
fn answers_that_nobody_sends_are_bounded() {
    let mut host = host_with(server_settings(), 1);
    let now = Timestamp::from_millis(1);
    for number in 0..3_000u32 {
        let mut bytes = vec![];
        Packet::Request(Request { session: number.into(), title: title() }).emit(&mut bytes);
        host.handle_datagram(now, Channel::Data, SocketAddr::from((Ipv4Addr::from(number), 1)), &bytes);
    }
    assert_eq!((host.answers.len(), host.drops().of(DropReason::NoRoom)), (1_024, 1_976));
    assert_eq!(std::iter::from_fn(|| host.poll_transmit(now)).count(), 1_024);
}

/// All that a client sent, sealed, is sent again by another host when the session is over: it opens nothing, and
/// nothing flows. A new session does.
#[test]
fn what_was_said_in_a_session_opens_no_other_one() {
    let key = || Key::new(&[3; 16]);
    let movie = Steps { frames: 10_000, ..MOVIE };
    let mut host = host_of(movie, ServerSettings { key: key(), ..server_settings() }, 5);
    let settings = |session| ClientSettings { key: key(), ..ClientSettings::paper(title(), session) };
    let mut viewer = Viewer::new(1, settings(1));
    let mut said = vec![];
    for millis in 0..3_000 {
        let now = Timestamp::from_millis(1_000 + millis);
        if millis == 2_500 {
            viewer.client.stop(now);
        }
        loop {
            while let Some(sent) = viewer.client.poll_transmit(now) {
                host.handle_datagram(now, sent.channel, viewer.on(sent.channel), &sent.bytes);
                said.push((sent.channel, sent.bytes));
            }
            let Some(sent) = host.poll_transmit(now) else { break };
            viewer.client.handle_datagram(now, sent.channel, &sent.bytes);
        }
    }
    assert_eq!((host.sessions(), said.len() > 10), (0, true), "{}", said.len());
    // Everything but the teardown.
    let replayed: Vec<_> = said[..said.len() - 1].to_vec();
    let replay = |host: &mut Host, now: Timestamp| {
        for (channel, bytes) in &replayed {
            host.handle_datagram(now, *channel, viewer.on(*channel), bytes);
        }
        std::iter::from_fn(|| host.poll_transmit(now)).filter(|sent| sent.due.is_some()).count()
    };
    for millis in [4_001, 9_000, 19_000, 30_000] {
        assert_eq!(replay(&mut host, Timestamp::from_millis(millis)), 0, "at {millis} ms");
        assert_eq!(host.sessions(), 0, "at {millis} ms");
    }
    assert_eq!(host.drops().of(DropReason::Stale), 6, "two starts with good cookies, three times");
    let mut other = vec![Viewer::new(1, settings(2))];
    run(&mut host, &mut other, 500);
    assert!(other[0].frames > 5, "the next session");
}
