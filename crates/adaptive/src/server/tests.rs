use framewire_media::audio::{AudioCodec, AudioFormat, AudioPacket};
use framewire_units::{DataSize, Duration};
use framewire_wire::vtp::{
    ControlPacket, Cookie, Features, Key, Missing, MissingRange, Offer, Origin, Packet, Request,
};
use framewire_wire::vtp::{Secret, Start, Teardown, VideoHeader};
use proptest::prelude::*;

use super::*;
use crate::source::{SourceAudio, SourceError, SourcePacket};
use crate::testing::{Steps, client_address, server_settings, title};
use crate::vtp::{VtpController, VtpSettings};

const SESSION: u64 = 99;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn server_with(settings: ServerSettings) -> Server {
    let movie = Arc::new(Steps { levels: 3, frames: 100, payload: 1_000 });
    let controller = VtpController::new(VtpSettings::paper()).unwrap();
    Server::new(movie.clone(), movie, Box::new(controller), settings).unwrap()
}

/// The same with a movie that lasts.
fn long_server(settings: ServerSettings) -> Server {
    let movie = Arc::new(Steps { levels: 1, frames: 10_000, payload: 1_000 });
    let controller = VtpController::new(VtpSettings::paper()).unwrap();
    Server::new(movie.clone(), movie, Box::new(controller), settings).unwrap()
}

fn server() -> Server {
    server_with(server_settings())
}

fn bytes(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![];
    packet.emit(&mut bytes);
    bytes
}

fn request() -> Vec<u8> {
    bytes(&Packet::Request(Request { session: SESSION, title: title() }))
}

/// The cookie that a request from an address earns.
fn cookie(server: &mut Server, now: Timestamp, channel: Channel, from: SocketAddr) -> Cookie {
    server.handle_datagram(now, channel, from, &request());
    let answer = server.poll_transmit(now).expect("an answer");
    assert_eq!((answer.channel, answer.to), (channel, from));
    match Packet::parse(&answer.bytes) {
        Ok(Packet::Description(description)) => description.cookie,
        other => panic!("{other:?}"),
    }
}

fn start(cookie: Cookie) -> Vec<u8> {
    bytes(&Packet::Start(Start { session: SESSION, title: title(), cookie }))
}

/// A server that streams since `now`.
fn streaming(now: Timestamp) -> Server {
    started(server(), now)
}

/// The same server, once its client has proved its addresses.
fn started(mut server: Server, now: Timestamp) -> Server {
    for channel in Channel::BOTH {
        let cookie = cookie(&mut server, now, channel, client_address(channel));
        server.handle_datagram(now, channel, client_address(channel), &start(cookie));
    }
    assert!(matches!(server.poll_event(), Some(ServerEvent::Started { session: SESSION, .. })));
    server
}

fn video(transmit: &Transmit) -> VideoHeader {
    match Packet::parse(&transmit.bytes) {
        Ok(Packet::Video(header, _)) => header,
        other => panic!("{other:?}"),
    }
}

fn drops(server: &Server, reason: DropReason) -> u64 {
    server.state().drops.of(reason)
}

#[test]
fn video_flows_once_both_addresses_are_proved() {
    let mut server = server();
    let [data, control] = Channel::BOTH.map(client_address);
    let data_cookie = cookie(&mut server, at(0), Channel::Data, data);
    server.handle_datagram(at(1), Channel::Data, data, &start(data_cookie));
    assert_eq!((server.poll_transmit(at(1)), server.poll_event()), (None, None));
    let control_cookie = cookie(&mut server, at(2), Channel::Control, control);
    server.handle_datagram(at(3), Channel::Control, control, &start(control_cookie));
    assert_eq!(server.poll_event(), Some(ServerEvent::Started { session: SESSION, data, control }));
    let first = server.poll_transmit(at(3)).unwrap();
    assert_eq!((first.channel, first.to), (Channel::Data, data));
    assert_eq!((video(&first).sequence, video(&first).frame, video(&first).level), (0, 0, 0));
    // Level 0 of this movie: a packet of 1,000 bytes each 40 ms.
    assert_eq!((server.poll_transmit(at(42)), server.next_timeout()), (None, Some(at(43))));
    assert_eq!(video(&server.poll_transmit(at(43)).unwrap()).sequence, 1);
}

