//! A connection of RTSP.

use bytes::Bytes;
use framewire_media::audio::AudioTrack;
use framewire_units::Seed;
use framewire_wire::rtcp::{Compound, NtpTime};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtsp::{Account, Item, Reader, Response};

use super::*;
use crate::channels::SOUND_CHANNEL;

/// MPEG audio, layer II, 32 kbit/s and 48 kHz (ISO/IEC 11172-3, 2.4.1.3): packets of 96 bytes and 24 ms.
fn sound() -> Sound {
    let packet = [&[0xFF, 0xFD, 0x14, 0xC0][..], &[0; 92]].concat();
    Sound::new(AudioTrack::parse(&packet.repeat(50).into()).expect("a track"), 0).expect("it plays")
}

pub(super) fn catalogue_of(transport: &str) -> Catalogue {
    let setup = setup_of(transport, Some(&sound()));
    let (file, mp4, fragments, ts) = Default::default();
    Catalogue::new(&[Title {
        name: "a film.mpg".to_owned(),
        about: String::new(),
        file,
        mp4,
        fragments,
        ts,
        rtsp: Some(setup),
    }])
}

pub(super) fn client_of(catalogue: &Catalogue, policy: ServingPolicy, account: Option<Account>) -> Box<dyn Client> {
    rtsp_client(catalogue, policy, account, ms(0), Seed(7).stream("client", &[]))
}

/// What is written, message by message and packet by packet.
#[derive(Default)]
pub(super) struct ExchangeEvent(Reader, usize);

impl ExchangeEvent {
    pub(super) fn items(&mut self, pipe: &Pipe) -> Vec<Item> {
        self.0.feed(&pipe.written[self.1..]);
        self.1 = pipe.written.len();
        std::iter::from_fn(|| self.0.poll().expect("it is RTSP")).collect()
    }
}

/// Asks, and has the answer at once.
fn ask(client: &mut dyn Client, pipe: &mut Pipe, heard: &mut ExchangeEvent, now: Timestamp, text: &str) -> Response {
    client.handle_arrival(now, CONNECTION, Arrival::Bytes(format!("{text}\r\n\r\n").as_bytes()));
    client.drive(now, pipe).expect("the connection stands");
    let answers = heard.items(pipe).into_iter().filter_map(|item| match item {
        Item::Response(response) => Some(response),
        _ => None,
    });
    answers.last().expect("an answer")
}

/// Sets up the streams of the film, on channels 0 to 3, and plays it at a time.
pub(super) fn play(
    client: &mut dyn Client,
    pipe: &mut Pipe,
    heard: &mut ExchangeEvent,
    now: Timestamp,
    streams: usize,
) {
    let mut session = String::new();
    for stream in 0..streams {
        let channels = format!("{}-{}", 2 * stream, 2 * stream + 1);
        let text = format!(
            "SETUP rtsp://a/a%20film.mpg/track{stream} RTSP/1.0\r\nCSeq: 1\r\n\
             Transport: RTP/AVP/TCP;unicast;interleaved={channels}{session}"
        );
        let answer = ask(client, pipe, heard, now, &text);
        session = format!("\r\nSession: {}", answer.headers.get("Session").unwrap().split(';').next().unwrap());
    }
    client.handle_arrival(
        now,
        CONNECTION,
        Arrival::Bytes(format!("PLAY rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 3{session}\r\n\r\n").as_bytes()),
    );
}

