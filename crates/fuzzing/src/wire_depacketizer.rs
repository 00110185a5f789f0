//! Hostile datagrams to receivers of MPEG-2, MPEG-4 part 2 and AV1: raw bytes, and well-formed RTP with hostile sequence numbers, time stamps and payloads.
//! Memory stays within the limits, and a complete frame starts with a header.

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{Arrival, Depacketizer, Limits, PayloadFormat, PacketRule, Packetizer, ReceivedFrame, StreamOrigin, av1, mpeg_video, mpeg4_video};

const LARGEST_FRAME: usize = 2_000;
const WINDOW: u16 = 8;

pub(crate) fn run(data: &[u8]) {
    receive(&mpeg_video::FORMAT, data, |frame| assert!(!frame.complete || frame.bytes.starts_with(&[0, 0])));
    receive(&av1::FORMAT, data, |frame| assert!(!frame.complete || repacked(&frame.bytes)));
    receive(&mpeg4_video::FORMAT, data, |frame| assert!(!frame.complete || frame.bytes.starts_with(&[0, 0, 1])));
}

/// A temporal unit of AV1 that came is one that can be sent, but for one of nothing that is sent.
fn repacked(unit: &[u8]) -> bool {
    let (mtu, origin) = (DataSize::from_bytes(100), StreamOrigin { ssrc: 1, initial_sequence: 0 });
    let mut packetizer = Packetizer::new(&av1::FORMAT, PacketRule::Full, mtu, origin).unwrap();
    unit.starts_with(&[0x12, 0]) && (unit.len() == 2 || packetizer.packetize(unit, 0).is_ok())
}

/// What a receiver here may hold.
pub(crate) const LIMITS: Limits =
    Limits { reorder_window: WINDOW, largest_frame: DataSize::from_bytes(LARGEST_FRAME as u64) };

/// Gives a receiver of this format of video what is in `data`.
pub(crate) fn receive(format: &PayloadFormat, data: &[u8], check: impl Fn(&ReceivedFrame)) {
    receive_by(Depacketizer::new(format, None, LIMITS), format.payload_type, 1, data, check);
}

/// The same of any format, of which a payload has so many frames at most.
pub(crate) fn receive_by(
    mut receiver: Depacketizer,
    payload_type: u8,
    most: usize,
    data: &[u8],
    check: impl Fn(&ReceivedFrame),
) {
    let (mut arrivals, mut last) = (0, None);
    for (taken, datagram) in datagrams(data, payload_type).enumerate() {
        let is_taken = receiver.handle_datagram(Timestamp::from_millis(taken as u64), &datagram).is_ok();
        arrivals += usize::from(is_taken);
        while let Some(Arrival { outcome, .. }) = receiver.poll_arrival() {
            arrivals = arrivals.checked_sub(1).expect("an outcome is of a datagram that was taken");
            assert!(outcome.is_err() || last.replace(outcome.clone()) != Some(outcome), "a number came twice in a row");
        }
        assert!(arrivals <= 1, "only one packet waits for its outcome");
        let mut ready = 0;
        while let Some(frame) = receiver.poll_frame() {
            ready += 1;
            assert!(frame.bytes.len() <= LARGEST_FRAME && frame.complete != frame.bytes.is_empty());
            assert!(frame.beginning.len() <= LARGEST_FRAME && (frame.beginning.is_empty() || !frame.complete));
            check(&frame);
        }
        assert!(ready <= (usize::from(WINDOW) + 1) * most + 1);
    }
    receiver.flush();
}

/// Datagrams that are in `data`: as they are, or behind a header of RTP with this payload type, mostly in order.
pub(crate) fn datagrams(data: &[u8], payload_type: u8) -> impl Iterator<Item = Vec<u8>> {
    let (mut rest, mut sequence) = (data, 0u16);
    std::iter::from_fn(move || {
        let [operation, length, step, timestamp, tail @ ..] = rest else { return None };
        let (payload, next) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = next;
        let mut datagram = Vec::new();
        if operation & 0x80 == 0 {
            // Mostly small steps, sometimes a jump.
            let jump = if operation & 0x40 == 0 { 1 } else { 257 };
            sequence = sequence.wrapping_add((*step as i8 as u16).wrapping_mul(jump));
            datagram.extend([0x80, payload_type | operation << 7]);
            datagram.extend(sequence.to_be_bytes());
            // The clock stands, goes on by little, or leaps.
            datagram.extend([timestamp >> 2 & 0x1F, timestamp & 0x80, 0, timestamp & 3, 0, 0, 0, 1]);
        }
        datagram.extend(payload);
        Some(datagram)
    })
}
