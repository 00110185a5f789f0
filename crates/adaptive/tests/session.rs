//! Whole sessions in virtual time: the server and the client of the library over a path.

use crate::pipe;
use framewire_adaptive::client::{ClientEvent, ClientSettings, ReportKind};
use framewire_adaptive::controller::{Controller, ControllerState};
use framewire_adaptive::server::{ServerEvent, ServerSettings};
use framewire_adaptive::tfrc::{ReceiverSettings, SenderSettings, TfrcController};
use framewire_adaptive::vtp::{Estimate, VtpController, VtpSettings};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Timestamp};
use framewire_wire::vtp::{Key, Reason, Secret, Title};

use pipe::{Pipe, Session, ladder, mild};

const LONG: Timestamp = Timestamp::from_secs(120);

fn vtp(settings: VtpSettings) -> Box<dyn Controller> {
    Box::new(VtpController::new(settings).unwrap())
}

/// The path of section 6: a rate, and 10 ms there and back.
fn path(rate: Bitrate) -> (Pipe, Pipe) {
    let delay = Duration::from_millis(5);
    (Pipe::new(rate, delay, 1), Pipe::new(rate, delay, 2))
}

fn session(settings: VtpSettings, rate: Bitrate) -> Session {
    let (forth, back) = path(rate);
    Session::new(mild(), vtp(settings), forth, back)
}

fn settings() -> (ServerSettings, ClientSettings) {
    let title = Title::new("movie").unwrap();
    (ServerSettings::paper(title.clone(), Secret::new([5; 32])), ClientSettings::paper(title, 42))
}

fn endings(session: &Session) -> (Option<Reason>, Option<Reason>) {
    let server = session.server_events.iter().find_map(|(_, event)| match event {
        ServerEvent::Ended(reason) => Some(*reason),
        _ => None,
    });
    let client = session.client_events.iter().find_map(|(_, event)| match event {
        ClientEvent::Ended(reason) => Some(*reason),
        _ => None,
    });
    (server, client)
}

/// Share of the samples of a time in which a level was wanted.
fn share(session: &Session, from: u64, is_so: impl Fn(&ControllerState) -> bool) -> f64 {
    let from = Timestamp::from_secs(from);
    let samples: Vec<_> = session.trace.iter().filter(|(at, _)| *at >= from).collect();
    samples.iter().filter(|(_, state)| is_so(state)).count() as f64 / samples.len() as f64
}

/// Figure 15: alone on 10 Mbit/s and 10 ms, the top level by about 7 s, and from there on the plan, but for the valleys
/// where the plan jumps.
#[test]
fn alone_the_stream_climbs_to_the_top_in_about_seven_seconds() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_mbps(10));
    session.run(LONG);
    let top = session.first_decided(2).expect("the top level").as_secs_f64();
    assert!((6.0..8.0).contains(&top), "the top level at {top} s");
    assert!(session.first_decided(1).unwrap() < session.first_decided(2).unwrap());
    let at_top = share(&session, 8, |state| state.level == 2);
    assert!((0.9..1.0).contains(&at_top), "{at_top} of the time at the top, and not in the valleys");
    assert!(share(&session, 8, |state| state.level == 0) == 0.0, "a valley is one level deep");
    assert_eq!(session.frames(), (1_080, 0));
    assert_eq!(endings(&session), (Some(Reason::EndOfMovie), Some(Reason::EndOfMovie)));
    assert!(session.server.state().drops.total() + session.client.state().drops.total() == 0);
}

/// Why SIZE has to count more than the rate does: samples of the video alone are never above the rate, and a rate that is
/// not exceeded is not raised.
#[test]
fn without_headers_in_the_estimate_the_stream_does_not_climb() {
    let settings = VtpSettings::reading(Estimate::BytesOverGaps { header: DataSize::ZERO });
    let mut session = session(settings, Bitrate::from_mbps(10));
    session.run(Timestamp::from_secs(30));
    assert_eq!(session.first_decided(2), None);
    let (_, state) = session.trace.last().unwrap();
    assert!(state.samples > 50 && state.rate < Bitrate::from_kbps(260), "{state:?}");
}

#[test]
fn levels_change_at_key_frames_only() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_mbps(10));
    session.run(LONG);
    let changes: Vec<_> = session
        .server_events
        .iter()
        .filter_map(|(_, event)| match event {
            ServerEvent::LevelChanged { frame, .. } => Some(*frame),
            _ => None,
        })
        .collect();
    assert!(changes.len() >= 2 && changes.iter().all(|frame| frame % 12 == 0), "{changes:?}");
    let seen = session.client_events.iter().filter(|(_, event)| matches!(event, ClientEvent::LevelChanged { .. }));
    assert_eq!(seen.count(), changes.len());
    let mut frames = session.client_events.iter().filter_map(|(_, event)| match event {
        ClientEvent::FrameComplete(frame) => Some(frame),
        _ => None,
    });
    let movie = mild();
    assert!(frames.all(|frame| frame.bytes.len() as u32 == movie.frame(frame.level, frame.frame as usize).size));
}

/// Section 6.3: random loss lowers the rate a little and for a short time.
#[test]
fn random_loss_costs_frames_and_not_the_level() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_mbps(10));
    (session.forth.loss, session.back.loss) = (Probability::clamped(0.01), Probability::clamped(0.01));
    session.run(LONG);
    let (whole, lost) = session.frames();
    assert_eq!(whole + lost, 1_080);
    // About 2.6 packets a frame: 2.6 % of the frames.
    assert!((10..=60).contains(&lost), "{lost} frames");
    let at_top = share(&session, 10, |state| state.level == 2);
    assert!(at_top > 0.85, "{at_top} of the time at the top");
    let (_, state) = session.trace.last().unwrap();
    assert!(state.discarded > 0 && state.discarded < state.samples / 10, "{state:?}");
    assert_eq!(endings(&session), (Some(Reason::EndOfMovie), Some(Reason::EndOfMovie)));
}

