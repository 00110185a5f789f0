//! Messages of a session go between packets, before frames and sound.

use framewire_units::Timestamp;
use framewire_wire::rfc4571::PacketReader;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg_video};

use super::*;
use crate::WriteProgress;
use crate::event::SenderEvent;
use crate::queue::FrameQueue;
use crate::testing::{ToyStream, movie};

const T0: Timestamp = Timestamp::ZERO;

fn in_packets() -> StreamSender {
    let (mtu, origin) = (framewire_units::DataSize::from_bytes(1_500), StreamOrigin { ssrc: 1, initial_sequence: 0 });
    let packetizer = Packetizer::new(&mpeg_video::FORMAT, PacketRule::Full, mtu, origin).unwrap();
    StreamSender::new(FrameQueue::direct(), None).in_format(RtpPackets::behind_lengths(packetizer))
}

#[test]
fn a_message_goes_behind_the_packet_that_was_begun_and_is_none_of_the_ledger() {
    let frames = movie("I", 20_000);
    let mut half = in_packets();
    let mut socket = ToyStream { room: 2_000, ..ToyStream::default() };
    half.handle_frame(T0, frames[0].clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    // As the framing has it: a packet that is told by its bytes.
    let message = [0, 5, b'h', b'e', b'l', b'l', b'o'];
    half.handle_message(message.to_vec());
    half.handle_message(message.to_vec());
    (1..2_000).for_each(|room| {
        socket.room += room % 7;
        half.poll_write(T0, &mut socket).unwrap();
    });
    socket.room = 1 << 20;
    half.handle_end(T0);
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));

    let mut reader = PacketReader::default();
    reader.feed(&socket.taken);
    let packets: Vec<_> = std::iter::from_fn(|| reader.poll_packet()).collect();
    assert_eq!(reader.buffered(), 0);
    let messages: Vec<usize> = (0..packets.len()).filter(|&number| &packets[number][..] == b"hello").collect();
    let ends = packets.iter().scan(0, |end, packet| {
        *end += 2 + packet.len();
        Some(*end)
    });
    let begun = ends.take_while(|&end| end < 2_000).count();
    assert_eq!(messages, [begun + 1, begun + 2], "behind the packet of which the first 2,000 bytes have a part");
    assert!(packets.iter().enumerate().all(|(number, packet)| messages.contains(&number) || packet[0] == 0x80));
    let events: Vec<SenderEvent> = std::iter::from_fn(|| half.poll_event()).collect();
    let ends = events.iter().filter_map(|event| match event {
        SenderEvent::LastByte { end, .. } => *end,
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [socket.taken.len() as u64], "one frame, and messages count in the stream");
}

#[test]
fn a_message_waits_for_nothing_where_nothing_is_written_and_ends_with_an_abort() {
    let mut half = in_packets();
    let mut socket = ToyStream { room: 3, ..ToyStream::default() };
    half.handle_message(b"hello".to_vec());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    assert_eq!(socket.taken, b"hel");
    half.handle_abort(T0);
    socket.room = 100;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!((socket.taken.as_slice(), half.poll_event()), (&b"hel"[..], None));
}