#[test]
fn video_and_sound_go_between_the_messages_each_on_its_channels_with_reports() {
    let catalogue = catalogue_of("rtsp");
    let (mut client, mut pipe, mut heard) =
        (client_of(&catalogue, MANNER, None), Pipe::WIDE, ExchangeEvent(Reader::default(), 0));
    let described =
        ask(&mut *client, &mut pipe, &mut heard, ms(1), "DESCRIBE rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 0");
    let text = String::from_utf8(described.body).unwrap();
    let media: Vec<&str> = text.lines().filter(|line| line.starts_with("m=")).collect();
    assert_eq!(media, ["m=video 0 RTP/AVP 32", "m=audio 0 RTP/AVP 14"], "{text}");
    assert!(text.contains("b=RS:") && client.has_asked());
    assert!(text.contains("\r\na=range:npt=0-1.000\r\n"), "it lasts a second: {text}");
    play(&mut *client, &mut pipe, &mut heard, ms(100), 2);
    run(&mut *client, &mut pipe, ms(100), ms(20_000));
    let mut of_channels: [Vec<Vec<u8>>; 4] = Default::default();
    for item in heard.items(&pipe) {
        if let Item::Interleaved { channel, packet } = item {
            of_channels[usize::from(channel)].push(packet.to_vec());
        }
    }
    let [video, video_reports, audio, audio_reports] = of_channels;
    let markers = video.iter().filter(|packet| RtpHeader::parse(packet).unwrap().0.marker).count();
    assert_eq!((markers, audio.len()), (FRAMES as usize, 42), "sound as far as the movie lasts: a second");
    let firsts = [&video, &audio].map(|packets| RtpHeader::parse(&packets[0]).unwrap().0.timestamp);
    assert!(firsts[0] != firsts[1] && !firsts.contains(&0), "by chance: {firsts:?}");
    let times = audio.iter().map(|packet| RtpHeader::parse(packet).unwrap().0.timestamp.wrapping_sub(firsts[1]));
    assert!(times.eq((0..42).map(|number| number * 2_160)), "24 ms of 90 kHz (RFC 2250, section 3.4)");
    for (reports, first) in [&video_reports, &audio_reports].into_iter().zip(firsts) {
        let infos = reports.iter().filter_map(|report| Compound::parse(report).unwrap().reports[0].sender);
        let apart: Vec<u32> = infos
            .map(|info| {
                let since = info.ntp.0.wrapping_sub(NtpTime::of(ms(100)).0);
                info.rtp_timestamp.wrapping_sub(first).wrapping_sub(((u128::from(since) * 90_000) >> 32) as u32)
            })
            .collect();
        assert!(!apart.is_empty() && apart.iter().all(|&ticks| ticks.wrapping_add(1) <= 2), "{apart:?}");
    }
    for (reports, packets) in [(video_reports, &video), (audio_reports, &audio)] {
        let last = Compound::parse(reports.last().expect("a report at the end")).unwrap();
        assert_eq!(last.leaving.len(), 1, "{last:?}");
        let sent = reports.iter().filter_map(|report| Compound::parse(report).unwrap().reports[0].sender).next_back();
        assert_eq!(sent.expect("it has sent").packets as usize, packets.len());
    }
    let record = client.poll_record().expect("it has ended");
    assert_eq!((record.what.as_str(), record.frames, record.ending), ("/a film.mpg", [FRAMES, 0], Ending::Complete));
    assert_eq!((record.began, record.ended), (ms(100), ms(1_084)));
    assert!(client.take_lateness().iter().all(Duration::is_zero) && pipe.finished, "it ends where the client does not");
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_packet_has_its_answer_behind_it() {
    let catalogue = catalogue_of("rtsp");
    let (mut client, mut heard) = (client_of(&catalogue, MANNER, None), ExchangeEvent(Reader::default(), 0));
    let mut pipe = Pipe::WIDE;
    play(&mut *client, &mut pipe, &mut heard, ms(10), 1);
    // The answer to PLAY, and half of the first packet.
    pipe.room = 700;
    assert_eq!(run(&mut *client, &mut pipe, ms(10), ms(10)).room, ChannelSet::of(CONNECTION));
    let session = client.drive(ms(11), &mut pipe).map(|_| heard.items(&pipe)).unwrap();
    let [Item::Response(played)] = &session[..] else { panic!("{session:?}") };
    let session = played.headers.get("Session").unwrap().to_owned();
    let leave = format!("TEARDOWN rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 4\r\nSession: {session}\r\n\r\n");
    client.handle_arrival(ms(500), CONNECTION, Arrival::Bytes(leave.as_bytes()));
    pipe.room = usize::MAX;
    assert!(client.drive(ms(500), &mut pipe).unwrap().finished && pipe.finished);
    let rest = heard.items(&pipe);
    let [Item::Interleaved { channel: 0, .. }, Item::Response(left)] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!((left.status.0, client.poll_record().unwrap().ending), (200, Ending::Left));
}

#[test]
fn a_movie_is_of_those_who_know_the_password_and_silence_ends_a_session() {
    let account = Account { user: "camera".to_owned(), password: "secret".to_owned() };
    let catalogue = catalogue_of("rtsp+dependency");
    let (mut pipe, mut heard) = (Pipe::WIDE, ExchangeEvent(Reader::default(), 0));
    let mut client = client_of(&catalogue, MANNER, Some(account));
    let text = "DESCRIBE rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 0";
    let refused = ask(&mut *client, &mut pipe, &mut heard, ms(9_000), text);
    assert_eq!(refused.status.0, 401);
    let challenge = refused.headers.get("WWW-Authenticate").unwrap();
    assert!(challenge.starts_with("Digest realm=\"framewire\", nonce=\""), "{challenge}");
    // Who only guesses has no more time than who says nothing.
    assert!(client.drive(ms(10_000), &mut pipe).unwrap().finished && !client.has_asked());
    let policy = ServingPolicy { is_endless: true, ..MANNER };
    let (mut pipe, mut heard) = (Pipe::WIDE, ExchangeEvent(Reader::default(), 0));
    let mut client = client_of(&catalogue, policy, None);
    play(&mut *client, &mut pipe, &mut heard, ms(0), 2);
    let wait = run(&mut *client, &mut pipe, ms(0), ms(100_000));
    assert!(wait.finished, "60 s without a sign of life");
    let record = client.poll_record().unwrap();
    assert_eq!((record.ending, record.ended), (Ending::Left, Timestamp::ZERO + IDLE_TIMEOUT));
    assert_eq!(record.frames, [60 * FRAMES, 0]);
}

/// Asks within a session.
fn ask_in(
    (client, pipe, heard): (&mut dyn Client, &mut Pipe, &mut ExchangeEvent),
    now: Timestamp,
    (method, session): (&str, &str),
    more: &str,
) -> (Response, Vec<(u8, Bytes)>) {
    let text = format!("{method} rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 5\r\nSession: {session}\r\n{more}\r\n");
    client.handle_arrival(now, CONNECTION, Arrival::Bytes(text.as_bytes()));
    client.drive(now, pipe).expect("the connection stands");
    let (mut answer, mut packets) = (None, Vec::new());
    for item in heard.items(pipe) {
        match item {
            Item::Response(response) => answer = Some(response),
            Item::Interleaved { channel, packet } => packets.push((channel, packet)),
            Item::Request(_) => panic!("it asks nothing"),
        }
    }
    (answer.expect("an answer"), packets)
}

/// The sequence numbers and time stamps of packets on a channel, without those of the same frame behind the first.
fn frames_of<'a>(packets: impl IntoIterator<Item = &'a (u8, Bytes)>, of: u8) -> Vec<(u16, u32)> {
    let own = packets.into_iter().filter(|(channel, _)| *channel == of);
    let headers = own.map(|(_, packet)| RtpHeader::parse(packet).expect("a packet").0);
    let mut frames: Vec<(u16, u32)> = headers.map(|header| (header.sequence_number, header.timestamp)).collect();
    frames.dedup_by_key(|(_, timestamp)| *timestamp);
    frames
}