#[test]
fn no_cookie_no_video() {
    let mut server = server();
    let [data, control] = Channel::BOTH.map(client_address);
    let elsewhere: SocketAddr = "198.51.100.7:5000".parse().unwrap();
    let good = cookie(&mut server, at(0), Channel::Data, data);
    let attempts = [
        (Channel::Data, data, Cookie([0; 16]), 0, "a guess"),
        (Channel::Data, elsewhere, good, 0, "another address"),
        (Channel::Control, data, good, 0, "another channel"),
        (Channel::Data, data, good, 20_000, "too late"),
    ];
    for (channel, from, cookie, millis, what) in attempts {
        let before = drops(&server, DropReason::BadCookie);
        server.handle_datagram(at(millis), channel, from, &start(cookie));
        assert_eq!(drops(&server, DropReason::BadCookie), before + 1, "{what}");
    }
    server.handle_datagram(at(20_000), Channel::Control, control, &request());
    assert!(server.state().decision.is_none());
}

#[test]
fn an_unproved_address_gets_no_more_than_it_sent_and_nothing_is_remembered() {
    let mut server = server();
    for port in 1..2_000 {
        let from = SocketAddr::from(([203, 0, 113, 5], port));
        let request = request();
        server.handle_datagram(at(0), Channel::Data, from, &request);
        let answer = server.poll_transmit(at(0)).unwrap();
        assert!(answer.bytes.len() <= request.len());
        assert_eq!((server.poll_transmit(at(0)), server.next_timeout()), (None, None));
    }
    // A client that does not fetch the answers loses them.
    (0..200).for_each(|_| server.handle_datagram(at(0), Channel::Data, client_address(Channel::Data), &request()));
    assert_eq!((server.answers.len(), drops(&server, DropReason::NoRoom)), (MAX_ANSWERS, 200 - MAX_ANSWERS as u64));
}

#[test]
fn an_unknown_title_is_refused_with_its_reason() {
    let mut server = server();
    let other = Request { session: SESSION, title: framewire_wire::vtp::Title::new("other").unwrap() };
    server.handle_datagram(at(0), Channel::Data, client_address(Channel::Data), &bytes(&Packet::Request(other)));
    let answer = server.poll_transmit(at(0)).unwrap();
    let refused = Teardown { session: SESSION, reason: Reason::UnknownTitle };
    assert_eq!(Packet::parse(&answer.bytes), Ok(Packet::Teardown(refused)));
}

fn control(sequence: u32, sender_time: Timestamp, report: u32) -> ControlPacket {
    ControlPacket {
        session: SESSION,
        sequence,
        sender_time,
        receiver_time: at(1_000 + u64::from(report)),
        size: DataSize::from_bytes(1_000),
        report,
        first_arrival: at(1_000),
        packets: 5,
        buffer_free: None,
    }
}

#[test]
fn every_hostile_report_is_dropped_for_its_reason() {
    let mut server = streaming(at(0));
    server.poll_transmit(at(0));
    let good = control(4, at(160), 7);
    let from = client_address(Channel::Control);
    let cases = [
        (Channel::Control, from, ControlPacket { session: 1, ..good }, DropReason::Foreign),
        (Channel::Control, "198.51.100.7:5001".parse().unwrap(), good, DropReason::Foreign),
        (Channel::Data, client_address(Channel::Data), good, DropReason::Unexpected),
    ];
    for (channel, from, control, reason) in cases {
        let before = drops(&server, reason);
        server.handle_datagram(at(1), channel, from, &bytes(&Packet::Control(control)));
        assert_eq!(drops(&server, reason), before + 1, "{control:?}");
    }
    server.handle_datagram(at(1), Channel::Control, from, &bytes(&Packet::Control(good)));
    assert_eq!(drops(&server, DropReason::Stale), 0);
    for report in [7, 6, 0] {
        server.handle_datagram(at(1), Channel::Control, from, &bytes(&Packet::Control(control(9, at(1), report))));
    }
    assert_eq!(drops(&server, DropReason::Stale), 3, "a replay, and older ones");
    server.handle_datagram(at(1), Channel::Control, from, b"nonsense");
    assert_eq!(drops(&server, DropReason::Malformed), 1);
}

