//! Clients without a network: what they ask for, and what they are written.

use std::sync::Arc;

use framewire_media::Movie;
use framewire_scenario::{Pacing, Scenario};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::http::{IDLE_TIMEOUT, Item, Reader, Status};

use super::*;
use crate::flow::{FlowSetup, StreamSetup};
use crate::half::{Arrival, ChannelId, ChannelSet, Channels, Wait};
use crate::plan::SendingPlan;
use crate::sound::Sound;

mod first_packets;
mod ledgers;
mod rtsp;

const FRAMES: u32 = 25;

const AS_IT_IS: &[u8] = b"the file as it is on the disk";

/// A second of MPEG-2 (ISO/IEC 13818-2, 6.2): a sequence, groups and I pictures of one slice, of some 2 kB each.
fn movie() -> Movie {
    let mut bytes = Vec::new();
    for frame in 0..FRAMES {
        bytes.extend([0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40]);
        bytes.extend([0, 0, 1, 0, 0, 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80]);
        bytes.extend((0..2_000 + frame).map(|place| (place + frame) as u8 | 0x80));
    }
    Movie::parse(bytes.into()).expect("a movie")
}

fn setup(transport: &str) -> StreamSetup {
    setup_of(transport, None)
}

fn setup_of(transport: &str, sound: Option<&Sound>) -> StreamSetup {
    let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("well formed");
    let plan = SendingPlan::new(movie(), Timestamp::ZERO);
    let plan = sound.into_iter().fold(plan, SendingPlan::with_sound);
    match FlowSetup::of_movie(&scenario.flows[0], plan, crate::RtpSeed::default()).expect("it sends the movie") {
        FlowSetup::Stream(setup) => setup,
        other => panic!("{other:?}"),
    }
}

fn catalogue() -> Catalogue {
    let file =
        (Arc::new(bytes::Bytes::from_static(AS_IT_IS)) as Arc<_>, AS_IT_IS.len() as u64, "video/mpeg".to_owned());
    let [mp4, fragments, ts] = ["http", "http+fmp4", "http+ts"].map(|transport| Some(setup(transport)));
    let (name, about, file) = ("a & b.mpg".to_owned(), "1 s".to_owned(), Some(file));
    let title = Title { name, about, file, mp4, fragments, ts, rtsp: None };
    Catalogue::new(&[title])
}

const MANNER: ServingPolicy = ServingPolicy {
    pacing: Pacing::Sender,
    ahead: Duration::ZERO,
    is_endless: false,
    first_request: Duration::from_secs(10),
    next_request: IDLE_TIMEOUT,
};

/// A connection with so much room.
struct Pipe {
    room: usize,
    written: Vec<u8>,
    /// What was sent beside it, and on which channel.
    datagrams: Vec<(ChannelId, Vec<u8>)>,
    /// No datagram is taken.
    is_full: bool,
    finished: bool,
}

impl Pipe {
    const WIDE: Self =
        Self { room: usize::MAX, written: Vec::new(), datagrams: Vec::new(), is_full: false, finished: false };
}

impl Channels for Pipe {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        assert_ne!(channel, CONNECTION, "it is a stream");
        if self.is_full {
            return Ok(DatagramSend::WouldBlock);
        }
        self.datagrams.push((channel, datagram.to_vec()));
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        panic!("it is a stream")
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        let taken = self.room.min(bytes.len());
        self.room -= taken;
        self.written.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.finished = true;
        Ok(())
    }
}

const fn ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn get(path: &str, more: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n").into_bytes()
}

fn say(client: &mut dyn Client, now: Timestamp, bytes: &[u8]) {
    client.handle_arrival(now, CONNECTION, Arrival::Bytes(bytes));
}

/// Drives a client from a time on whenever it asks for it, until it waits for a request or for room.
fn run(client: &mut dyn Client, pipe: &mut Pipe, from: Timestamp, until: Timestamp) -> Wait {
    let mut now = from;
    loop {
        let wait = client.drive(now, pipe).expect("the connection stands");
        match wait.timeout.filter(|&at| at <= until && !wait.finished) {
            None => return wait,
            Some(at) => now = now.max(at),
        }
    }
}

