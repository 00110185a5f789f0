//! What the tests of all payload formats need: packets by hand, and what a receiver makes of them.

use framewire_units::Timestamp;

use super::{Datagram, Depacketizer, Limits, PayloadFormat, ReceivedFrame, RejectReason, StreamOrigin};

/// Numbers wrap behind the first packet.
pub(super) const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 7, initial_sequence: 65_535 };

/// Headers of IPv4, UDP and RTP.
pub(super) const HEADERS: u64 = 20 + 8 + 12;

/// The packet of this number with this payload.
pub(super) fn datagram(sequence: u16, marker: bool, payload: &[u8]) -> Vec<u8> {
    let [high, low] = ORIGIN.initial_sequence.wrapping_add(sequence).to_be_bytes();
    [&[0x80, 96 | u8::from(marker) << 7, high, low, 0, 0, 0, 9, 0, 0, 0, 7][..], payload].concat()
}

/// What a receiver makes of these payloads, which are all packets of one frame: `None` where it is not whole.
pub(super) fn joined(format: &PayloadFormat, payloads: &[impl AsRef<[u8]>]) -> Option<Vec<u8>> {
    let mut receiver = Depacketizer::new(format, Some(ORIGIN), Limits::default());
    for (sequence, payload) in payloads.iter().enumerate() {
        let packet = datagram(sequence as u16, sequence + 1 == payloads.len(), payload.as_ref());
        receiver.handle_datagram(Timestamp::ZERO, &packet).unwrap();
    }
    let frame = receiver.poll_frame().expect("its last packet came");
    frame.complete.then(|| frame.bytes.to_vec())
}

/// Why a payload is none of the format.
pub(super) fn refused(format: &PayloadFormat, payload: &[u8]) -> String {
    let mut receiver = Depacketizer::new(format, Some(ORIGIN), Limits::default());
    match receiver.handle_datagram(Timestamp::ZERO, &datagram(0, true, payload)) {
        Err(RejectReason::Payload(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// The frames of these packets, to the end of the stream.
pub(super) fn received<'a>(
    mut receiver: Depacketizer,
    packets: impl IntoIterator<Item = &'a Datagram>,
) -> Vec<ReceivedFrame> {
    let mut frames = Vec::new();
    for packet in packets {
        receiver.handle_datagram(Timestamp::ZERO, &packet.bytes).unwrap();
        frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
    }
    receiver.flush();
    frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
    frames
}