#[test]
fn a_movie_stands_still_goes_on_where_it_was_and_from_the_key_frame_before_a_place() {
    let catalogue = catalogue_of("rtsp");
    let (mut client, mut pipe, mut heard) =
        (client_of(&catalogue, MANNER, None), Pipe::WIDE, ExchangeEvent(Reader::default(), 0));
    play(&mut *client, &mut pipe, &mut heard, ms(100), 2);
    run(&mut *client, &mut pipe, ms(100), ms(310));
    let items = heard.items(&pipe);
    let session = items.iter().find_map(|item| match item {
        Item::Response(response) => response.headers.get("Session").map(str::to_owned),
        _ => None,
    });
    let session = session.expect("PLAY was answered");
    let of = |items: Vec<Item>| -> Vec<(u8, Bytes)> {
        let packets = items.into_iter().filter_map(|item| match item {
            Item::Interleaved { channel, packet } => Some((channel, packet)),
            _ => None,
        });
        packets.collect()
    };
    let mut all = of(items);
    let (first_number, first) = frames_of(&all, 0)[0];
    let first_of_sound = frames_of(&all, 2)[0].1;
    // Six frames of 40 ms, at 90 kHz.
    assert_eq!(
        frames_of(&all, 0).iter().map(|(_, at)| at.wrapping_sub(first)).collect::<Vec<_>>(),
        [0, 3_600, 7_200, 10_800, 14_400, 18_000]
    );
    let (paused, more) = ask_in((&mut *client, &mut pipe, &mut heard), ms(310), ("PAUSE", &session), "");
    assert_eq!((paused.status.0, more.len()), (200, 0));
    run(&mut *client, &mut pipe, ms(310), ms(2_000));
    assert_eq!(frames_of(&of(heard.items(&pipe)), 0), [], "it stands still, and reports go on");
    let (resumed, more) = ask_in((&mut *client, &mut pipe, &mut heard), ms(2_000), ("PLAY", &session), "");
    assert_eq!((resumed.status.0, resumed.headers.get("Range")), (200, Some("npt=0.240-")));
    all.extend(more);
    run(&mut *client, &mut pipe, ms(2_000), ms(2_031));
    all.extend(of(heard.items(&pipe)));
    let frames = frames_of(&all, 0);
    assert_eq!(
        frames.last().map(|(_, at)| at.wrapping_sub(first)),
        Some(21_600),
        "40 ms after the one before, 1.7 s of which were none"
    );
    let count = all.iter().filter(|(channel, _)| *channel == 0).count() as u16;
    let (sought, more) =
        ask_in((&mut *client, &mut pipe, &mut heard), ms(2_040), ("PLAY", &session), "Range: npt=0.9-\r\n");
    // All of this movie are key frames; 0.88 s is the last one at or before 0.9 s. Seven were sent.
    assert_eq!(sought.headers.get("Range"), Some("npt=0.880-"));
    let (number, at) = (first_number.wrapping_add(count), first.wrapping_add(7 * 3_600));
    let begins = format!("url=rtsp://a/a%20film.mpg/track0;seq={number};rtptime={at}");
    assert!(sought.headers.get("RTP-Info").is_some_and(|info| info.starts_with(&begins)), "{sought:?} {begins}");
    all.extend(more);
    run(&mut *client, &mut pipe, ms(2_040), ms(9_000));
    let rest = of(heard.items(&pipe));
    all.extend(rest);
    let sequences: Vec<u16> = all
        .iter()
        .filter(|(channel, _)| *channel == 0)
        .map(|(_, packet)| RtpHeader::parse(packet).unwrap().0.sequence_number)
        .collect();
    let in_order = sequences.iter().zip(0..).all(|(own, number)| *own == first_number.wrapping_add(number));
    assert!(in_order, "numbers go on: {sequences:?}");
    let frames: Vec<u32> = frames_of(&all, 0).iter().map(|(_, at)| at.wrapping_sub(first) / 3_600).collect();
    assert_eq!(frames, (0..10).collect::<Vec<_>>(), "seven, and the last three of the movie");
    let sound: Vec<u32> = frames_of(&all, 2).iter().map(|(_, at)| at.wrapping_sub(first_of_sound)).collect();
    assert!(sound.windows(2).all(|pair| pair[1] > pair[0]), "{sound:?}");
    let record = client.poll_record().expect("it has ended");
    // The last sound begins to play at 0.984 s.
    assert_eq!((record.frames, record.ending, record.ended), ([10, 0], Ending::Complete, ms(2_144)));
}