/// The bodies of the responses that were written, and their codes.
fn bodies(pipe: &Pipe) -> Vec<(u16, Vec<u8>)> {
    let (mut reader, mut bodies) = (Reader::default(), Vec::<(u16, Vec<u8>)>::new());
    reader.feed(&pipe.written);
    if pipe.finished {
        reader.finish();
    }
    while let Some(item) = reader.poll().expect("it is HTTP") {
        match item {
            Item::Response(response, _) => bodies.push((response.status.0, Vec::new())),
            Item::Body(piece) => bodies.last_mut().expect("a response before").1.extend(&piece),
            Item::Request(_) | Item::End => {}
        }
    }
    bodies
}

/// What one request is answered with, as fast as it is taken.
fn fetched(path: &str, more: &str) -> Vec<u8> {
    let policy = ServingPolicy { pacing: Pacing::Unpaced, ..MANNER };
    let (mut client, mut pipe) = (http_client(&catalogue(), policy, None, ms(0)), Pipe::WIDE);
    say(&mut *client, ms(1), &get(path, more));
    run(&mut *client, &mut pipe, ms(1), ms(1));
    bodies(&pipe).remove(0).1
}

#[test]
fn a_part_of_a_file_is_that_part_of_the_whole_wherever_it_begins_and_ends() {
    let whole = fetched("/mp4/a%20%26%20b.mp4", "");
    assert_eq!(&whole[4..8], b"ftyp");
    let samples: usize = movie().index.frames.iter().map(|frame| frame.size as usize).sum();
    let index = whole.len() - samples;
    assert_eq!(whole[index..], movie().to_bytes(), "frames of MPEG-2 stand in a file as they are");
    let places = [0, 1, index - 1, index, index + 1, index + 2_034, index + 2_035, whole.len() - 1];
    for (from, to) in places.iter().flat_map(|&from| places.map(|to| (from, to))).filter(|(from, to)| from <= to) {
        let part = fetched("/mp4/a%20%26%20b.mp4", &format!("Range: bytes={from}-{to}\r\n"));
        assert!(part == whole[from..=to], "{from} to {to} of {}, whose index has {index}", whole.len());
    }
    assert_eq!(fetched("/a%20&%20b.mpg", ""), AS_IT_IS);
    assert_eq!(fetched("/a%20&%20b.mpg", "Range: bytes=4-7\r\n"), b"file");
    let page = String::from_utf8(fetched("/", "")).unwrap();
    assert!(page.contains("<h2>a &amp; b.mpg</h2>") && page.contains("src=\"/mp4/a%20%26%20b.mp4\""), "{page}");
}

#[test]
fn a_film_in_fragments_is_played_as_it_comes_and_begins_anew_where_it_is_endless() {
    for is_endless in [false, true] {
        let policy = ServingPolicy { is_endless, ..MANNER };
        let (mut client, mut pipe) = (http_client(&catalogue(), policy, None, ms(0)), Pipe::WIDE);
        say(&mut *client, ms(1), &get("/fmp4/a%20%26%20b.mp4", ""));
        let mut file = framewire_wire::mp4::Demultiplexer::new(DataSize::from_bytes(1 << 20));
        let (mut read, mut arrivals, mut frames, mut body) = (0, Vec::new(), Vec::new(), Vec::new());
        for now in (1..=5_001).map(ms) {
            run(&mut *client, &mut pipe, now, now);
            body = bodies(&pipe).remove(0).1;
            file.handle_bytes(now, &body[read..]);
            read = body.len();
            while let Some(unit) = file.poll_unit() {
                arrivals.push(unit.arrival);
                frames.extend_from_slice(&unit.bytes);
            }
        }
        assert_eq!(file.poll_fault(), None);
        let count = movie().index.frames.len();
        assert_eq!(arrivals.len(), if is_endless { 126 } else { count }, "one each 40 ms");
        let whole = movie().to_bytes();
        assert!(
            frames.chunks(whole.len()).all(|pass| whole.starts_with(pass)),
            "frames of MPEG-2 stand in a file as they are"
        );
        // When a fragment is decoded (ISO/IEC 14496-12, 8.8.12): 8 bytes behind the version and the flags.
        let decoded = body.windows(16).filter(|bytes| bytes.starts_with(b"tfdt"));
        let decoded: Vec<u64> = decoded.map(|bytes| u64::from_be_bytes(bytes[8..].try_into().unwrap())).collect();
        assert_eq!(decoded.len(), arrivals.len());
        assert!(decoded.windows(2).all(|pair| pair[1] - pair[0] == 3_600), "also where it begins anew");
        assert!(arrivals.windows(2).all(|pair| pair[1].nanos_since(pair[0]) == 40_000_000));
        assert_eq!(client.poll_record().map(|record| record.frames), (!is_endless).then_some([count as u32, 0]));
    }
}

