//! Audio beside video: one track of coded packets with their times.
//!
//! [`AudioTrack::parse`] cuts an elementary stream of MPEG audio (layer II or III) or of AAC in ADTS frames into packets, and takes
//! those of Opus out of Ogg, as which [`OpusFile`] writes them.

mod error;
mod frame_header;
mod ogg;
mod opus;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use bytes::Bytes;
use framewire_units::DataSize;

use crate::movie::MAX_FRAMES;
pub use error::AudioError;
use frame_header::FrameHeader;
pub use opus::OpusFile;

/// Sample rates of a track, in Hz: those of the codecs lie between.
pub(crate) const SAMPLE_RATES: RangeInclusive<u32> = 7_350..=96_000;

/// Channels of a track: AAC's channel configurations end with eight (ISO/IEC 14496-3, table 1.19).
pub(crate) const CHANNELS: RangeInclusive<u8> = 1..=8;

/// Packets that a track may have.
pub(crate) const MAX_PACKETS: usize = MAX_FRAMES;

/// Bytes that a packet may have: an ADTS frame has 13 bits for its length (ISO/IEC 14496-3, 1.A.2.2.1).
pub(crate) const MAX_PACKET: u32 = 8_191;

/// Time that a packet may take: 0.63 s are four blocks of AAC at the lowest sample rate.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(1);

/// How audio is coded. Packets hold their headers, so that they can be joined to a stream that plays by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AudioCodec {
    /// MPEG-1 or MPEG-2 audio, layer II (ISO/IEC 11172-3, 13818-3).
    Mp2,
    /// MPEG-1 or MPEG-2 audio, layer III.
    Mp3,
    /// AAC in ADTS frames (ISO/IEC 14496-3, 1.A.2).
    Aac,
    /// Opus (RFC 6716), whose packets have no header that tells them apart: Ogg does (RFC 7845).
    Opus,
}

impl AudioCodec {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mp2, Self::Mp3, Self::Aac, Self::Opus];

    /// Its number in ladders, their streaming files and packets; `None` of Opus, which ladders do not have.
    pub fn code(self) -> Option<u8> {
        match self {
            Self::Mp2 => Some(1),
            Self::Mp3 => Some(2),
            Self::Aac => Some(3),
            Self::Opus => None,
        }
    }

    /// The codec with a number there; 1 to 3 are known.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.code() == Some(code))
    }

    /// That of a stream of MPEG audio or of AAC in ADTS frames of which this is a part with a whole frame; `None` of any other.
    ///
    /// ```
    /// use framewire_media::audio::AudioCodec;
    ///
    /// let layer_2 = [&[0xFF, 0xFD, 0x14, 0xC0][..], &[0; 92]].concat(); // 32 kbit/s and 48 kHz: 96 bytes
    /// assert_eq!(AudioCodec::of_stream(&layer_2), Some(AudioCodec::Mp2));
    /// assert_eq!(AudioCodec::of_stream(&layer_2[..95]), None);
    /// ```
    pub fn of_stream(part: &[u8]) -> Option<Self> {
        let is_frame = |at: usize| FrameHeader::parse(part, at).ok();
        let frames = (0..part.len()).filter_map(|at| Some((at, is_frame(at)?)));
        // What looks like a header has another one behind its frame, or nothing.
        let mut frames = frames.filter(|(at, frame)| {
            let behind = at + frame.length;
            part.len() - behind < frame_header::LONGEST || is_header(&part[behind..], frame.format)
        });
        frames.next().map(|(_, frame)| frame.format.codec)
    }

    /// Its name as a file name ends.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mp2 => "mp2",
            Self::Mp3 => "mp3",
            Self::Aac => "aac",
            Self::Opus => "opus",
        }
    }
}

impl fmt::Display for AudioCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mp2 => "MPEG audio layer II",
            Self::Mp3 => "MPEG audio layer III",
            Self::Aac => "AAC",
            Self::Opus => "Opus",
        })
    }
}

/// Whether bytes begin with a header of this format, whether or not its frame is whole.
fn is_header(bytes: &[u8], format: AudioFormat) -> bool {
    FrameHeader::begins(bytes).is_some_and(|header| header.format == format)
}

/// What all packets of a track have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioFormat {
    /// The codec.
    pub codec: AudioCodec,
    /// Samples per second and channel.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u8,
    /// Of Opus, samples in front that are decoded and not played (RFC 7845, 4.2); else 0.
    pub pre_skip: u16,
}