#[test]
fn places_that_are_none_are_refused_and_an_end_is_kept() {
    let catalogue = catalogue_of("rtsp");
    let (mut client, mut pipe, mut heard) =
        (client_of(&catalogue, MANNER, None), Pipe::WIDE, ExchangeEvent(Reader::default(), 0));
    let set_up =
        "SETUP rtsp://a/a%20film.mpg/track0 RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1";
    let answer = ask(&mut *client, &mut pipe, &mut heard, ms(0), set_up);
    let session = answer.headers.get("Session").unwrap().split(';').next().unwrap().to_owned();
    let mut say = |now, range: &str| {
        let more = format!("Range: {range}\r\n");
        ask_in((&mut *client, &mut pipe, &mut heard), now, ("PLAY", &session), &more).0
    };
    assert_eq!(say(ms(1), "npt=1-").status.0, 457, "it lasts a second");
    assert_eq!(say(ms(1), "npt=0.5-0.4").status.0, 457);
    let played = say(ms(1), "npt=0.4-0.6");
    assert_eq!((played.status.0, played.headers.get("Range")), (200, Some("npt=0.400-0.600")));
    run(&mut *client, &mut pipe, ms(1), ms(30_000));
    for refused in [(); 2].map(|()| client.poll_record().expect("refused")) {
        assert_eq!((refused.method.as_str(), refused.what.as_str()), ("PLAY", "rtsp://a/a%20film.mpg"));
        assert_eq!(refused.ending, Ending::Refused(Status::INVALID_RANGE));
    }
    let record = client.poll_record().expect("it has ended");
    assert_eq!((record.frames, record.ending, record.ended), ([5, 0], Ending::Complete, ms(161)));
}