#[test]
fn with_a_key_nothing_passes_without_its_tag() {
    let key = Key::new(&[3; 32]).unwrap();
    let mut server = server_with(ServerSettings { key: Some(key.clone()), ..server_settings() });
    let from = client_address(Channel::Data);
    server.handle_datagram(at(0), Channel::Data, from, &request());
    assert_eq!((server.poll_transmit(at(0)), drops(&server, DropReason::NotAuthentic)), (None, 1));
    let mut sealed = request();
    key.seal(Origin::Client, &mut sealed);
    server.handle_datagram(at(0), Channel::Data, from, &sealed);
    let answer = server.poll_transmit(at(0)).unwrap();
    assert!(matches!(Packet::parse(key.open(Origin::Server, &answer.bytes).unwrap()), Ok(Packet::Description(_))));
    // Its own answer, sent back, is not taken for the client's.
    server.handle_datagram(at(0), Channel::Data, from, &answer.bytes);
    assert_eq!(drops(&server, DropReason::NotAuthentic), 2);
}

#[test]
fn a_client_that_vanishes_ends_the_session() {
    let mut server = streaming(at(0));
    let mut now = at(0);
    let mut sent = 0;
    while let Some(next) = server.next_timeout() {
        now = next.max(now);
        while let Some(transmit) = server.poll_transmit(now) {
            sent += u32::from(transmit.channel == Channel::Data);
        }
    }
    let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
    // Level 0 takes 4 s for 100 frames; the end is not acknowledged, and sent four times in 2 s.
    assert_eq!((sent, events), (100, vec![ServerEvent::Ended(Reason::EndOfMovie)]));
    let mut server = streaming(at(0));
    server.settings.peer_timeout = Duration::from_secs(1);
    let mut now = at(0);
    while let Some(next) = server.next_timeout() {
        now = next.max(now);
        while server.poll_transmit(now).is_some() {}
    }
    assert_eq!(server.poll_event(), Some(ServerEvent::Ended(Reason::Vanished)));
    assert!(server.is_finished() && now < at(4_000), "{now}");
}

#[test]
fn a_clock_that_jumps_ends_no_session() {
    let mut server = streaming(Timestamp::from_secs(1_000));
    server.poll_transmit(Timestamp::from_secs(1_000));
    for now in [2_000_000, 5, 60_000].map(Timestamp::from_secs) {
        let before = server.state().packets;
        let sent = (0..100).filter(|millis| server.poll_transmit(now + Duration::from_millis(*millis)).is_some());
        assert!((1..=4).contains(&sent.count()), "at {now}");
        assert!(server.state().packets > before);
    }
    assert_eq!(server.poll_event(), None);
}

#[test]
fn a_teardown_is_acknowledged_and_ends_the_session() {
    let mut server = streaming(at(0));
    let from = client_address(Channel::Control);
    let stop = Packet::Teardown(Teardown { session: SESSION, reason: Reason::Stopped });
    server.handle_datagram(at(1), Channel::Control, "198.51.100.7:1".parse().unwrap(), &bytes(&stop));
    assert_eq!(drops(&server, DropReason::Foreign), 1);
    server.handle_datagram(at(1), Channel::Control, from, &bytes(&stop));
    let answer = server.poll_transmit(at(1)).unwrap();
    let acknowledged = Packet::Teardown(Teardown { session: SESSION, reason: Reason::Acknowledged });
    assert_eq!(Packet::parse(&answer.bytes), Ok(acknowledged));
    assert_eq!(server.poll_event(), Some(ServerEvent::Ended(Reason::Stopped)));
    assert!(server.is_finished() && server.poll_transmit(at(100)).is_none());
}

#[test]
fn a_second_client_is_told_that_the_server_is_busy() {
    let mut server = server();
    let [data, _] = Channel::BOTH.map(client_address);
    let cookie = cookie(&mut server, at(0), Channel::Data, data);
    server.handle_datagram(at(0), Channel::Data, data, &start(cookie));
    let other = Packet::Request(Request { session: SESSION + 1, title: title() });
    server.handle_datagram(at(1), Channel::Data, "198.51.100.7:1".parse().unwrap(), &bytes(&other));
    let refused = Teardown { session: SESSION + 1, reason: Reason::Busy };
    assert_eq!(Packet::parse(&server.poll_transmit(at(1)).unwrap().bytes), Ok(Packet::Teardown(refused)));
    // The first client never sends its other start: after the timeout another may come.
    server.poll_transmit(at(2));
    let mut now = at(2);
    while let Some(next) = server.next_timeout() {
        now = next;
        server.poll_transmit(now);
    }
    server.handle_datagram(now, Channel::Data, data, &bytes(&other));
    let answer = server.poll_transmit(now).unwrap();
    assert!(matches!(Packet::parse(&answer.bytes), Ok(Packet::Description(_))));
}

