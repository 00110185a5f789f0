//! Opus over RTP (RFC 7587): a payload is one packet of Opus, never a part of one nor several.
//!
//! The clock has 48 kHz and a description two channels, whatever was coded (section 4.1, section 7). Packets come out to the
//! byte. One that is larger than a payload is refused: an encoder keeps to the size that it is given (section 3.1.1).

#[cfg(test)]
mod tests;

use framewire_units::{OPUS_CLOCK_RATE, OpusPacket};

use super::packets::Packets;
use super::{
    Contents, FrameError, Media, Packer, PayloadFormat, Reading, SECOND_DYNAMIC_PAYLOAD_TYPE, StreamDescription,
    UnitReader,
};

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "opus",
    document: "RFC 7587",
    media: Media::Audio,
    payload_type: SECOND_DYNAMIC_PAYLOAD_TYPE,
    smallest_payload: 1,
    refuses: |_| None,
    packer: |_, largest_payload| Box::new(OpusPacker { largest_payload, has_begun: false }),
    reading: Reading::Units(|_| Ok(Box::new(OpusReader))),
    piece: |payload| Some(payload.into()),
    description: |first| {
        // "sprop-stereo" says what is likely to be sent, as a receiver need not be prepared for two (section 6.1).
        let stereo = OpusPacket::parse(first)?.is_stereo;
        let parameters = stereo.then(|| "sprop-stereo=1".to_owned());
        Ok(StreamDescription { clock_rate: OPUS_CLOCK_RATE, channels: Some(2), parameters })
    },
    received: &[],
};

/// Packs packets of Opus. The first one of the stream has the marker, as one that begins a talk-spurt (section 4.1).
#[derive(Clone, Copy, Debug)]
struct OpusPacker {
    largest_payload: usize,
    has_begun: bool,
}

impl Packer for OpusPacker {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        OpusPacket::parse(frame)?;
        if frame.len() > self.largest_payload {
            let (size, room) = (frame.len(), self.largest_payload);
            return Err(
                format!("a packet of Opus of {size} bytes, which RTP does not cut, in a payload of {room}").into()
            );
        }
        packets.begin_at(0, !std::mem::replace(&mut self.has_begun, true));
        packets.put_media(frame);
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(*self)
    }
}

/// Reads payloads.
#[derive(Clone, Copy, Debug)]
struct OpusReader;

impl UnitReader for OpusReader {
    fn read<'a>(&self, payload: &'a [u8]) -> Result<Contents<'a>, String> {
        OpusPacket::parse(payload).map_err(|error| error.to_string())?;
        Ok(Contents::Whole(vec![payload]))
    }

    fn marker_ends(&self) -> bool {
        false
    }

    fn ticks(&self, unit: &[u8]) -> u32 {
        OpusPacket::parse(unit).map_or(0, |packet| packet.ticks)
    }
}
