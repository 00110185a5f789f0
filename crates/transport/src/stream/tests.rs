//! The halves over a byte stream, against toy sockets and each other.

use framewire_media::FrameRate;
use framewire_media::access_unit::Codec;
use framewire_units::{DataSize, Duration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::WriteProgress;
use crate::event::{ReceiverEvent, SenderEvent};
use crate::frame::OutgoingFrame;
use crate::ifd::IfdPolicy;
use crate::queue::FrameQueue;
use crate::socket::SocketError;
use crate::testing::{ToyStream, movie};

const T0: Timestamp = Timestamp::ZERO;
const PLAYOUT: Pacing = Pacing::Playout { frame_rate: FrameRate { numerator: 25, denominator: 1 } };

fn events(half: &mut StreamSender) -> Vec<SenderEvent> {
    std::iter::from_fn(|| half.poll_event()).collect()
}

/// Events in short: `q3` queued, `f3` first byte, `l3` last byte, `d3` discarded.
fn short(events: &[SenderEvent]) -> String {
    let name = |event: &SenderEvent| match event {
        SenderEvent::Queued { frame, .. } => format!("q{frame}"),
        SenderEvent::FirstByte { frame, .. } => format!("f{frame}"),
        SenderEvent::BeginsSequence { frame, .. } => format!("b{frame}"),
        SenderEvent::Renumbered { frame, .. } => format!("n{frame}"),
        SenderEvent::Packet { octets, .. } => format!("r{octets}"),
        SenderEvent::LastByte { frame, .. } => format!("l{frame}"),
        SenderEvent::Discarded { frame, .. } => format!("d{frame}"),
        SenderEvent::Datagram { frame, .. } => format!("p{frame:?}"),
        SenderEvent::Stuffing { bytes, .. } => format!("s{}", bytes.as_bytes()),
    };
    events.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn joined(frames: &[OutgoingFrame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.bytes.iter().copied()).collect()
}

#[test]
fn a_direct_sender_takes_the_next_frame_when_the_last_one_is_written() {
    let frames = movie("IP", 1_000);
    let mut half = StreamSender::new(FrameQueue::direct(), None);
    let mut socket = ToyStream { room: 600, ..ToyStream::default() };
    assert!(half.wants_frame());
    half.handle_frame(T0, frames[0].clone());
    assert!(!half.wants_frame());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    assert!(!half.wants_frame(), "a part of it is still to be written");
    assert_eq!(short(&events(&mut half)), "q0 f0");
    socket.room = 10_000;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert!(half.wants_frame());
    half.handle_frame(T0, frames[1].clone());
    half.handle_end(T0);
    assert!(!half.wants_frame() && !half.is_finished());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!(short(&events(&mut half)), "l0 q1 f1 l1");
    assert_eq!(socket.taken, joined(&frames));
    assert!(half.is_finished());
    half.poll_write(T0, &mut socket).unwrap();
    assert_eq!(socket.finished, 1);
}

#[test]
fn with_ifd_the_clock_never_waits_and_the_end_loses_nothing() {
    let frames = movie("IPBBP", 1_000);
    let mut half = StreamSender::new(FrameQueue::ifd(IfdPolicy::Basic), None);
    let mut socket = ToyStream { room: 100, ..ToyStream::default() };
    for frame in frames {
        assert!(half.wants_frame());
        half.handle_frame(T0, frame);
        assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    }
    // The I is being written, the first P waits: everything after it is given up.
    assert_eq!(short(&events(&mut half)), "q0 f0 q1 d2 d3 d4");
    half.handle_end(T0);
    socket.room = usize::MAX;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!(short(&events(&mut half)), "l0 f1 l1");
    assert!(half.is_finished() && socket.finished == 1);
}

#[test]
fn unsent_bytes_stay_under_the_limit_and_are_refilled_at_half() {
    let limit = DataSize::from_bytes(1_000);
    let mut half = StreamSender::new(FrameQueue::direct(), Some(limit));
    let mut socket = ToyStream { room: usize::MAX, ..ToyStream::default() };
    half.handle_frame(T0, movie("I", 5_000).remove(0));
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    assert_eq!(socket.unsent, 1_000, "filled up to the limit");
    socket.unsent = 500;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    assert_eq!(socket.unsent, 500, "the kernel calls the socket writable under half of the limit");
    socket.unsent = 499;
    half.poll_write(T0, &mut socket).unwrap();
    assert_eq!(socket.unsent, 1_000);
}

#[test]
fn what_is_left_after_a_broken_socket_is_reported() {
    let frames = movie("IP", 1_000);
    let mut half = StreamSender::new(FrameQueue::ifd(IfdPolicy::Optimised), None);
    let mut socket = ToyStream { room: 10, ..ToyStream::default() };
    half.handle_frame(T0, frames[0].clone());
    half.poll_write(T0, &mut socket).unwrap();
    half.handle_frame(T0, frames[1].clone());
    socket.broken = true;
    let error = half.poll_write(T0, &mut socket);
    assert!(matches!(error, Err(SocketError { operation: "write", .. })));
    half.handle_abort(T0);
    half.handle_frame(T0, frames[1].clone());
    assert_eq!(short(&events(&mut half)), "q0 f0 q1 d0 d1 d1");
    assert!(half.is_finished() && !half.wants_frame());
}

#[test]
fn an_empty_frame_is_written_at_once() {
    let mut half = StreamSender::new(FrameQueue::direct(), None);
    half.handle_frame(T0, OutgoingFrame { bytes: bytes::Bytes::new(), ..movie("I", 10).remove(0) });
    assert_eq!(half.poll_write(T0, &mut ToyStream::default()), Ok(WriteProgress::Idle));
    assert_eq!(short(&events(&mut half)), "q0 f0 l0");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer,
    Write(usize),
    End,
    Abort,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        10 => Just(Step::Offer),
        10 => (0usize..1_500).prop_map(Step::Write),
        1 => Just(Step::End),
        1 => Just(Step::Abort),
    ];
    prop::collection::vec(step, 0..100)
}

proptest! {
    #[test]
    fn every_frame_ends_once_and_the_stream_holds_whole_frames(
        steps in steps(),
        queue in 0..3,
        limit in prop::option::of(2u64..2_000),
    ) {
        let frames = movie(&"IPBBPBBPBB".repeat(10), 700);
        let queue = match queue {
            0 => FrameQueue::direct(),
            1 => FrameQueue::ifd(IfdPolicy::Basic),
            _ => FrameQueue::ifd(IfdPolicy::Optimised),
        };
        let mut half = StreamSender::new(queue, limit.map(DataSize::from_bytes));
        let (mut socket, mut log, mut offered) = (ToyStream::default(), vec![], 0);
        for step in steps {
            match step {
                Step::Offer if half.wants_frame() => {
                    half.handle_frame(T0, frames[offered].clone());
                    offered += 1;
                }
                Step::Offer => {}
                Step::Write(room) => {
                    (socket.room, socket.unsent) = (room, socket.unsent / 2);
                    half.poll_write(T0, &mut socket).unwrap();
                    prop_assert!(limit.is_none_or(|limit| socket.unsent <= limit));
                }
                Step::End => half.handle_end(T0),
                Step::Abort => half.handle_abort(T0),
            }
            log.extend(events(&mut half));
        }
        half.handle_end(T0);
        while !half.is_finished() {
            (socket.room, socket.unsent) = (usize::MAX, 0);
            half.poll_write(T0, &mut socket).unwrap();
        }
        half.poll_write(T0, &mut socket).unwrap();
        log.extend(events(&mut half));
        prop_assert_eq!(socket.finished, 1);
        let mut ended: Vec<u32> = log.iter().filter_map(|event| match event {
            SenderEvent::LastByte { frame, .. } | SenderEvent::Discarded { frame, .. } => Some(*frame),
            _ => None,
        }).collect();
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..offered as u32).collect::<Vec<_>>());
        let written = log.iter().filter_map(|event| match event {
            SenderEvent::LastByte { frame, .. } => Some(frames[*frame as usize].clone()),
            _ => None,
        });
        let whole = joined(&written.collect::<Vec<_>>());
        prop_assert!(socket.taken.starts_with(&whole));
        // An abort may leave a part of one more.
        prop_assert!(socket.taken.len() - whole.len() < frames[0].bytes.len());
    }

    #[test]
    fn whatever_arrives_bytes_are_handed_out_once_and_in_order(
        damage in prop::collection::vec((0usize..12_000, any::<u8>()), 0..60),
        cut in 0usize..12_000,
        chunk in 1usize..5_000,
        paced: bool,
    ) {
        let mut stream = joined(&movie("IPBBPBBIBB", 1_000));
        for (place, value) in damage {
            let place = place % stream.len();
            stream[place] = value;
        }
        stream.truncate(cut);
        let mut half = StreamReceiver::new(if paced { PLAYOUT } else { Pacing::Immediate });
        let (mut now, mut log) = (T0, vec![]);
        for chunk in stream.chunks(chunk) {
            while !half.wants_bytes(now) {
                now = half.next_timeout().unwrap();
                half.handle_timeout(now);
            }
            half.handle_bytes(now, chunk);
            log.extend(std::iter::from_fn(|| half.poll_event()));
        }
        half.handle_end(now);
        log.extend(std::iter::from_fn(|| half.poll_event()));
        let (mut handed_out, mut read) = (vec![], 0);
        for event in log {
            match event {
                ReceiverEvent::Frame { bytes, complete, .. } => {
                    prop_assert!(complete, "none of them is too large");
                    handed_out.extend_from_slice(&bytes);
                }
                ReceiverEvent::Read { total, .. } => {
                    prop_assert!(total >= read);
                    read = total;
                }
                _ => {}
            }
        }
        prop_assert_eq!(half.buffered() + handed_out.len() <= stream.len(), true);
        prop_assert!(stream.ends_with(&handed_out), "frames tile the stream from the first one to the end");
        prop_assert_eq!(read, stream.len() as u64);
    }

    #[test]
    fn however_the_stream_is_cut_the_same_frames_come_out(cuts in prop::collection::vec(1usize..3_000, 1..50)) {
        let frames = movie("IPBBPBBIBBPBB", 1_200);
        let stream = joined(&frames);
        let mut half = StreamReceiver::new(Pacing::Immediate);
        let (mut rest, mut cuts, mut log) = (&stream[..], cuts.into_iter().cycle(), vec![]);
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            half.handle_bytes(T0, chunk);
            log.extend(std::iter::from_fn(|| half.poll_event()));
            rest = after;
        }
        half.handle_end(T0);
        log.extend(std::iter::from_fn(|| half.poll_event()));
        let received: Vec<_> = log.into_iter().filter_map(|event| match event {
            ReceiverEvent::Frame { complete: true, bytes, .. } => Some(bytes),
            _ => None,
        }).collect();
        let sent: Vec<_> = frames.into_iter().map(|frame| frame.bytes).collect();
        prop_assert_eq!(received, sent);
    }
}