/// What has no number can be replayed: it keeps no session alive. What has one does, once.
#[test]
fn nothing_that_is_replayed_keeps_a_session_alive() {
    let key = Key::new(&[3; 32]).unwrap();
    let sealed = |packet: &Packet<'_>| {
        let mut bytes = bytes(packet);
        key.seal(Origin::Client, &mut bytes);
        bytes
    };
    let offer = sealed(&Packet::Offer(Offer { session: SESSION, features: Features::REPEATS }));
    let missing = sealed(&Packet::Missing(Missing { session: SESSION, report: 0, next: 1, shown: 0, ranges: vec![] }));
    let report = sealed(&Packet::Control(control(4, at(160), 0)));
    let mut starts = vec![];
    let settings = ServerSettings { key: Some(key.clone()), repeats: true, ..server_settings() };
    let mut server = long_server(settings);
    for channel in Channel::BOTH {
        let request = Request { session: SESSION, title: title() };
        server.handle_datagram(at(0), channel, client_address(channel), &sealed(&Packet::Request(request)));
        let answer = server.poll_transmit(at(0)).unwrap();
        let answer = Packet::parse(key.open(Origin::Server, &answer.bytes).unwrap()).unwrap();
        let Packet::Description(Description { cookie, .. }) = answer else { panic!("{answer:?}") };
        starts.push(sealed(&Packet::Start(Start { session: SESSION, title: title(), cookie })));
        server.handle_datagram(at(0), channel, client_address(channel), starts.last().unwrap());
    }
    server.poll_event().expect("the session began");
    let mut ended = None;
    for millis in 0..60_000 {
        let now = at(millis);
        if millis % 3_000 == 0 {
            for datagram in [&offer, &missing, &report] {
                server.handle_datagram(now, Channel::Control, client_address(Channel::Control), datagram);
            }
            for channel in Channel::BOTH {
                server.handle_datagram(now, channel, client_address(channel), &starts[channel.index()]);
            }
        }
        while server.poll_transmit(now).is_some() {}
        if let Some(ServerEvent::Ended(reason)) = server.poll_event() {
            ended.get_or_insert((millis, reason));
        }
    }
    // Their first coming counts, here at once but for the list: before the first packet it was none.
    assert!(matches!(ended, Some((12_000..=12_001, Reason::Vanished))), "10 s, and 2 s of teardowns: {ended:?}");
}

/// Frame 22 is a P frame and was lost first, 24 is an I frame.
#[test]
fn key_frames_are_repeated_before_what_was_lost_earlier() {
    let mut server = started(server_with(ServerSettings { repeats: true, ..server_settings() }), at(0));
    let from = client_address(Channel::Control);
    let offer = Packet::Offer(Offer { session: SESSION, features: Features::REPEATS });
    server.handle_datagram(at(0), Channel::Control, from, &bytes(&offer));
    assert!(matches!(Packet::parse(&server.poll_transmit(at(0)).unwrap().bytes), Ok(Packet::Offer(_))));
    for frame in 0..27 {
        let sent = video(&server.poll_transmit(at(40 * u64::from(frame))).unwrap());
        assert_eq!((sent.sequence, sent.frame, sent.key), (frame, frame, frame % 12 == 0));
    }
    let ranges = [5, 3].map(|back| MissingRange { back, count: 1 }).into();
    let missing = Packet::Missing(Missing { session: SESSION, report: 0, next: 27, shown: 0, ranges });
    server.handle_datagram(at(1_045), Channel::Control, from, &bytes(&missing));
    let again = [27, 28, 29].map(|number| video(&server.poll_transmit(at(40 * number)).unwrap()));
    let said = again.map(|header| (header.repeats, header.frame, header.key));
    assert_eq!(said, [(Some(24), 24, true), (Some(22), 22, false), (None, 27, false)]);
}

/// A movie of two frames with five packets of audio behind the last one.
struct Sounding(Steps);

impl PacketSource for Sounding {
    fn levels(&self) -> usize {
        self.0.levels
    }

    fn frames(&self) -> u32 {
        self.0.frames()
    }

    fn time_of(&self, frame: u32) -> Duration {
        self.0.time_of(frame)
    }