#[test]
fn video_and_sound_go_in_datagrams_with_reports_that_are_signs_of_life() {
    let catalogue = catalogue_of("rtsp");
    let policy = ServingPolicy { is_endless: true, ..MANNER };
    let (mut client, mut pipe, mut heard) =
        (client_of(&catalogue, policy, None), Pipe::WIDE, ExchangeEvent(Reader::default(), 0));
    let mut session = String::new();
    let mut opened = Vec::new();
    for stream in 0..2 {
        let ports = 5_000 + 2 * stream;
        let text = format!(
            "SETUP rtsp://a/a%20film.mpg/track{stream} RTSP/1.0\r\nCSeq: 1\r\n{session}\
             Transport: RTP/AVP;unicast;client_port={ports}-{}\r\n\r\n",
            ports + 1
        );
        client.handle_arrival(ms(0), CONNECTION, Arrival::Bytes(text.as_bytes()));
        client.drive(ms(0), &mut pipe).unwrap();
        assert!(heard.items(&pipe).is_empty(), "the ports are not known yet");
        let opening = client.poll_opening().expect("it wants channels");
        opened.push((opening.channels.map(|setup| setup.id), opening.client));
        client.handle_opened(ms(0), Some((7_000 + 2 * stream, 7_001 + 2 * stream)));
        client.drive(ms(0), &mut pipe).unwrap();
        let items = heard.items(&pipe);
        let [Item::Response(agreed)] = &items[..] else { panic!("{items:?}") };
        let transport = agreed.headers.get("Transport").unwrap();
        assert!(
            transport.contains(&format!("server_port={}-{}", 7_000 + 2 * stream, 7_001 + 2 * stream)),
            "{transport}"
        );
        session = format!("Session: {}\r\n", agreed.headers.get("Session").unwrap().split(';').next().unwrap());
    }
    let [video, of_video, sound, of_sound] = [0, 1, 2, 3].map(ChannelId);
    assert_eq!(opened, [([video, of_video], (5_000, 5_001)), ([sound, of_sound], (5_002, 5_003))]);
    let play = format!("PLAY rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 3\r\n{session}\r\n");
    client.handle_arrival(ms(10), CONNECTION, Arrival::Bytes(play.as_bytes()));
    pipe.is_full = true;
    let wait = client.drive(ms(10), &mut pipe).unwrap();
    assert_eq!(
        (wait.room, pipe.datagrams.len()),
        (ChannelSet::of(video).and(ChannelSet::of(SOUND_CHANNEL)), 0),
        "neither socket has room"
    );
    assert!(matches!(heard.items(&pipe)[..], [Item::Response(_)]));
    pipe.is_full = false;
    run(&mut *client, &mut pipe, ms(10), ms(59_000));
    let on = |pipe: &Pipe, id: ChannelId| pipe.datagrams.iter().filter(|(channel, _)| *channel == id).count();
    let seconds = 59;
    assert!(
        on(&pipe, video) > seconds * 25 && on(&pipe, sound) > seconds * 40,
        "{} {}",
        on(&pipe, video),
        on(&pipe, sound)
    );
    let reports = |pipe: &Pipe, id: ChannelId| {
        let own = pipe.datagrams.iter().filter(|(channel, _)| *channel == id);
        own.filter_map(|(_, datagram)| Compound::parse(datagram).unwrap().reports[0].sender).collect::<Vec<_>>()
    };
    for (media, of) in [(video, of_video), (sound, of_sound)] {
        let last = *reports(&pipe, of).last().expect("reports");
        assert!(last.packets > 100 && last.packets as usize <= on(&pipe, media), "{last:?}");
    }
    // Neither what comes on the channel of packets nor nonsense is a sign of life; a report is.
    client.handle_arrival(ms(59_000), video, Arrival::Datagram(b"here I am"));
    client.handle_arrival(ms(59_000), of_video, Arrival::Datagram(b"nonsense"));
    let report = framewire_wire::rtcp::Report { ssrc: 9, ..Default::default() };
    let report = Compound { reports: vec![report], names: vec![(9, "n".to_owned())], ..Compound::default() };
    client.handle_arrival(ms(59_500), of_video, Arrival::Datagram(&report.emit().unwrap()));
    run(&mut *client, &mut pipe, ms(59_500), ms(119_400));
    assert!(client.poll_record().is_none(), "60 s from the report on");
    run(&mut *client, &mut pipe, ms(119_400), ms(130_000));
    let record = client.poll_record().expect("nothing was heard of it");
    assert_eq!((record.ending, record.ended, record.in_datagrams), (Ending::Left, ms(119_500), true));
}