#[test]
fn several_requests_on_a_connection_are_answered_in_order_and_recorded() {
    let (mut client, mut pipe) = (http_client(&catalogue(), MANNER, None, ms(0)), Pipe::WIDE);
    assert!(!client.has_asked());
    let both = [get("/a%20&%20b.mpg", ""), get("/mp4/a%20%26%20b.mp4", "Range: bytes=-5000\r\n"), get("/none", "")];
    say(&mut *client, ms(5), &both.concat());
    assert!(client.has_asked());
    let wait = run(&mut *client, &mut pipe, ms(5), ms(5_000));
    let answers: Vec<_> = bodies(&pipe).into_iter().map(|(status, body)| (status, body.len())).collect();
    assert_eq!(answers, [(200, AS_IT_IS.len()), (206, 5_000), (404, 0)]);
    let [file, part] = [(); 2].map(|()| client.poll_record().expect("two bodies"));
    assert_eq!((file.what.as_str(), file.sent, file.ending), ("/a & b.mpg", AS_IT_IS.len() as u64, Ending::Complete));
    // The last 5,000 bytes begin in the last frame but two: it goes at once, and the others 40 ms later each.
    assert_eq!((part.sent, part.frames, part.began, part.ended), (5_000, [3, 0], ms(5), ms(85)));
    assert_eq!((part.latest, client.take_lateness().len()), (Some(Duration::ZERO), 2));
    let refused = client.poll_record().expect("what is refused is told, too");
    assert_eq!((refused.method.as_str(), refused.what.as_str(), refused.sent), ("GET", "/none", 0));
    assert_eq!((refused.began, refused.ending), (ms(85), Ending::Refused(Status::NOT_FOUND)));
    assert_eq!((client.poll_record(), wait.finished), (None, false), "the connection stays open");
    assert_eq!(wait.timeout, Some(ms(85) + IDLE_TIMEOUT));
}

#[test]
fn who_asks_is_recorded_and_so_is_what_has_no_body() {
    let (mut client, mut pipe) = (http_client(&catalogue(), MANNER, None, ms(0)), Pipe::WIDE);
    let head = b"HEAD /a%20&%20b.mpg HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let put = b"PUT / HTTP/1.1\r\nHost: a\r\nUser-Agent: other\r\n\r\n".to_vec();
    let get = get("/a%20&%20b.mpg", "User-Agent: test/1 (stream)\r\n");
    say(&mut *client, ms(5), &[get, head, put].concat());
    run(&mut *client, &mut pipe, ms(5), ms(100));
    let records = [(); 3].map(|()| client.poll_record().expect("three requests"));
    let told = records.map(|record| (record.method, record.what, record.user_agent, record.ending));
    let told_of = |method: &str, what: &str, agent: Option<&str>, ending| {
        (method.to_owned(), what.to_owned(), agent.map(str::to_owned), ending)
    };
    assert_eq!(
        told,
        [
            told_of("GET", "/a & b.mpg", Some("test/1 (stream)"), Ending::Complete),
            told_of("HEAD", "/a%20&%20b.mpg", None, Ending::Complete),
            told_of("PUT", "/", Some("other"), Ending::Refused(Status::METHOD_NOT_ALLOWED)),
        ]
    );
    assert_eq!(client.poll_record(), None);
}