/// (total, milliseconds) of reads and milliseconds of frames.
fn times(half: &mut StreamReceiver) -> (Vec<(u64, u64)>, Vec<u64>) {
    let (mut reads, mut frames) = (vec![], vec![]);
    while let Some(event) = half.poll_event() {
        match event {
            ReceiverEvent::Read { total, at } => reads.push((total, at.as_nanos() / 1_000_000)),
            ReceiverEvent::Frame { at, .. } => frames.push(at.as_nanos() / 1_000_000),
            other => panic!("{other:?}"),
        }
    }
    (reads, frames)
}

#[test]
fn a_frame_arrives_with_its_last_byte_not_with_the_start_of_the_next() {
    let frames = movie("IPB", 1_000);
    let mut half = StreamReceiver::new(Pacing::Immediate);
    let mut total = 0;
    let mut expected = vec![];
    for (frame, ms) in frames.iter().zip([10, 20, 30]) {
        let (begin, end) = frame.bytes.split_at(500);
        half.handle_bytes(Timestamp::from_millis(ms), begin);
        half.handle_bytes(Timestamp::from_millis(ms + 5), end);
        expected.extend([(total + 500, ms), (total + frame.bytes.len() as u64, ms + 5)]);
        total += frame.bytes.len() as u64;
    }
    half.handle_end(Timestamp::from_millis(99));
    assert_eq!(times(&mut half), (expected, vec![15, 25, 35]));
}