    fn duration(&self) -> Duration {
        self.0.duration()
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        self.0.is_switch_point(frame)
    }

    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        self.0.packet(frame, level, index)
    }

    fn audio(&self) -> Option<SourceAudio> {
        let format = AudioFormat { codec: AudioCodec::Mp3, sample_rate: 48_000, channels: 2, pre_skip: 0 };
        Some(SourceAudio { format, packets: 5, rate: framewire_units::Bitrate::from_kbps(64) })
    }

    fn audio_before(&self, frame: u32) -> u32 {
        if frame < self.frames() { 0 } else { 5 }
    }

    fn audio_packet(&self, number: u32) -> Result<AudioPacket, SourceError> {
        assert!(number < 5);
        let time = self.duration() + Duration::from_millis(1) * number;
        Ok(AudioPacket { time, duration: Duration::from_millis(1), bytes: vec![number as u8; 100].into() })
    }
}

#[test]
fn a_stream_is_not_over_before_its_audio() {
    let movie = || Steps { levels: 1, frames: 2, payload: 1_000 };
    let controller = Box::new(VtpController::new(VtpSettings::paper()).unwrap());
    let server = Server::new(Arc::new(Sounding(movie())), Arc::new(movie()), controller, server_settings());
    let mut server = started(server.unwrap(), at(0));
    let mut sent = vec![];
    for now in (0..500).map(at) {
        while let Some(transmit) = server.poll_transmit(now).filter(|transmit| transmit.channel == Channel::Data) {
            let header = video(&transmit);
            sent.push((header.audio, header.frame));
        }
    }
    let audio = (0..5).map(|number| (true, number));
    assert_eq!(sent, [(false, 0), (false, 1)].into_iter().chain(audio).collect::<Vec<_>>());
    assert_eq!(server.state().audio, 5);
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let movie = Arc::new(Steps { levels: 3, frames: 100, payload: 1_000 });
    let other = Arc::new(Steps { levels: 2, frames: 100, payload: 1_000 });
    let new = |plan: Arc<Steps>, settings| {
        let controller = VtpController::new(VtpSettings::paper()).unwrap();
        Server::new(movie.clone(), plan, Box::new(controller), settings).err().map(|error| error.to_string())
    };
    let no_requests = ServerSettings { ack_every: 0, ..server_settings() };
    assert_eq!(new(movie.clone(), no_requests).as_deref(), Some("k is 0, allowed: at least 1"));
    assert_eq!(new(other, server_settings()).as_deref(), Some("the plan has 2 levels and the movie 3"));
    let alpha = VtpController::new(VtpSettings { alpha: 1.0, ..VtpSettings::paper() }).err().unwrap();
    assert_eq!(alpha.to_string(), "VTP alpha: 1, allowed: 0 to below 1");
    let _ = Secret::new([0; 32]);
}

proptest! {
    /// Any datagrams at any times: no panic, queues within their bounds, and a rate within the plan.
    #[test]
    fn anything_at_any_time(
        steps in proptest::collection::vec((any::<u32>(), 0u8..6, any::<u32>(), any::<u32>(), any::<[u8; 8]>()), 0..150),
    ) {
        let mut server = streaming(at(0));
        for (report, (millis, kind, sequence, size, noise)) in (0u32..).zip(steps) {
            let now = at(u64::from(millis % 100_000));
            let sender_time = Timestamp::from_nanos(u64::from_be_bytes(noise) >> 2);
            let packet = ControlPacket { size: DataSize::from_bytes(size.into()), ..control(sequence, sender_time, report) };
            let mut datagram = bytes(&Packet::Control(packet));
            if kind == 1 {
                let place = sequence as usize % datagram.len();
                datagram[place] ^= noise[0];
            }
            if kind == 2 {
                datagram = noise.to_vec();
            }
            if kind < 4 {
                server.handle_datagram(now, Channel::Control, client_address(Channel::Control), &datagram);
            }
            if kind > 2 {
                while server.poll_transmit(now).is_some() {}
            }
            let state = server.state();
            let (floor, cap) = (state.plan[0], state.plan[2]);
            prop_assert!(state.decision.is_some_and(|decision| decision.rate >= floor && decision.rate <= cap));
            prop_assert!(server.answers.len() <= MAX_ANSWERS && server.events.len() <= MAX_EVENTS);
        }
    }
}