#[test]
fn a_stream_goes_by_the_frame_clock_ahead_of_it_by_a_time_and_begins_anew_where_it_is_endless() {
    let policy = ServingPolicy { ahead: Duration::from_millis(200), is_endless: true, ..MANNER };
    let (mut client, mut pipe) = (http_client(&catalogue(), policy, None, ms(0)), Pipe::WIDE);
    say(&mut *client, ms(100), &get("/ts/a%20%26%20b.ts", ""));
    let frames = |client: &mut dyn Client, pipe: &mut Pipe, now| {
        run(client, pipe, now, now);
        bodies(pipe)[0].1.len() / 2_000
    };
    // Frames that are due within 200 ms go at once, and later 25 a second; each is 2.4 kB in packets of 188 bytes.
    let first = frames(&mut *client, &mut pipe, ms(100));
    assert!((6..=8).contains(&first), "{first}");
    for now in (101..=10_100).map(ms) {
        frames(&mut *client, &mut pipe, now);
    }
    assert!(client.take_lateness().iter().all(Duration::is_zero));
    let body = bodies(&pipe).remove(0).1;
    assert!(body.chunks(188).all(|packet| packet[0] == 0x47 && packet.len() == 188));
    let mut demultiplexer = framewire_wire::mpeg_ts::Demultiplexer::new(None, DataSize::from_bytes(1 << 20));
    demultiplexer.handle_bytes(ms(0), &body);
    let times: Vec<u64> =
        std::iter::from_fn(|| demultiplexer.poll_unit()).filter_map(|unit| unit.presentation).collect();
    assert_eq!(demultiplexer.poll_fault(), None, "counters go on");
    assert!((254..=256).contains(&times.len()), "ten seconds, and what is ahead: {}", times.len());
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 3_600), "40 ms each, also where it begins anew");
    assert!(client.poll_record().is_none());
    client.handle_arrival(ms(10_200), CONNECTION, Arrival::Ended);
    let record = client.poll_record().expect("it left");
    assert_eq!((record.ending, record.ended, record.bytes), (Ending::Left, ms(10_200), None));
}

#[test]
fn a_client_that_takes_little_waits_for_room_and_one_that_takes_much_for_its_turn() {
    let policy = ServingPolicy { pacing: Pacing::Unpaced, is_endless: true, ..MANNER };
    let (mut client, mut pipe) = (http_client(&catalogue(), policy, None, ms(0)), Pipe { room: 3_000, ..Pipe::WIDE });
    say(&mut *client, ms(1), &get("/ts/a%20%26%20b.ts", ""));
    let wait = client.drive(ms(1), &mut pipe).unwrap();
    assert_eq!((wait.room, wait.timeout, pipe.written.len()), (ChannelSet::of(CONNECTION), None, 3_000));
    pipe.room = usize::MAX;
    let wait = client.drive(ms(2), &mut pipe).unwrap();
    assert_eq!((wait.room, wait.timeout), (ChannelSet::NONE, Some(ms(2))));
    assert!(pipe.written.len() <= 3_000 + (256 << 10));
    client.stop(ms(3));
    assert_eq!(client.poll_record().unwrap().ending, Ending::Stopped);
}

#[test]
fn a_connection_that_says_nothing_or_nonsense_ends() {
    let (mut client, mut pipe) = (http_client(&catalogue(), MANNER, None, ms(0)), Pipe::WIDE);
    assert_eq!(run(&mut *client, &mut pipe, ms(0), ms(9_999)).timeout, Some(ms(10_000)));
    assert!(client.drive(ms(10_000), &mut pipe).unwrap().finished && pipe.finished && !client.has_asked());
    let (mut client, mut pipe) = (http_client(&catalogue(), MANNER, None, ms(0)), Pipe::WIDE);
    say(&mut *client, ms(0), b"SETUP rtsp://a/b RTSP/1.0\r\n\r\n");
    assert!(client.drive(ms(0), &mut pipe).unwrap().finished && pipe.written.starts_with(b"HTTP/1.1 400 "));
    let refused = client.poll_record().expect("what makes no sense is told");
    assert_eq!((refused.method, refused.what), (String::new(), String::new()));
    assert_eq!((refused.ending, client.poll_record()), (Ending::Refused(Status::BAD_REQUEST), None));
}

#[test]
fn titles_whose_names_differ_in_their_endings_alone_keep_them() {
    let title = |name: &str| {
        let (file, mp4, fragments, ts, rtsp) = Default::default();
        Title { name: name.to_owned(), about: String::new(), file, mp4, fragments, ts, rtsp }
    };
    let titles = ["a.mkv", "a.mp4", "b.mp4", "c", ".d"].map(title);
    let stems = titles.each_ref().map(|title| catalogue::stem(&title.name, &titles));
    assert_eq!(stems, ["a.mkv", "a.mp4", "b", "c", ".d"]);
}