#[test]
fn playout_consumes_one_frame_per_period_and_reads_no_further() {
    let frames = movie("IPBBP", 1_000);
    let stream = joined(&frames);
    let mut half = StreamReceiver::new(PLAYOUT);
    // Everything lies in the socket at 100 ms; it is read in pieces of 700 bytes whenever the half wants some.
    let (mut rest, mut now, mut most_unread) = (&stream[..], Timestamp::from_millis(100), 0);
    let (mut reads, mut consumed) = (vec![], vec![]);
    while !rest.is_empty() {
        if half.wants_bytes(now) {
            let (chunk, after) = rest.split_at(rest.len().min(700));
            half.handle_bytes(now, chunk);
            rest = after;
        } else {
            now = half.next_timeout().unwrap();
            half.handle_timeout(now);
        }
        let (more_reads, more) = times(&mut half);
        reads.extend(more_reads);
        consumed.extend(more);
        let unread = (stream.len() - rest.len()) as u64 - reads.last().map_or(0, |(total, _)| *total);
        most_unread = most_unread.max(unread);
    }
    half.handle_end(now);
    let (more_reads, more) = times(&mut half);
    reads.extend(more_reads);
    consumed.extend(more);
    assert_eq!(consumed, [100, 140, 180, 220, 260]);
    let ends: Vec<u64> = reads.iter().map(|(total, _)| *total).collect();
    let sizes = frames.iter().map(|frame| frame.bytes.len() as u64);
    let expected: Vec<u64> = sizes
        .scan(0, |total, size| {
            *total += size;
            Some(*total)
        })
        .collect();
    assert_eq!(ends, expected, "bytes are read when their frame is consumed");
    assert!(most_unread < 2 * 1_200 + 700, "{most_unread}");
}

