//! Whole sessions in virtual time in which the client names missing packets and the server repeats them, or does not.

use crate::pipe;
use framewire_adaptive::client::{ClientEvent, ClientSettings, Frame, PlayerSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::datagram::DropReason;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::hybrid::{HybridController, HybridSettings};
use framewire_adaptive::server::{ServerEvent, ServerSettings};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Timestamp};
use framewire_wire::vtp::{Key, Packet, Reason, Secret, Title, VideoHeader};

use pipe::{Pipe, Session, ladder, mild, plan};

const LONG: Timestamp = Timestamp::from_secs(120);
const FRAMES: u32 = 1_080;
/// From the first packet to the first frame that is shown.
const STARTUP: Duration = Duration::from_secs(1);

fn hybrid() -> Box<dyn Controller> {
    Box::new(HybridController::new(HybridSettings::default(), Some(plan(&mild()))).unwrap())
}

/// A path of 10 Mbit/s without loss, so long there and back.
fn path(round_trip: Duration) -> [Pipe; 2] {
    [1, 2].map(|seed| Pipe::new(Bitrate::from_mbps(10), round_trip / 2, seed))
}

fn settings(server_repeats: bool, client_repeats: bool) -> (ServerSettings, ClientSettings) {
    let title = Title::new("movie").unwrap();
    let player = PlayerSettings { startup: STARTUP, repeats: client_repeats, ..PlayerSettings::default() };
    let server =
        ServerSettings { repeats: server_repeats, ..ServerSettings::paper(title.clone(), Secret::new([5; 32])) };
    (server, ClientSettings { player: Some(player), ..ClientSettings::paper(title, 42) })
}

fn session(controller: Box<dyn Controller>, [forth, back]: [Pipe; 2], repeats: (bool, bool)) -> Session {
    let (server, client) = settings(repeats.0, repeats.1);
    Session::with(mild(), controller, forth, back, server, client)
}

fn lossy(share: f64, round_trip_ms: u64) -> [Pipe; 2] {
    let mut path = path(Duration::from_millis(round_trip_ms));
    path.iter_mut().for_each(|pipe| pipe.loss = Probability::clamped(share));
    path
}

/// Frames that came whole.
fn frames(session: &Session) -> Vec<(Timestamp, Frame)> {
    let frame = |(at, event): &(Timestamp, ClientEvent)| match event {
        ClientEvent::FrameComplete(frame) => Some((*at, frame.clone())),
        _ => None,
    };
    session.client_events.iter().filter_map(frame).collect()
}

/// Frames in the player's hands when they are to be shown, of which key frames.
fn in_time(session: &Session) -> (u32, u32) {
    let begun = session.server_events.iter().find_map(|(at, event)| match event {
        ServerEvent::Started { .. } => Some(*at),
        _ => None,
    });
    // The player begins with the first packet, later than that: what is counted here was there in time.
    let begun = begun.expect("the session began");
    let shown: Vec<_> = frames(session)
        .into_iter()
        .filter(|(at, frame)| *at <= begun + session.forth.delay + STARTUP + frame.media_time)
        .collect();
    (shown.len() as u32, shown.iter().filter(|(_, frame)| frame.key).count() as u32)
}

fn is_over(session: &Session) -> bool {
    session.client_events.last().is_some_and(|(_, event)| *event == ClientEvent::Ended(Reason::EndOfMovie))
        && session.server_events.last().is_some_and(|(_, event)| *event == ServerEvent::Ended(Reason::EndOfMovie))
}

#[test]
fn what_is_lost_comes_again_in_time() {
    for (share, round_trip) in [(0.01, 10), (0.05, 10), (0.05, 100), (0.1, 60)] {
        let mut with = session(hybrid(), lossy(share, round_trip), (true, true));
        with.run(LONG);
        let mut without = session(hybrid(), lossy(share, round_trip), (true, false));
        without.run(LONG);
        let (shown, _) = in_time(&with);
        assert!(shown >= FRAMES - FRAMES / 200, "{share} {round_trip}: {shown} frames");
        assert!(is_over(&with) && is_over(&without));
        let (few, _) = in_time(&without);
        // About 2.6 packets a frame.
        let expected = f64::from(FRAMES) * libm::pow(1.0 - share, 2.6);
        assert!(
            (f64::from(few) - expected).abs() < 0.35 * (f64::from(FRAMES) - expected) + 8.0,
            "{share}: {few} frames"
        );
        let state = with.server.state();
        let repeats = state.repeats;
        // No more is repeated than was lost, but for what a lost name or a late packet costs.
        let lost = state.packets as f64 * share;
        assert!((0.7 * lost..1.3 * lost + 10.0).contains(&(repeats.repeated as f64)), "{share}: {repeats:?} of {lost}");
        assert_eq!(with.client.state().drops.of(DropReason::Inconsistent), 0);
        assert_eq!(without.server.state().repeats.named, 0);
    }
}

