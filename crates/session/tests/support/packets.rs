//! Frames in RTP packets, from a sender to a receiver that need not get all of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use framewire_media::access_unit::Codec;
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::registry::payload_format;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin};

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 1, initial_sequence: 0 };

/// Which frames of a stream came out whole behind a network that loses packets by their numbers, and their bytes; and of
/// which of them, or of others, all packets came.
pub struct Carried {
    pub whole: BTreeMap<u32, Bytes>,
    pub untouched: Vec<u32>,
}

impl Carried {
    /// Frames of which all packets came, and that are not whole all the same.
    pub fn discarded(&self) -> Vec<u32> {
        self.untouched.iter().copied().filter(|frame| !self.whole.contains_key(frame)).collect()
    }
}

/// Sends the frames in packets.
pub fn carry(codec: Codec, frames: &[OutgoingFrame], mut is_lost: impl FnMut() -> bool) -> Carried {
    let format = payload_format(codec).expect("RTP carries it");
    let mut packetizer = Packetizer::new(format, PacketRule::Full, DataSize::from_bytes(576), ORIGIN).expect("it fits");
    let mut receiver = Depacketizer::new(format, Some(ORIGIN), Limits::default());
    let ids: BTreeMap<u32, u32> = frames.iter().map(|frame| (frame.rtp_timestamp, frame.id)).collect();
    assert_eq!(ids.len(), frames.len(), "time stamps name frames");
    let (mut whole, mut untouched) = (BTreeMap::new(), vec![]);
    let mut take = |receiver: &mut Depacketizer| {
        let received = std::iter::from_fn(|| receiver.poll_frame());
        whole.extend(received.filter(|frame| frame.complete).map(|frame| (ids[&frame.rtp_timestamp], frame.bytes)));
    };
    for frame in frames {
        let mut is_touched = false;
        for packet in packetizer.packetize(&frame.bytes, frame.rtp_timestamp).expect("it is an access unit") {
            if is_lost() {
                is_touched = true;
            } else {
                receiver.handle_datagram(Timestamp::ZERO, &packet.bytes).expect("it is of this stream");
            }
        }
        untouched.extend((!is_touched).then_some(frame.id));
        take(&mut receiver);
    }
    receiver.flush();
    take(&mut receiver);
    Carried { whole, untouched }
}
