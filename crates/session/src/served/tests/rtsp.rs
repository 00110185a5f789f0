//! A connection of RTSP.

use framewire_media::audio::AudioTrack;
use framewire_units::Seed;
use framewire_wire::rtcp::Compound;
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtsp::{Account, Item, Reader, Response};

use super::*;
use crate::sound::Sound;

/// MPEG audio, layer II, 32 kbit/s and 48 kHz (ISO/IEC 11172-3, 2.4.1.3): packets of 96 bytes and 24 ms.
fn sound() -> Sound {
    let packet = [&[0xFF, 0xFD, 0x14, 0xC0][..], &[0; 92]].concat();
    Sound::new(AudioTrack::parse(&packet.repeat(50).into()).expect("a track"), 0).expect("it plays")
}

fn catalogue_of(transport: &str) -> Catalogue {
    let setup = setup(transport).with_interleaved_sound(&sound()).expect("RTP carries it");
    let (file, mp4, ts) = Default::default();
    Catalogue::new(&[Title { name: "a film.mpg".to_owned(), about: String::new(), file, mp4, ts, rtsp: Some(setup) }])
}

fn client_of(catalogue: &Catalogue, manner: Manner, account: Option<Account>) -> Box<dyn Client> {
    rtsp_client(catalogue, manner, account, ms(0), Seed(7).stream("client", &[]))
}

/// What is written, message by message and packet by packet.
struct Heard(Reader, usize);

impl Heard {
    fn items(&mut self, pipe: &Pipe) -> Vec<Item> {
        self.0.feed(&pipe.written[self.1..]);
        self.1 = pipe.written.len();
        std::iter::from_fn(|| self.0.poll().expect("it is RTSP")).collect()
    }
}

/// Asks, and has the answer at once.
fn ask(client: &mut dyn Client, pipe: &mut Pipe, heard: &mut Heard, now: Timestamp, text: &str) -> Response {
    client.handle_arrival(now, CONNECTION, Arrival::Bytes(format!("{text}\r\n\r\n").as_bytes()));
    client.drive(now, pipe).expect("the connection stands");
    let answers = heard.items(pipe).into_iter().filter_map(|item| match item {
        Item::Response(response) => Some(response),
        _ => None,
    });
    answers.last().expect("an answer")
}

/// Sets up the streams of the film, on channels 0 to 3, and plays it at a time.
fn play(client: &mut dyn Client, pipe: &mut Pipe, heard: &mut Heard, now: Timestamp, streams: usize) {
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

/// Drives a client whenever it asks for it, up to a time.
fn go_on(client: &mut dyn Client, pipe: &mut Pipe, from: Timestamp, until: Timestamp) -> Wait {
    let mut now = from;
    loop {
        let wait = client.drive(now, pipe).expect("the connection stands");
        match wait.timeout.filter(|&at| at <= until && !wait.finished) {
            None => return wait,
            Some(at) => now = now.max(at),
        }
    }
}

#[test]
fn video_and_sound_go_between_the_messages_each_on_its_channels_with_reports() {
    let catalogue = catalogue_of("rtsp");
    let (mut client, mut pipe, mut heard) =
        (client_of(&catalogue, MANNER, None), Pipe::WIDE, Heard(Reader::default(), 0));
    let described =
        ask(&mut *client, &mut pipe, &mut heard, ms(1), "DESCRIBE rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 0");
    let text = String::from_utf8(described.body).unwrap();
    let media: Vec<&str> = text.lines().filter(|line| line.starts_with("m=")).collect();
    assert_eq!(media, ["m=video 0 RTP/AVP 32", "m=audio 0 RTP/AVP 14"], "{text}");
    assert!(text.contains("b=RS:") && client.has_asked());
    play(&mut *client, &mut pipe, &mut heard, ms(100), 2);
    go_on(&mut *client, &mut pipe, ms(100), ms(20_000));
    let mut of_channels: [Vec<Vec<u8>>; 4] = Default::default();
    for item in heard.items(&pipe) {
        if let Item::Interleaved { channel, packet } = item {
            of_channels[usize::from(channel)].push(packet.to_vec());
        }
    }
    let [video, video_reports, audio, audio_reports] = of_channels;
    let markers = video.iter().filter(|packet| RtpHeader::parse(packet).unwrap().0.marker).count();
    assert_eq!((markers, audio.len()), (FRAMES as usize, 42), "sound as far as the movie lasts: a second");
    let times = audio.iter().map(|packet| RtpHeader::parse(packet).unwrap().0.timestamp);
    assert!(times.eq((0..42).map(|number| number * 2_160)), "24 ms of 90 kHz (RFC 2250, section 3.4)");
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
    let (mut client, mut heard) = (client_of(&catalogue, MANNER, None), Heard(Reader::default(), 0));
    let mut pipe = Pipe::WIDE;
    play(&mut *client, &mut pipe, &mut heard, ms(10), 1);
    // The answer to PLAY, and half of the first packet.
    pipe.room = 700;
    assert_eq!(go_on(&mut *client, &mut pipe, ms(10), ms(10)).room, Some(CONNECTION));
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
    let (mut pipe, mut heard) = (Pipe::WIDE, Heard(Reader::default(), 0));
    let mut client = client_of(&catalogue, MANNER, Some(account));
    let text = "DESCRIBE rtsp://a/a%20film.mpg RTSP/1.0\r\nCSeq: 0";
    let refused = ask(&mut *client, &mut pipe, &mut heard, ms(9_000), text);
    assert_eq!(refused.status.0, 401);
    let challenge = refused.headers.get("WWW-Authenticate").unwrap();
    assert!(challenge.starts_with("Digest realm=\"framewire\", nonce=\""), "{challenge}");
    // Who only guesses has no more time than who says nothing.
    assert!(client.drive(ms(10_000), &mut pipe).unwrap().finished && !client.has_asked());
    let manner = Manner { is_endless: true, ..MANNER };
    let (mut pipe, mut heard) = (Pipe::WIDE, Heard(Reader::default(), 0));
    let mut client = client_of(&catalogue, manner, None);
    play(&mut *client, &mut pipe, &mut heard, ms(0), 2);
    let wait = go_on(&mut *client, &mut pipe, ms(0), ms(100_000));
    assert!(wait.finished, "60 s without a sign of life");
    let record = client.poll_record().unwrap();
    assert_eq!((record.ending, record.ended), (Ending::Left, Timestamp::ZERO + IDLE_TIMEOUT));
    assert_eq!(record.frames, [60 * FRAMES, 0]);
}
