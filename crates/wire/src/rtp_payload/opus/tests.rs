//! Opus by hand.

use framewire_units::{DataSize, Timestamp};

use super::*;
use crate::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin};
use crate::sdp;

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 7, initial_sequence: 65_535 };

/// CELT, full band, 20 ms, stereo, one frame (RFC 6716, section 3.1).
const STEREO: u8 = 31 << 3 | 4;

#[test]
fn a_packet_of_opus_is_a_payload() {
    let mut packetizer = Packetizer::new(&FORMAT, PacketRule::Full, DataSize::from_bytes(200), ORIGIN).unwrap();
    let sent: [&[u8]; 3] = [&[STEREO, 1, 2], &[STEREO; 160], &[0]];
    let description = FORMAT.description(sent[0]).unwrap();
    let mut receiver = Depacketizer::of_described(&FORMAT, &description, Some(ORIGIN), Limits::default()).unwrap();
    for (number, packet) in (0..).zip(sent) {
        let datagrams = packetizer.packetize(packet, number * 960).unwrap();
        assert_eq!((datagrams.len(), &datagrams[0].bytes[12..]), (1, packet));
        assert_eq!(datagrams[0].bytes[1], 97 | if number == 0 { 0x80 } else { 0 }, "the first begins a talk-spurt");
        receiver.handle_datagram(Timestamp::ZERO, &datagrams[0].bytes).unwrap();
        let frame = receiver.poll_frame().unwrap();
        assert_eq!((frame.complete, frame.rtp_timestamp, &frame.bytes[..]), (true, number * 960, packet));
    }
    let refused = packetizer.packetize(&[STEREO; 161], 0).unwrap_err().to_string();
    assert!(refused.contains("of 161 bytes") && refused.contains("payload of 160"), "{refused}");
}

#[test]
fn a_description_always_has_48_khz_and_two_channels() {
    for (toc, said) in [(STEREO, "a=fmtp:97 sprop-stereo=1\r\n"), (STEREO & !4, "a=rtpmap:97 opus/48000/2\r\n")] {
        let description = FORMAT.description(&[toc]).unwrap();
        let stream = sdp::Stream { format: &FORMAT, port: 5_006, description: &description };
        let text = sdp::describe_session([127, 0, 0, 1].into(), &[stream]);
        assert!(text.contains("m=audio 5006 RTP/AVP 97\r\na=rtpmap:97 opus/48000/2\r\n"), "{text}");
        assert!(text.ends_with(said), "{text}");
    }
}
