//! Hostile datagrams to a receiver of AAC, MPEG audio or Opus: what is complete can be packed again, and comes out as it was.

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{
    Depacketizer, Limits, PacketRule, Packetizer, PayloadFormat, StreamOrigin, aac, mpeg_audio, opus,
};

use crate::wire_depacketizer::{LIMITS, receive_by};

/// A frame of ADTS of one byte: AAC LC, 44.1 kHz, stereo (ISO/IEC 14496-3, 1.A.2.2).
const ADTS: &[u8] = &[0xFF, 0xF1, 0x50, 0x80, 0x01, 0x1F, 0xFC, 0];
/// MPEG-1 layer II, 192 kbit/s, 48 kHz (ISO/IEC 11172-3, 2.4.2.3).
const LAYER_2: &[u8] = &[0xFF, 0xFD, 0xA4, 0xC0];

/// Of 255 bytes, which are more than a payload has here: AAC takes three for the smallest access unit.
const MOST_UNITS: usize = 85;

pub(crate) fn run(data: &[u8]) {
    let [choice, data @ ..] = data else { return };
    let (format, first): (&PayloadFormat, &[u8]) = match choice % 3 {
        0 => (&aac::FORMAT, ADTS),
        1 => (&mpeg_audio::FORMAT, LAYER_2),
        _ => (&opus::FORMAT, &[0]),
    };
    let description = format.description(first).unwrap();
    let receiver = |origin, limits| Depacketizer::of_described(format, &description, origin, limits).unwrap();
    let origin = StreamOrigin { ssrc: 1, initial_sequence: 0 };
    // What arrives fits into one packet here, and so does a whole packet of Opus; AAC and MPEG audio are cut.
    let mtu = DataSize::from_bytes(40 + if choice & 128 == 0 { 300 } else { 2_100 });
    let packetizer = Packetizer::new(format, PacketRule::Full, mtu, origin).unwrap();
    receive_by(receiver(None, LIMITS), format.payload_type, MOST_UNITS, data, |frame| {
        if !frame.complete {
            return;
        }
        let packets = packetizer.clone().packetize(&frame.bytes, frame.rtp_timestamp).unwrap();
        let mut again = receiver(Some(origin), Limits::default());
        packets.iter().for_each(|packet| again.handle_datagram(Timestamp::ZERO, &packet.bytes).unwrap());
        let received = again.poll_frame().unwrap();
        assert!(received.complete && received.bytes == frame.bytes);
    });
}
