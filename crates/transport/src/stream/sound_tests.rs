//! Sound goes before what waits, and before the rest of a frame where a transport packet has ended.

use std::collections::VecDeque;

use framewire_units::{DataSize, Timestamp};
use framewire_wire::mpeg_ts::{self, Demultiplexer, PACKET_LENGTH, Program, StreamType};

use super::*;
use crate::WriteProgress;
use crate::event::{ReceiverEvent, SenderEvent};
use crate::frame::OutgoingFrame;
use crate::queue::FrameQueue;
use crate::sound::OutgoingSound;
use crate::testing::{ToyStream, movie};

const T0: Timestamp = Timestamp::ZERO;

fn program() -> Program {
    Program::of_video(StreamType::Mpeg2Video).with_track(StreamType::Mpeg1Audio)
}

fn sound(id: u32) -> OutgoingSound {
    OutgoingSound { id, at: 24_000_000 * i64::from(id), bytes: vec![id as u8; 576].into() }
}

/// A sender whose socket has taken 500 bytes of the first frame: two transport packets and a part of the third.
fn interrupted(frames: &[OutgoingFrame], sounds: &[u32]) -> (StreamSender, ToyStream) {
    let packetizer = mpeg_ts::Packetizer::continuous(program()).unwrap();
    let mut half = StreamSender::new(FrameQueue::direct(), None).in_format(packetizer);
    let mut socket = ToyStream { room: 500, ..ToyStream::default() };
    half.handle_frame(T0, frames[0].clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    sounds.iter().for_each(|&id| half.handle_sound(T0, sound(id)));
    (half, socket)
}

fn drain(half: &mut StreamSender) -> Vec<SenderEvent> {
    std::iter::from_fn(|| half.poll_event()).collect()
}

#[test]
fn sound_goes_behind_the_packet_that_was_begun() {
    let frames = movie("I", 20_000);
    let (mut half, mut socket) = interrupted(&frames, &[100, 101]);
    assert!(!half.wants_frame(), "the frame is not written to its end");
    socket.room = 100_000;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    half.handle_end(T0);
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert!(half.is_finished());

    let pids: Vec<u16> = socket.taken.chunks(PACKET_LENGTH).map(pid).collect();
    // Two tables and a packet of the frame, then two packets of sound of four packets each, then the rest of the frame.
    assert_eq!(pids[..3], [0, 0x1000, 0x100]);
    assert_eq!(pids[3..11], [0x101; 8]);
    assert!(pids[11..].iter().all(|&pid| pid != 0x101));

    let written: VecDeque<(u32, u64)> = drain(&mut half)
        .into_iter()
        .filter_map(|event| match event {
            SenderEvent::LastByte { frame, end, .. } => Some((frame, end.unwrap())),
            _ => None,
        })
        .collect();
    let ends = [7, 11].map(|packets| packets * PACKET_LENGTH as u64);
    assert_eq!(written, [(100, ends[0]), (101, ends[1]), (0, socket.taken.len() as u64)]);

    let mut receiver = PacketStreamReceiver::new(Demultiplexer::of_program(program(), DataSize::from_bytes(1 << 20)));
    socket.taken.chunks(1_000).for_each(|bytes| receiver.handle_bytes(T0, bytes));
    receiver.handle_end(T0);
    let received: Vec<_> = std::iter::from_fn(|| receiver.poll_event())
        .filter_map(|event| match event {
            ReceiverEvent::Frame { track, complete, bytes, .. } => Some((track, complete, bytes)),
            _ => None,
        })
        .collect();
    let expected = [(1, true, sound(100).bytes), (1, true, sound(101).bytes), (0, true, frames[0].bytes.clone())];
    assert_eq!(received, expected);
}

fn pid(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[1] & 0x1F, packet[2]])
}

#[test]
fn what_is_left_of_a_frame_and_of_sound_is_given_up_once() {
    let (mut half, mut socket) = interrupted(&movie("I", 20_000), &[100, 101]);
    // The rest of the packet, and a part of the first packet of sound.
    socket.room = 64 + 300;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    half.handle_abort(T0);
    let given_up: Vec<u32> = drain(&mut half)
        .into_iter()
        .filter_map(|event| match event {
            SenderEvent::Discarded { frame, .. } => Some(frame),
            _ => None,
        })
        .collect();
    assert_eq!(given_up, [100, 0, 101]);
    assert!(half.is_finished());
}

/// Nothing else than a transport stream has a place for it: it is given up by name, and the movie goes on.
#[test]
fn an_elementary_stream_carries_no_sound() {
    let frames = movie("I", 2_000);
    let mut half = StreamSender::new(FrameQueue::direct(), None);
    let mut socket = ToyStream { room: 100_000, ..ToyStream::default() };
    half.handle_sound(T0, sound(100));
    half.handle_frame(T0, frames[0].clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!(socket.taken, frames[0].bytes);
    let is_given_up = |event: &SenderEvent| matches!(event, SenderEvent::Discarded { frame: 100, .. });
    assert!(drain(&mut half).iter().any(is_given_up));
}