/// Every first packet of a key frame is lost, and no repeat of it.
#[test]
fn key_frames_come_back_when_they_are_lost() {
    let first_of_key = |bytes: &[u8]| matches!(Packet::parse(bytes), Ok(Packet::Video(header, _)) if header.key && header.index == 0 && header.repeats.is_none());
    for (repeats, expected) in [(true, 90), (false, 0)] {
        let mut path = path(Duration::from_millis(50));
        path[0].loses = Some(first_of_key);
        let mut session = session(hybrid(), path, (true, repeats));
        session.run(LONG);
        assert_eq!(in_time(&session), (FRAMES - 90 + expected, expected));
        assert!(is_over(&session));
    }
}

#[test]
fn the_end_of_the_movie_is_repeated_too() {
    // The last frame, however often it is sent first.
    let last = |bytes: &[u8]| matches!(Packet::parse(bytes), Ok(Packet::Video(header, _)) if header.frame >= 1_078 && header.repeats.is_none());
    for (repeats, expected) in [(true, 1_080), (false, 1_078)] {
        let mut path = path(Duration::from_millis(50));
        path[0].loses = Some(last);
        let mut session = session(hybrid(), path, (true, repeats));
        session.run(LONG);
        assert_eq!(frames(&session).len(), expected);
        assert!(is_over(&session));
    }
}

/// With about a second in the playout buffer and 4 s of round trip, nothing could be in time.
#[test]
fn what_would_come_too_late_is_not_repeated() {
    for (round_trip, is_in_time) in [(4_000, false), (300, true)] {
        // Repeats cost time: with much loss, a stream that keeps to its plan has an empty playout buffer in the end.
        let mut session = session(Box::new(FixedRate::new()), lossy(0.007, round_trip), (true, true));
        session.run(LONG);
        let repeats = session.server.state().repeats;
        assert!(repeats.named > 8, "{repeats:?}");
        if is_in_time {
            assert!(repeats.repeated > 9 * repeats.too_late, "{round_trip} ms: {repeats:?}");
        } else {
            // What is sent ahead of the plan at the beginning may be in time.
            assert!(repeats.too_late > 9 * repeats.repeated, "{round_trip} ms: {repeats:?}");
        }
    }
}

/// Repeats are paid out of the rate: what leaves is never more than the controller allows, lost or not.
#[test]
fn repeats_cost_the_network_nothing() {
    // Segments of the same bytes: from the tenth second on, the plan has one rate.
    let movie = || ladder(&[125, 260, 450].map(Bitrate::from_kbps), 45, 0.0);
    let rate = plan(&movie()).rate_at(2, Duration::from_secs(20));
    let (begin, end) = (Timestamp::from_secs(10), Timestamp::from_secs(30));
    let sent = |share| {
        let (server, client) = settings(true, true);
        let [mut forth, back] = lossy(share, 40);
        forth.seen = Some(vec![]);
        let mut session = Session::with(movie(), Box::new(FixedRate::new()), forth, back, server, client);
        session.run(end);
        let headers: Vec<_> = session.forth.seen.iter().flatten().filter_map(|bytes| video(bytes)).collect();
        headers.into_iter().filter(|header| header.sender_time >= begin).collect::<Vec<_>>()
    };
    let bytes = |headers: &[VideoHeader]| headers.iter().map(|header| header.size.as_bytes()).sum::<u64>() as f64;
    let (without, with) = (sent(0.0), sent(0.03));
    for headers in [&without, &with] {
        for pair in headers.windows(2) {
            let apart = pair[1].sender_time.saturating_since(pair[0].sender_time);
            let least = rate.transmit_time(pair[0].size);
            assert!(apart + Duration::from_nanos(10) >= least, "{apart:?} after {:?}: {least:?}", pair[0]);
        }
        let planned = rate.as_bps() as f64 / 8.0 * end.saturating_since(begin).as_secs_f64();
        assert!((bytes(headers) / planned - 1.0).abs() < 0.002, "{} bytes of {planned}", bytes(headers));
    }
    let again: Vec<_> = with.iter().filter(|header| header.repeats.is_some()).copied().collect();
    let repeated = bytes(&again) / bytes(&with);
    assert!((0.02..0.04).contains(&repeated) && without.iter().all(|header| header.repeats.is_none()), "{repeated}");
    let more = bytes(&with) / bytes(&without) - 1.0;
    assert!(more.abs() < repeated / 10.0, "{more} more, {repeated} again");
}