#[test]
fn what_is_no_rtsp_in_the_middle_of_a_movie_is_answered_behind_the_packet_and_ends_it() {
    let catalogue = catalogue_of("rtsp");
    let huge = format!("OPTIONS * RTSP/1.0\r\nX: {}", "y".repeat(16_400));
    for (nonsense, status) in [("nonsense\r\n\r\n".to_owned(), 400), (huge, 413)] {
        let (mut client, mut heard) = (client_of(&catalogue, MANNER, None), ExchangeEvent(Reader::default(), 0));
        let mut pipe = Pipe::WIDE;
        play(&mut *client, &mut pipe, &mut heard, ms(10), 1);
        // The answer to PLAY, and half of the first packet.
        pipe.room = 700;
        run(&mut *client, &mut pipe, ms(10), ms(10));
        assert!(matches!(heard.items(&pipe)[..], [Item::Response(_)]));
        client.handle_arrival(ms(500), CONNECTION, Arrival::Bytes(nonsense.as_bytes()));
        pipe.room = usize::MAX;
        assert!(client.drive(ms(500), &mut pipe).unwrap().finished && pipe.finished);
        let rest = heard.items(&pipe);
        let [Item::Interleaved { channel: 0, .. }, Item::Response(refused)] = &rest[..] else { panic!("{rest:?}") };
        let records = [(); 2].map(|()| client.poll_record().expect("what makes no sense, and the movie"));
        assert!(records.iter().all(|record| !record.in_datagrams));
        assert_eq!(records.map(|record| record.ending), [Ending::Refused(refused.status), Ending::Left]);
        assert_eq!(refused.status.0, status);
    }
}

#[test]
fn each_session_has_a_description_of_its_own_and_one_without_an_end_says_so() {
    let catalogue = catalogue_of("rtsp");
    let described = |seed, is_endless| {
        let policy = ServingPolicy { is_endless, ..MANNER };
        let mut client = rtsp_client(&catalogue, policy, None, ms(0), Seed(seed).stream("client", &[]));
        let (mut pipe, mut heard) = (Pipe::WIDE, ExchangeEvent::default());
        let mut ask = |number| {
            let text = format!("DESCRIBE rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: {number}");
            String::from_utf8(super::rtsp::ask(&mut *client, &mut pipe, &mut heard, ms(1), &text).body).unwrap()
        };
        let first = ask(0);
        assert_eq!(ask(1), first, "within a session it is the same");
        let line = |name: &str| first.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned).unwrap();
        (line("o="), line("a=range:"))
    };
    let ((first, range), (second, _), (_, endless)) = (described(1, false), described(2, false), described(3, true));
    assert_ne!(first, second);
    let fields: Vec<&str> = first.split(' ').collect();
    let ["-", number, "0", "IN", "IP4", "0.0.0.0"] = fields[..] else { panic!("{first}") };
    assert!(number.parse::<i64>().is_ok_and(|number| number > 1 << 32), "drawn of 63 bits: {number}");
    assert_eq!((range.as_str(), endless.as_str()), ("npt=0-1.000", "npt=0-"));
}
