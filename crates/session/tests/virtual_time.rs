//! Whole flows in virtual time: a sender session, a socket of known speed, a receiver session.

use std::collections::VecDeque;
use std::time::Duration;

use crate::one_channel::OneChannel;
use bytes::Bytes;
use framewire_media::Movie;
use framewire_recording::record::FrameEventKind;
use framewire_scenario::Scenario;
use framewire_session::half::Half;
use framewire_session::{FlowSetup, MOVIE_CHANNEL, ReceiverSession, RtpSeed, SenderSession, SendingPlan};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Timestamp};

const FRAME: Duration = Duration::from_millis(40);

/// A stream of 25 frames a second with the given types and sizes, in decode order.
fn movie(frames: &[(char, usize)]) -> Movie {
    let mut bytes = Vec::new();
    let mut in_group = 0u16;
    for &(kind, size) in frames {
        let start = bytes.len();
        if kind == 'I' {
            // Sequence header 720x576, 25 Hz (code 3), then its extension: progressive (ISO/IEC 13818-2, 6.2.2).
            bytes.extend([0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x23, 0xFF, 0xFF, 0xE0, 0x00]);
            bytes.extend([0, 0, 1, 0xB5, 0x14, 0x8A, 0x00, 0x01, 0x00, 0x00]);
            bytes.extend([0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40]);
            in_group = 0;
        }
        let code = match kind {
            'I' => 1u16,
            'P' => 2,
            _ => 3,
        };
        // Picture header: temporal reference (10 bits), type (3), vbv_delay (16), then vector codes.
        let head = (in_group << 6) | (code << 3) | 0x7;
        bytes.extend([0, 0, 1, 0x00]);
        bytes.extend(head.to_be_bytes());
        bytes.extend(match kind {
            'I' => vec![0xFF, 0xF8],
            'P' => vec![0xFF, 0xFB, 0x80],
            _ => vec![0xFF, 0xFB, 0xB8],
        });
        bytes.extend([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF3, 0xC1, 0x80]);
        bytes.extend([0, 0, 1, 0x01]);
        bytes.resize((start + size).max(bytes.len() + 1), 0x55);
        in_group += 1;
    }
    Movie::parse(Bytes::from(bytes)).expect("the stream is well formed")
}

fn setup(flow: &str, frames: &[(char, usize)]) -> FlowSetup {
    let scenario = Scenario::parse(&format!("[[flow]]\n{flow}"), &[]).expect("the flow is well formed");
    FlowSetup::of_movie(&scenario.flows[0], SendingPlan::new(movie(frames), Timestamp::ZERO), RtpSeed::default())
        .expect("it sends it")
}

fn halves(setup: &FlowSetup) -> (SenderSession, ReceiverSession) {
    match setup {
        FlowSetup::Datagram(setup) => (setup.sender(), setup.receiver()),
        FlowSetup::Stream(setup) => (setup.sender(), setup.receiver()),
        other => panic!("{other:?}"),
    }
}

/// A stream socket with a buffer of `room` bytes that the network empties at `bytes_per_ms`.
struct Pipe {
    room: usize,
    buffered: VecDeque<u8>,
    finished: bool,
}

impl StreamSocket for Pipe {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        let taken = bytes.len().min(self.room - self.buffered.len());
        self.buffered.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes(self.buffered.len() as u64))
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        self.finished = true;
        Ok(())
    }
}

/// What came out of a flow over a [`Pipe`].
struct Outcome {
    offered: Vec<(u32, Timestamp)>,
    sent: Vec<u32>,
    received: Vec<Bytes>,
    ended_at: Timestamp,
}

fn stream(setup: &FlowSetup, room: usize, bytes_per_ms: usize) -> Outcome {
    let (mut sender, mut receiver) = halves(setup);
    let mut pipe = Pipe { room, buffered: VecDeque::new(), finished: false };
    let mut received = Vec::new();
    for millis in 0..600_000 {
        let now = Timestamp::from_millis(millis);
        sender.drive(now, &mut OneChannel::Stream(&mut pipe)).unwrap();
        if receiver.wants(now, MOVIE_CHANNEL) {
            let taken: Vec<u8> = pipe.buffered.drain(..pipe.buffered.len().min(bytes_per_ms)).collect();
            if !taken.is_empty() {
                receiver.handle_input(now, &taken);
            }
        }
        received.extend(std::iter::from_fn(|| receiver.poll_frame()));
        if pipe.finished && pipe.buffered.is_empty() {
            receiver.handle_end(now);
            received.extend(std::iter::from_fn(|| receiver.poll_frame()));
            let events = sender.into_log().frame_events;
            let select = |wanted: fn(&FrameEventKind) -> bool| {
                events.iter().filter(move |event| wanted(&event.what)).map(|event| (event.frame, event.at))
            };
            return Outcome {
                offered: select(|what| *what == FrameEventKind::Offered).collect(),
                sent: select(|what| *what == FrameEventKind::LastByte).map(|(frame, _)| frame).collect(),
                received,
                ended_at: now,
            };
        }
    }
    panic!("the flow did not end within ten minutes");
}

