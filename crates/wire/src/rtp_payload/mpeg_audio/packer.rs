//! From frames to payloads.

use super::HEADER;
use super::header::{FrameHeader, NoFrame};
use crate::rtp_payload::packets::Packets;
use crate::rtp_payload::{FrameError, Packer};

/// Packs frames. The first packet of the stream has the marker: "the first packet of a talk-spurt" (section 3.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct MpegAudioPacker {
    largest_payload: usize,
    has_begun: bool,
}

impl MpegAudioPacker {
    pub(super) fn new(largest_payload: usize) -> Self {
        Self { largest_payload, has_begun: false }
    }

    fn begin(&mut self, ticks: u32, offset: usize, packets: &mut Packets) {
        let marker = !std::mem::replace(&mut self.has_begun, true);
        packets.begin_at(ticks, marker);
        let offset = u16::try_from(offset).expect("invariant: a frame has less than 2^16 bytes");
        let [high, low] = offset.to_be_bytes();
        packets.put_header(&[0, 0, high, low]);
    }
}

/// The length and the ticks of each frame.
fn frames(bytes: &[u8]) -> Result<Vec<FrameHeader>, NoFrame> {
    let (mut found, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() || found.is_empty() {
        let header = FrameHeader::parse(rest)?;
        rest = rest.get(header.length..).ok_or(NoFrame)?;
        found.push(header);
    }
    Ok(found)
}

impl Packer for MpegAudioPacker {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        let frames = frames(frame)?;
        let room = self.largest_payload - HEADER;
        packets.reserve(frames.len(), frame.len());
        let (mut left, mut rest, mut ticks) = (&frames[..], frame, 0_u32);
        while let Some(first) = left.first() {
            let mut size = 0;
            let fits = |header: &&FrameHeader| {
                size += header.length;
                size <= room
            };
            let count = left.iter().take_while(fits).count();
            let taken = &left[..count.max(1)];
            let (media, after) = rest.split_at(taken.iter().map(|header| header.length).sum());
            if count == 0 {
                debug_assert!(media.len() == first.length);
                for (number, part) in media.chunks(room).enumerate() {
                    self.begin(ticks, number * room, packets);
                    packets.put_media(part);
                }
            } else {
                self.begin(ticks, 0, packets);
                packets.put_media(media);
            }
            ticks = taken.iter().fold(ticks, |ticks, header| ticks.wrapping_add(header.ticks));
            left = &left[taken.len()..];
            rest = after;
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(*self)
    }
}
