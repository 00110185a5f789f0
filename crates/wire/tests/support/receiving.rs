//! What a receiver makes of datagrams.

use framewire_units::Timestamp;
use framewire_wire::rtp_payload::{
    Arrival, Datagram, Depacketizer, Limits, PayloadFormat, ReceivedFrame, RejectReason,
};

/// Packets that a receiver of [`receive`]'s tests waits for one that was overtaken.
pub const WINDOW: u16 = 16;

/// Hands every datagram to the receiver, and returns what comes out.
pub fn receive<'a>(
    receiver: &mut Depacketizer,
    datagrams: impl IntoIterator<Item = &'a Datagram>,
) -> Vec<ReceivedFrame> {
    let mut frames = Vec::new();
    for (time, datagram) in datagrams.into_iter().enumerate() {
        let now = Timestamp::from_micros(time as u64);
        match receiver.handle_datagram(now, &datagram.bytes) {
            Ok(()) => {
                let arrival = Arrival { at: now, size: datagram.size(), outcome: Ok(datagram.sequence) };
                assert_eq!(receiver.poll_arrival(), Some(arrival));
            }
            Err(reason) => assert_eq!(reason, RejectReason::Old { sequence: datagram.sequence }),
        }
        frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
    }
    receiver.flush();
    frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
    frames
}

/// Lets every packet be overtaken only by packets less than the window after it.
pub fn shuffle(packets: &mut [&Datagram], delays: &[u8]) {
    let delay = |sequence: u64| u64::from(delays[sequence as usize % delays.len()]) % u64::from(WINDOW);
    packets.sort_by_key(|packet| packet.sequence + delay(packet.sequence));
}

/// The frames of datagrams that all have to be well formed, received without knowing where the stream began.
pub fn frames_of(format: &'static PayloadFormat, datagrams: &[Vec<u8>]) -> Vec<ReceivedFrame> {
    let mut receiver = Depacketizer::new(format, None, Limits::default());
    let mut frames = Vec::new();
    for datagram in datagrams {
        receiver.handle_datagram(Timestamp::ZERO, datagram).unwrap();
        frames.extend(receiver.poll_frame());
    }
    receiver.flush();
    frames.extend(receiver.poll_frame());
    frames
}