/// A packet of audio: what is decoded at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioPacket {
    /// When it begins to play, from the first frame shown.
    pub time: Duration,
    /// How long it plays.
    pub duration: Duration,
    /// The coded bytes.
    pub bytes: Bytes,
}

/// One track of audio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioTrack {
    format: AudioFormat,
    packets: Vec<AudioPacket>,
}

impl AudioTrack {
    /// A track of packets.
    ///
    /// # Errors
    /// When there is none or more than `MAX_PACKETS`, a number is outside of its range, or times do not ascend.
    pub fn new(format: AudioFormat, packets: Vec<AudioPacket>) -> Result<Self, AudioError> {
        let out_of_range = |field, value: u64, (least, most): (u64, u64)| {
            let allowed = format!("{least} to {most}");
            if (least..=most).contains(&value) { Ok(()) } else { Err(AudioError::Field { field, value, allowed }) }
        };
        let ends = (u64::from(*SAMPLE_RATES.start()), u64::from(*SAMPLE_RATES.end()));
        out_of_range("sample rate", format.sample_rate.into(), ends)?;
        out_of_range("number of channels", format.channels.into(), (1, u64::from(*CHANNELS.end())))?;
        out_of_range("number of packets", packets.len() as u64, (1, MAX_PACKETS as u64))?;
        let mut least = 0;
        for packet in &packets {
            let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            out_of_range("size of a packet in bytes", packet.bytes.len() as u64, (1, MAX_PACKET.into()))?;
            out_of_range("duration of a packet in nanoseconds", nanos(packet.duration), (1, nanos(MAX_DURATION)))?;
            out_of_range("time of a packet in nanoseconds", nanos(packet.time), (least, u64::MAX - 1))?;
            least = nanos(packet.time) + 1;
        }
        Ok(Self { format, packets })
    }

    /// Cuts an elementary stream, or Opus in Ogg, into packets, the first at time 0. Tags in front (ID3v2) and behind (ID3v1) are passed
    /// over.
    ///
    /// # Errors
    /// Where something else stands than a frame of the same codec, sample rate and channels; where the stream is cut
    /// off.
    pub fn parse(stream: &Bytes) -> Result<Self, AudioError> {
        if stream.starts_with(ogg::CAPTURE) {
            return opus::read(stream);
        }
        let mut at = frame_header::tag_in_front(stream);
        let (mut first, mut samples, mut packets) = (None::<AudioFormat>, 0_u64, Vec::new());
        while at < stream.len() && !frame_header::is_tag_behind(&stream[at..]) {
            let header = FrameHeader::parse(stream, at)?;
            let format = *first.get_or_insert(header.format);
            if header.format != format {
                return Err(AudioError::Changed { offset: at as u64, format: header.format, first: format });
            }
            if packets.len() == MAX_PACKETS {
                let (field, value) = ("number of packets", MAX_PACKETS as u64 + 1);
                return Err(AudioError::Field { field, value, allowed: format!("1 to {MAX_PACKETS}") });
            }
            let bytes = stream.slice(at..at + header.length);
            let time = format.time_of(samples);
            samples += u64::from(header.samples);
            packets.push(AudioPacket { time, duration: format.time_of(samples) - time, bytes });
            at += header.length;
        }
        match first {
            Some(format) => Self::new(format, packets),
            None => Err(AudioError::Empty),
        }
    }

    /// What all packets have in common.
    pub fn format(&self) -> AudioFormat {
        self.format
    }

    /// The packets, in the order of their times; at least one.
    pub fn packets(&self) -> &[AudioPacket] {
        &self.packets
    }

    /// All bytes.
    pub fn size(&self) -> DataSize {
        DataSize::from_bytes(self.packets.iter().map(|packet| packet.bytes.len() as u64).sum())
    }

    /// The track without the packets that begin at `end` or later; `None` when none is left.
    pub fn until(&self, end: Duration) -> Option<Self> {
        let kept = self.packets.partition_point(|packet| packet.time < end);
        (kept > 0).then(|| Self { format: self.format, packets: self.packets[..kept].to_vec() })
    }
}

impl AudioFormat {
    /// Time of so many samples, to the nearest nanosecond.
    fn time_of(self, samples: u64) -> Duration {
        let rate = u128::from(self.sample_rate);
        let nanos = (u128::from(samples) * 1_000_000_000 + rate / 2) / rate;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for AudioFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} Hz, {} channels", self.codec, self.sample_rate, self.channels)
    }
}
