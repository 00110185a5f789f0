//! Any bytes as a frame: refused, or packetized within the limits and received again byte for byte.

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::mpeg_video::{HeaderRepr, HeaderView};
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin, mpeg_video};

pub(crate) fn run(data: &[u8]) {
    let [choice, frame @ ..] = data else { return };
    let rule = PacketRule::ALL[usize::from(*choice) % 3];
    let mut packetizer = Packetizer::new(&mpeg_video::FORMAT, rule, DataSize::from_bytes(310), StreamOrigin { ssrc: 1, initial_sequence: 65_535 }).unwrap();
    let Ok(packets) = packetizer.packetize(frame, 0) else { return };
    let origin = StreamOrigin { ssrc: 1, initial_sequence: 65_535 };
    let mut receiver = Depacketizer::new(&mpeg_video::FORMAT, Some(origin), Limits::default());
    for packet in &packets {
        assert!(packet.bytes.len() <= 310 - 28);
        HeaderRepr::parse(&HeaderView::new(&packet.bytes[12..]).unwrap()).unwrap();
        receiver.handle_datagram(Timestamp::ZERO, &packet.bytes).unwrap();
    }
    let received = receiver.poll_frame().unwrap();
    assert!(received.complete);
    assert_eq!(received.bytes, frame);
}