const GROUP: [(char, usize); 6] = [('I', 9_000), ('B', 2_000), ('B', 2_000), ('P', 5_000), ('B', 2_000), ('B', 2_000)];

fn movie_of_groups(groups: usize) -> Vec<(char, usize)> {
    GROUP.iter().copied().cycle().take(GROUP.len() * groups).collect()
}

#[test]
fn a_fast_network_keeps_the_frame_clock_and_loses_nothing() {
    for transport in ["tcp", "tcp+ifd", "tcp+ifd-optimised"] {
        let frames = movie_of_groups(10);
        let setup = setup(&format!("transport = \"{transport}\""), &frames);
        let outcome = stream(&setup, 100_000, 10_000);
        assert_eq!(outcome.sent, (0..60).collect::<Vec<_>>(), "{transport}");
        for (frame, at) in outcome.offered {
            assert_eq!(at, Timestamp::ZERO + FRAME * frame, "{transport}: frame {frame}");
        }
        let whole: Vec<u8> = outcome.received.concat();
        let plan = SendingPlan::new(movie(&frames), Timestamp::ZERO);
        let original: Vec<u8> = (0..60).flat_map(|frame| plan.outgoing(frame).bytes.to_vec()).collect();
        assert_eq!(whole, original, "{transport}");
    }
}

#[test]
fn tcp_takes_as_long_as_its_bytes_need_and_i_frame_delay_sheds_instead() {
    // 22,000 bytes per group of 240 ms are 92 bytes/ms; the network takes 69, three quarters.
    let frames = movie_of_groups(50);
    let total: usize = frames.iter().map(|frame| frame.1).sum();
    let tcp = stream(&setup("transport = \"tcp\"", &frames), 8_000, 69);
    let needed = total as f64 / 69.0;
    let took = tcp.ended_at.as_secs_f64() * 1e3;
    assert!((took - needed).abs() < 0.01 * needed, "tcp took {took} ms, its bytes need {needed}");
    assert_eq!(tcp.sent.len(), frames.len());

    let ifd = stream(&setup("transport = \"tcp+ifd\"", &frames), 8_000, 69);
    let movie_ms = 40.0 * frames.len() as f64;
    let took = ifd.ended_at.as_secs_f64() * 1e3;
    assert!((took - movie_ms).abs() < 300.0, "tcp+ifd took {took} ms, the movie lasts {movie_ms}");
    let shed: usize = total - ifd.sent.iter().map(|&frame| frames[frame as usize].1).sum::<usize>();
    let expected = 1.0 - 69.0 / (total as f64 / movie_ms);
    let share = shed as f64 / total as f64;
    assert!((share - expected).abs() < 0.03, "shed {share}, the arithmetic says {expected}");
    let lost_intra = (0..frames.len()).filter(|&f| frames[f].0 == 'I' && !ifd.sent.contains(&(f as u32))).count();
    assert_eq!(lost_intra, 0);
}

#[test]
fn receiver_pacing_sends_ahead_only_as_far_as_buffers_reach() {
    let frames = movie_of_groups(20);
    let outcome = stream(&setup("transport = \"tcp\"\npacing = \"receiver\"", &frames), 4_000, 10_000);
    let movie = FRAME * frames.len() as u32;
    let lead = (Timestamp::ZERO + movie).saturating_since(outcome.ended_at);
    assert!(lead < FRAME * 5, "the stream ended {lead:?} before the movie");
    assert!(outcome.offered.iter().any(|&(frame, at)| at < Timestamp::ZERO + FRAME * frame), "the sender ran ahead");
    assert_eq!(outcome.sent.len(), frames.len());
}

/// A datagram socket that admits `room` datagrams; `sent` is what the network carried.
struct SlowDevice {
    room: usize,
    waiting: usize,
    carried: Vec<Vec<u8>>,
}

impl DatagramSocket for SlowDevice {
    fn send(&mut self, datagram: &[u8]) -> Result<DatagramSend, SocketError> {
        if self.waiting == self.room {
            return Ok(DatagramSend::WouldBlock);
        }
        self.waiting += 1;
        self.carried.push(datagram.to_vec());
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes(((self.room - self.waiting) * 2_304) as u64))
    }
}

