//! Hostile datagrams to a receiver of H.264 or of H.265: what is complete is NAL units behind start codes, which can be packed
//! again.

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, h264, h265};

use crate::wire_depacketizer::receive;

pub(crate) fn run(data: &[u8]) {
    let [choice, data @ ..] = data else { return };
    let format = if choice & 1 == 0 { &h264::FORMAT } else { &h265::FORMAT };
    let origin = StreamOrigin { ssrc: 1, initial_sequence: 0 };
    let packetizer = Packetizer::new(format, PacketRule::Full, DataSize::from_bytes(1_500), origin).unwrap();
    receive(format, data, |frame| {
        assert!(!frame.complete || frame.bytes.starts_with(&[0, 0, 0, 1]));
        // What a stranger calls a NAL unit may hold start codes, and zeros at its end.
        if let Ok(packets) = packetizer.clone().packetize(&frame.bytes, 0) {
            assert!(!packets.is_empty());
        }
    });
}