fn video(bytes: &[u8]) -> Option<VideoHeader> {
    match Packet::parse(bytes) {
        Ok(Packet::Video(header, _)) => Some(header),
        _ => None,
    }
}

/// What either half sends to the other.
fn said(server_repeats: bool, player: Option<PlayerSettings>) -> (Vec<Vec<u8>>, Vec<Vec<u8>>, Session) {
    let (server, client) = settings(server_repeats, true);
    let [mut forth, mut back] = lossy(0.02, 20);
    (forth.seen, back.seen) = (Some(vec![]), Some(vec![]));
    let mut session =
        Session::with(mild(), Box::new(FixedRate::new()), forth, back, server, ClientSettings { player, ..client });
    session.run(LONG);
    let (forth, back) = (session.forth.seen.take().unwrap(), session.back.seen.take().unwrap());
    (forth, back, session)
}

#[test]
fn without_a_player_a_session_is_the_papers_to_the_byte() {
    let (forth, back, _) = said(false, None);
    let (again_forth, again_back, _) = said(true, None);
    assert!(forth == again_forth && back == again_back, "a server that could repeat");
    let is_new = |bytes: &Vec<u8>| matches!(Packet::parse(bytes), Ok(Packet::Offer(_) | Packet::Missing(_)));
    assert!(!forth.iter().chain(&back).any(is_new) && forth.len() > 2_000);
}

/// A server that repeats nothing treats offers as one that does not know them, and the client soon makes no more.
#[test]
fn an_old_server_is_offered_repeats_in_vain() {
    let (forth, back, session) = said(false, Some(PlayerSettings::default()));
    let offers = back.iter().filter(|bytes| matches!(Packet::parse(bytes), Ok(Packet::Offer(_)))).count();
    assert!((1..=6).contains(&offers), "{offers} offers");
    assert!(!forth.iter().any(|bytes| matches!(Packet::parse(bytes), Ok(Packet::Offer(_)))));
    assert!(!back.iter().any(|bytes| matches!(Packet::parse(bytes), Ok(Packet::Missing(_)))));
    assert!(session.server.state().drops.of(DropReason::Unexpected) as usize <= offers && is_over(&session));
}

/// Offers, answers and lists are sealed as other control packets, and nothing else is taken up.
#[test]
fn with_a_key_lists_are_authenticated() {
    let key = |byte: u8| Some(Key::new(&[byte; 32]).unwrap());
    let (server, client) = settings(true, true);
    let [forth, back] = lossy(0.03, 20);
    let (server, client) = (ServerSettings { key: key(1), ..server }, ClientSettings { key: key(1), ..client });
    let mut session = Session::with(mild(), hybrid(), forth, back, server, client);
    session.run(LONG);
    assert!(session.server.state().repeats.repeated > 30, "{:?}", session.server.state().repeats);
    let drops = (session.server.state().drops, session.client.state().drops);
    assert_eq!((drops.0.of(DropReason::NotAuthentic), drops.1.of(DropReason::NotAuthentic)), (0, 0));
}

/// A buffer that is reported is not overrun; one that is unknown is.
#[test]
fn the_players_room_is_kept() {
    let room = DataSize::from_bytes(200_000);
    for (tells, bound) in [(true, 0..200_000), (false, 250_000..1_000_000)] {
        let (server, client) = settings(true, true);
        let player = tells.then_some(PlayerSettings { startup: STARTUP, buffer: room, repeats: true });
        let [forth, back] = path(Duration::from_millis(20));
        let client = ClientSettings { player, packet_events: true, ..client };
        let mut session = Session::with(mild(), hybrid(), forth, back, server, client);
        session.run(LONG);
        let most = most_buffered(&session);
        assert!(bound.contains(&most), "{most} bytes in the playout buffer, told of: {tells}");
        assert_eq!(in_time(&session).0, FRAMES);
    }
}

/// The most bytes that came and were not shown, by the events alone.
fn most_buffered(session: &Session) -> u64 {
    let packets = session.client_events.iter().filter_map(|(_, event)| match event {
        ClientEvent::Packet { arrived, header, .. } => Some((*arrived, header.media_time, header.size.as_bytes())),
        _ => None,
    });
    let packets: Vec<_> = packets.collect();
    let begun = packets[0].0 + STARTUP;
    let held = |now: Timestamp| {
        let waits = |&&(came, media, _): &&(Timestamp, Duration, u64)| came <= now && begun + media > now;
        packets.iter().filter(waits).map(|&(.., size)| size).sum::<u64>()
    };
    (0..45).map(|second| held(begun + Duration::from_secs(second))).max().unwrap_or(0)
}