/// Sends the movie through a socket that lets one datagram out per millisecond; returns frames received whole,
/// datagrams carried and when the sender was done.
fn datagrams(setup: &FlowSetup, room: usize) -> (u32, usize, Timestamp) {
    let (mut sender, mut receiver) = halves(setup);
    let mut socket = SlowDevice { room, waiting: 0, carried: Vec::new() };
    for millis in 0..600_000 {
        let now = Timestamp::from_millis(millis);
        let wait = sender.drive(now, &mut OneChannel::Datagram(&mut socket)).unwrap();
        socket.waiting = socket.waiting.saturating_sub(1);
        if wait.finished {
            socket.carried.iter().for_each(|datagram| receiver.handle_input(now, datagram));
            receiver.handle_end(now);
            return (receiver.complete_frames(), socket.carried.len(), now);
        }
    }
    panic!("the flow did not end within ten minutes");
}

#[test]
fn a_full_datagram_socket_blocks_or_drops_as_the_transport_says() {
    // Every frame is 60 packets of the 40 that its 40 ms admit.
    let frames = vec![('I', 60 * 1_400); 25];
    let flow = |transport: &str| setup(&format!("transport = \"{transport}\""), &frames);
    let (whole, _, ended) = datagrams(&flow("udp-blocking"), 20);
    assert_eq!(whole, 25);
    assert!(ended >= Timestamp::from_millis(1_400), "blocking stretches the stream: {ended}");

    let (whole, _, ended) = datagrams(&flow("udp"), 20);
    assert!(whole < 3, "{whole} of 25 frames survived an overflow in every one");
    assert!(ended <= Timestamp::from_millis(1_000), "dropping keeps the clock: {ended}");

    let (ifd, _, ended) = datagrams(&flow("udp+ifd"), 20);
    assert!((14..=18).contains(&ifd), "two thirds of the frames fit, {ifd} came");
    assert!(ended <= Timestamp::from_millis(1_100), "{ended}");
}

#[test]
fn without_pacing_a_stream_takes_the_time_that_the_network_takes() {
    let frames = movie_of_groups(20);
    let bytes: usize = movie(&frames).size() as usize;
    // The movie lasts 4.8 s, and its 440 kB take 2.2 s or 8.8 s.
    for bytes_per_ms in [200, 50] {
        let outcome = stream(&setup("transport = \"tcp\"\npacing = \"none\"", &frames), 4_000, bytes_per_ms);
        let (took, needed) = (outcome.ended_at.saturating_since(Timestamp::ZERO).as_millis(), bytes / bytes_per_ms);
        assert!((needed - 1..=needed + 3).contains(&(took as usize)), "{took} ms, the network needs {needed} ms");
        assert_eq!(outcome.received.len(), frames.len());
    }
    let frames = vec![('I', 10_000); 25];
    let flow = |pacing: &str| setup(&format!("transport = \"udp-blocking\"\n{pacing}"), &frames);
    let (whole, packets, ended) = datagrams(&flow("pacing = \"none\""), 20);
    assert_eq!(whole, 25);
    let (ended, carried) = (ended.saturating_since(Timestamp::ZERO).as_millis() as usize, packets - 20);
    assert!((carried..=carried + 2).contains(&ended), "{ended} ms for {packets} packets at one per millisecond");
    let (_, _, paced) = datagrams(&flow(""), 20);
    assert!(paced >= Timestamp::from_millis(24 * 40), "the frame clock: {paced}");
}

#[test]
fn group_times_are_those_of_the_stream_from_its_first() {
    // The time codes of ISO/IEC 13818-2, table 6-11, in a closed group: 01:01:00 and 10 pictures, then 15 pictures more.
    let header =
        |second: u32, picture: u32| ((1 << 19 | 1 << 13 | 1 << 12 | second << 6 | picture) << 7 | 0x40).to_be_bytes();
    let mut bytes = movie(&[('I', 500), ('P', 500), ('I', 500), ('P', 500)]).to_bytes().to_vec();
    let codes = bytes.windows(4).enumerate().filter(|(_, code)| *code == [0, 0, 1, 0xB8]);
    let groups: Vec<usize> = codes.map(|(at, _)| at + 4).collect();
    for (at, header) in groups.into_iter().zip([header(0u32, 10), header(1, 0)]) {
        bytes[at..at + 4].copy_from_slice(&header);
    }
    let plan = SendingPlan::new(Movie::parse(Bytes::from(bytes)).unwrap(), Timestamp::ZERO);
    let times: Vec<_> = plan.facts().map(|frame| frame.group_time).collect();
    assert_eq!(times, [Some(Duration::ZERO), None, Some(Duration::from_millis(15 * 40)), None]);
}
