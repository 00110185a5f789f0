//! Opus in Ogg (RFC 7845): read as a track, and written packet by packet.

use bytes::Bytes;
use framewire_units::{OPUS_CLOCK_RATE, OpusPacket};

use super::ogg::{Packets, Pages};
use super::{AudioCodec, AudioError, AudioFormat, AudioPacket, AudioTrack, MAX_PACKETS};

/// What the two header packets begin with (sections 5.1 and 5.2).
const HEAD: &[u8] = b"OpusHead";
const TAGS: &[u8] = b"OpusTags";

/// Bytes of the first one, where no table of channels follows.
const HEAD_LENGTH: usize = 19;

/// Reads a stream that begins as Ogg. Packets are timed by what they say themselves; what the last page says of its end (section
/// 4.4) cuts none of them short, as no packet that is sent says so.
pub(super) fn read(stream: &Bytes) -> Result<AudioTrack, AudioError> {
    let mut packets = Packets::new(stream);
    let format = match packets.next()? {
        Some((offset, head)) => read_head(offset, &head)?,
        None => return Err(AudioError::Empty),
    };
    match packets.next()? {
        Some((_, tags)) if tags.starts_with(TAGS) => {}
        Some((offset, _)) => return Err(AudioError::Ogg { offset, reason: "no OpusTags behind the first packet" }),
        None => return Err(AudioError::Empty),
    }
    let (mut samples, mut found) = (0, Vec::new());
    while let Some((offset, bytes)) = packets.next()? {
        let reason = "a packet of Opus has at least a byte, and plays for 120 ms at most";
        let packet = OpusPacket::parse(&bytes).map_err(|_| AudioError::Ogg { offset, reason })?;
        if found.len() == MAX_PACKETS {
            let (field, value) = ("number of packets", MAX_PACKETS as u64 + 1);
            return Err(AudioError::Field { field, value, allowed: format!("1 to {MAX_PACKETS}") });
        }
        let time = format.time_of(samples);
        samples += u64::from(packet.ticks);
        found.push(AudioPacket { time, duration: format.time_of(samples) - time, bytes });
    }
    if found.is_empty() { Err(AudioError::Empty) } else { AudioTrack::new(format, found) }
}

fn read_head(offset: u64, head: &[u8]) -> Result<AudioFormat, AudioError> {
    let refused = |reason| Err(AudioError::Ogg { offset, reason });
    if !head.starts_with(HEAD) {
        return refused("its first packet is no OpusHead: Opus is what is read of Ogg");
    }
    // A version beyond 15 is of another kind (section 5.1).
    let &[version, channels, low, high, _, _, _, _, _, _, family, ..] = &head[HEAD.len()..] else {
        return refused("its OpusHead is cut off");
    };
    if version > 15 {
        return refused("its OpusHead is of a version beyond 15");
    }
    if family != 0 || !(1..=2).contains(&channels) {
        return refused(
            "its channels have a table (mapping family 1 and others): one or two channels without are read",
        );
    }
    let pre_skip = u16::from_le_bytes([low, high]);
    Ok(AudioFormat { codec: AudioCodec::Opus, sample_rate: OPUS_CLOCK_RATE, channels, pre_skip })
}

/// Writes packets of Opus as a file that plays, a page for each.
#[derive(Clone, Debug)]
pub struct OpusFile {
    pages: Pages,
    /// Samples so far (section 4).
    samples: u64,
}

impl OpusFile {
    /// A file of this format, and what stands before its first packet.
    pub fn new(format: AudioFormat) -> (Self, Vec<u8>) {
        let mut head = Vec::with_capacity(HEAD_LENGTH);
        head.extend(HEAD);
        head.extend([1, format.channels]);
        head.extend(format.pre_skip.to_le_bytes());
        head.extend(format.sample_rate.to_le_bytes());
        head.extend([0, 0]); // No gain.
        head.push(0);
        let vendor = b"framewire";
        let mut tags = TAGS.to_vec();
        tags.extend((vendor.len() as u32).to_le_bytes());
        tags.extend(vendor);
        tags.extend([0; 4]); // No comments.
        let mut pages = Pages::default();
        let headers = [pages.packet(&head, 0), pages.packet(&tags, 0)].concat();
        (Self { pages, samples: 0 }, headers)
    }

    /// What stands there of a packet. One that is none of Opus takes no time.
    pub fn packet(&mut self, packet: &[u8]) -> Vec<u8> {
        self.samples += OpusPacket::parse(packet).map_or(0, |packet| u64::from(packet.ticks));
        self.pages.packet(packet, self.samples)
    }

    /// What stands behind the last one.
    pub fn end(&mut self) -> Vec<u8> {
        self.pages.end(self.samples)
    }
}