#[test]
fn every_handshake_comes_through_a_bad_path() {
    for seed in 0..20 {
        let [mut forth, mut back] =
            [2 * seed, 2 * seed + 1].map(|seed| Pipe::new(Bitrate::from_mbps(10), Duration::from_millis(5), seed));
        (forth.loss, back.loss) = (Probability::clamped(0.3), Probability::clamped(0.3));
        let movie = ladder(&[125, 260].map(Bitrate::from_kbps), 3, 0.3);
        let mut session = Session::new(movie, vtp(VtpSettings::paper()), forth, back);
        session.run(LONG);
        let (server, client) = endings(&session);
        assert_eq!(server, Some(Reason::EndOfMovie), "seed {seed}");
        assert!(matches!(client, Some(Reason::EndOfMovie | Reason::Vanished)), "seed {seed}: {client:?}");
    }
}

/// A side that has gone silent is noticed by the other.
#[test]
fn a_path_that_dies_ends_both_sides() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_mbps(10));
    session.run(Timestamp::from_secs(8));
    (session.forth.loss, session.back.loss) = (Probability::clamped(1.0), Probability::clamped(1.0));
    session.run(LONG);
    assert_eq!(endings(&session), (Some(Reason::Vanished), Some(Reason::Vanished)));
    assert!(session.now < Timestamp::from_secs(8 + 10 + 3), "{}", session.now);
    let (whole, lost) = session.frames();
    assert_eq!(whole + lost, 1_080, "the frames that never came are lost");
}

/// Where that is set, silence leads to the floor long before the session is given up.
#[test]
fn silence_slows_the_sender_down_where_that_is_set() {
    let settings = VtpSettings { silent_requests: Some(4), ..VtpSettings::paper() };
    let mut session = session(settings, Bitrate::from_mbps(10));
    session.run(Timestamp::from_secs(9));
    assert_eq!(session.server.controller_state().level, 2);
    session.back.loss = Probability::clamped(1.0);
    session.run(Timestamp::from_secs(11));
    let state = session.server.controller_state();
    assert!(state.level == 0 && state.rate < Bitrate::from_kbps(150), "{state:?}");
}

#[test]
fn the_client_can_stop() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_mbps(10));
    session.run(Timestamp::from_secs(3));
    session.client.stop(session.now);
    session.run(LONG);
    assert_eq!(endings(&session), (Some(Reason::Stopped), Some(Reason::Stopped)));
    assert!(session.now < Timestamp::from_secs(4));
}

/// Before the first packet of the movie: the server does not keep the session until its timeout.
#[test]
fn the_client_can_stop_before_video_came() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_mbps(10));
    while session.client.description().is_none() {
        session.run(session.now + Duration::from_millis(1));
    }
    session.run(session.now + Duration::from_millis(1));
    assert_eq!(session.client.state().packets, 0);
    session.client.stop(session.now);
    session.run(LONG);
    assert_eq!(endings(&session), (Some(Reason::Stopped), Some(Reason::Stopped)));
    assert!(session.now < Timestamp::from_secs(1), "{:?}", session.now);
}

/// Section 4.2: the rate never falls below the lowest level's plan, although the path has less.
#[test]
fn the_floor_is_kept_on_a_path_that_is_too_narrow() {
    let mut session = session(VtpSettings::paper(), Bitrate::from_kbps(100));
    session.run(LONG);
    assert!(session.forth.dropped > 0);
    let floor = share(&session, 1, |state| state.rate >= Bitrate::from_kbps(110));
    assert!(floor == 1.0, "{floor}");
    assert!(share(&session, 5, |state| state.level == 0) > 0.9);
}

#[test]
fn a_shared_key_is_needed_on_both_sides() {
    let [key, other] = [1, 2].map(|byte| Key::new(&[byte; 32]));
    for (client_key, ending) in [(key.clone(), Reason::EndOfMovie), (other, Reason::Vanished), (None, Reason::Vanished)]
    {
        let (server, client) = settings();
        let (forth, back) = path(Bitrate::from_mbps(10));
        let movie = ladder(&[125, 260].map(Bitrate::from_kbps), 3, 0.3);
        let server = ServerSettings { key: key.clone(), ..server };
        let client = ClientSettings { key: client_key, ..client };
        let mut session = Session::with(movie, vtp(VtpSettings::paper()), forth, back, server, client);
        session.run(LONG);
        assert_eq!(endings(&session).1, Some(ending));
    }
}

/// The same session with the reports of RFC 5348 instead of control packets.
#[test]
fn tfrc_drives_the_same_session() {
    let (server, client) = settings();
    let client = ClientSettings { reports: ReportKind::Tfrc(ReceiverSettings::paper()), ..client };
    let (forth, back) = path(Bitrate::from_mbps(10));
    let controller = Box::new(TfrcController::new(SenderSettings::default()));
    let mut session = Session::with(mild(), controller, forth, back, server, client);
    session.run(LONG);
    assert_eq!(endings(&session), (Some(Reason::EndOfMovie), Some(Reason::EndOfMovie)));
    assert_eq!(session.frames(), (1_080, 0));
    assert!(session.first_decided(2).is_some_and(|at| at < Timestamp::from_secs(5)));
    assert!(session.trace.last().unwrap().1.round_trip.is_some());
}