#[test]
fn playout_of_late_frames_is_at_once() {
    let frames = movie("IPB", 1_000);
    let mut half = StreamReceiver::new(PLAYOUT);
    for (frame, ms) in frames.iter().zip([0, 500, 510]) {
        assert!(half.wants_bytes(Timestamp::from_millis(ms)));
        half.handle_bytes(Timestamp::from_millis(ms), &frame.bytes);
    }
    half.handle_end(Timestamp::from_millis(511));
    assert_eq!(times(&mut half).1, [0, 500, 510]);
    assert!(!half.wants_bytes(Timestamp::MAX), "nothing is wanted after the end");
}

#[test]
fn what_is_no_movie_is_rejected_once_and_not_kept() {
    let mut half = StreamReceiver::new(Pacing::Immediate);
    let rubbish = vec![0x55; 1 << 20];
    for _ in 0..20 {
        half.handle_bytes(T0, &rubbish);
        assert!(half.buffered() <= receiver::LARGEST_FRAME + rubbish.len());
    }
    half.handle_end(T0);
    half.handle_bytes(T0, b"more");
    let log: Vec<_> = std::iter::from_fn(|| half.poll_event()).collect();
    let reasons: Vec<_> = log
        .iter()
        .filter_map(|event| match event {
            ReceiverEvent::Rejected { reason, .. } => Some(reason.as_str()),
            ReceiverEvent::Frame { .. } => panic!("there is no frame in it"),
            _ => None,
        })
        .collect();
    assert!(reasons.iter().any(|reason| reason.contains("without the end of a frame")), "{reasons:?}");
    assert!(reasons.last().unwrap().contains("after the end"), "{reasons:?}");
}

#[test]
fn a_frame_without_end_is_given_up_and_the_next_one_is_not() {
    let frames = movie("IPB", 1_000);
    let mut half = StreamReceiver::new(Pacing::Immediate);
    half.handle_bytes(T0, &frames[0].bytes);
    half.handle_bytes(T0, &vec![0x55; receiver::LARGEST_FRAME]);
    half.handle_bytes(T0, &frames[1].bytes);
    half.handle_bytes(T0, &frames[2].bytes);
    half.handle_end(T0);
    let outcomes: Vec<_> = std::iter::from_fn(|| half.poll_event())
        .filter_map(|event| match event {
            ReceiverEvent::Frame { complete, bytes, .. } => Some((complete, bytes.len())),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [(false, 0), (true, frames[1].bytes.len()), (true, frames[2].bytes.len())]);
}

/// An image of motion JPEG says nothing of frames in a second.
#[test]
fn a_stream_without_a_frame_rate_is_received_and_nothing_of_it_rejected() {
    let frame = [0xff, 0xc0, 0, 11, 8, 0, 16, 0, 24, 1, 1, 0x11, 0];
    let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0xff, 0xd9];
    let image = [&[0xff, 0xd8][..], &frame, &scan].concat();
    let received = |bytes: &[u8]| {
        let mut half = StreamReceiver::new(Pacing::Immediate).of_codec(Codec::MotionJpeg);
        half.handle_bytes(T0, bytes);
        half.handle_end(T0);
        let log: Vec<_> = std::iter::from_fn(|| half.poll_event()).collect();
        let frames = log.iter().filter(|event| matches!(event, ReceiverEvent::Frame { complete: true, .. })).count();
        let rejected = log.iter().filter(|event| matches!(event, ReceiverEvent::Rejected { .. })).count();
        (frames, rejected)
    };
    assert_eq!(received(&[&image[..], &image].concat()), (2, 0));
    assert_eq!(received(b"no image"), (0, 1));
}

#[test]
fn nothing_received_is_nothing_reported() {
    let mut half = StreamReceiver::new(PLAYOUT);
    half.handle_end(T0);
    assert_eq!(half.poll_event(), None);
    assert_eq!(half.next_timeout(), None);
}

#[test]
fn time_of_frames_follows_the_rate_of_the_movie_exactly() {
    let rate = FrameRate { numerator: 30_000, denominator: 1_001 };
    let frames = movie(&"IPBBPBB".repeat(5), 100);
    let mut half = StreamReceiver::new(Pacing::Playout { frame_rate: rate });
    half.handle_bytes(Timestamp::from_secs(1), &joined(&frames));
    half.handle_end(Timestamp::from_secs(1));
    let last = std::iter::from_fn(|| half.poll_event())
        .filter_map(|event| match event {
            ReceiverEvent::Frame { at, .. } => Some(at),
            _ => None,
        })
        .last();
    assert_eq!(last, Some(Timestamp::from_secs(1) + Duration::from_nanos(34 * 1_001_000_000_000 / 30_000 + 1)));
}
