//! Any bytes as an access unit of H.264 or of H.265: refused, or packed within the limits and received again, so that once
//! more the same comes out.

use bytes::Bytes;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{
    Depacketizer, Limits, PacketRule, Packetizer, PayloadFormat, StreamOrigin, h264, h265,
};

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 1, initial_sequence: 65_535 };

pub(crate) fn run(data: &[u8]) {
    let [choice, size, frame @ ..] = data else { return };
    let format = if choice & 1 == 0 { &h264::FORMAT } else { &h265::FORMAT };
    let rule = if choice & 2 == 0 { PacketRule::Full } else { PacketRule::Slices };
    let mtu = 44 + u64::from(*size);
    let Some(received) = through(format, rule, mtu, frame) else { return };
    assert_eq!(through(format, rule, mtu, &received), Some(received.clone()));
    // Only zero bytes are not kept, and start codes have what is demanded.
    let without_zeros = |bytes: &[u8]| bytes.iter().copied().filter(|&byte| byte != 0).collect::<Vec<u8>>();
    assert_eq!(without_zeros(&received), without_zeros(frame));
    assert!(received.len() <= frame.len() + 1 + frame.len() / 3);
}

/// What comes out of the packets of an access unit.
fn through(format: &PayloadFormat, rule: PacketRule, mtu: u64, frame: &[u8]) -> Option<Bytes> {
    let mut packetizer = Packetizer::new(format, rule, DataSize::from_bytes(mtu), ORIGIN).unwrap();
    let packets = packetizer.packetize(frame, 0).ok()?;
    let mut receiver = Depacketizer::new(format, Some(ORIGIN), Limits::default());
    for packet in &packets {
        assert!(packet.bytes.len() as u64 <= mtu - 28 && usize::from(packet.headers) <= packet.bytes.len());
        receiver.handle_datagram(Timestamp::ZERO, &packet.bytes).unwrap();
    }
    let received = receiver.poll_frame().unwrap();
    assert!(received.complete);
    Some(received.bytes)
}
