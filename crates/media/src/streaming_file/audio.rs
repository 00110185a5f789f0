//! The track of audio in a streaming file of version 2: its description, its part of the index, and its records.
//!
//! Behind the levels in the header:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | codec: 1 MPEG audio layer II, 2 layer III, 3 AAC in ADTS frames |
//! | 1 | channels: 1 to 8 |
//! | 2 | zeros |
//! | 4 | sample rate in Hz |
//! | 4 | packets of audio |
//! | 8 | bytes of audio |
//!
//! In the entry of a frame in the index, before its levels:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | packets of audio before this frame's |
//! | 4 | packets of audio of this frame |
//! | 4 | their bytes of audio |
//! | 4 | CRC-32 of their records, with their headers |
//!
//! Records of audio, before those of the frame:
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 8 | when it begins to play, nanoseconds from the first frame shown |
//! | 8 | 4 | how long it plays, nanoseconds |
//! | 12 | 4 | number of the packet, from 0 |
//! | 16 | 4 | bytes of audio behind this header |
//! | 20 | | bytes of audio |

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use framewire_units::DataSize;

use crate::audio::{
    AudioCodec, AudioFormat, AudioPacket, AudioTrack, CHANNELS, MAX_DURATION, MAX_PACKETS, SAMPLE_RATES,
};
use crate::streaming_file::StreamingFileError;
use crate::streaming_file::header::{Reader, nanos, within};

/// Bytes of the description in the header.
pub(super) const DESCRIPTION: usize = 20;

/// Bytes in the entry of a frame.
pub(super) const ENTRY: usize = 16;

/// Bytes before the audio in a record.
pub(crate) const AUDIO_RECORD_HEADER: usize = 20;

/// What a streaming file says of its track of audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioDescription {
    /// Codec, sample rate and channels.
    pub format: AudioFormat,
    /// Packets; at least one.
    pub packets: u32,
    /// All bytes of audio.
    pub size: DataSize,
}

impl AudioDescription {
    pub(super) fn of(track: &AudioTrack) -> Self {
        Self { format: track.format(), packets: track.packets().len() as u32, size: track.size() }
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        let code = self.format.codec.code().expect("invariant: a ladder has no audio without a number");
        bytes.extend([code, self.format.channels, 0, 0]);
        bytes.extend(self.format.sample_rate.to_be_bytes());
        bytes.extend(self.packets.to_be_bytes());
        bytes.extend(self.size.as_bytes().to_be_bytes());
    }

    /// Reads as many bytes as were checked to be there.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, StreamingFileError> {
        let code = within("audio codec", reader.u8(), 1..=3)? as u8;
        let codec = AudioCodec::from_code(code).expect("invariant: 1 to 3 are codecs, as was checked");
        let channels = within("audio channels", reader.u8(), 1..=(*CHANNELS.end()).into())? as u8;
        within("reserved field", reader.u16(), 0..=0)?;
        let rates = u64::from(*SAMPLE_RATES.start())..=u64::from(*SAMPLE_RATES.end());
        let sample_rate = within("audio sample rate", reader.u32(), rates)? as u32;
        let packets = within("number of audio packets", reader.u32(), 1..=MAX_PACKETS as u64)? as u32;
        let size = DataSize::from_bytes(reader.u64());
        Ok(Self { format: AudioFormat { codec, sample_rate, channels, pre_skip: 0 }, packets, size })
    }
}

/// The audio of a frame, in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AudioEntry {
    /// Number of its first packet.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) bytes: u32,
    pub(super) checksum: u32,
}

impl AudioEntry {
    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        for number in [self.first, self.count, self.bytes, self.checksum] {
            bytes.extend(number.to_be_bytes());
        }
    }

    pub(super) fn parse(reader: &mut Reader<'_>) -> Self {
        Self { first: reader.u32(), count: reader.u32(), bytes: reader.u32(), checksum: reader.u32() }
    }

    /// Bytes of its records.
    pub(super) fn records_length(&self) -> u64 {
        u64::from(self.count) * AUDIO_RECORD_HEADER as u64 + u64::from(self.bytes)
    }
}

/// Writes the records of a frame's packets, of which the first has this number.
pub(super) fn emit_records(first: u32, packets: &[AudioPacket], records: &mut Vec<u8>) -> AudioEntry {
    records.clear();
    let mut entry = AudioEntry { first, ..AudioEntry::default() };
    for packet in packets {
        records.extend(nanos(packet.time).to_be_bytes());
        records.extend((nanos(packet.duration) as u32).to_be_bytes());
        records.extend((first + entry.count).to_be_bytes());
        records.extend((packet.bytes.len() as u32).to_be_bytes());
        records.extend_from_slice(&packet.bytes);
        entry.count += 1;
        entry.bytes += packet.bytes.len() as u32;
    }
    entry.checksum = crc32fast::hash(records);
    entry
}

/// Where the audio of a frame stands, and when it may begin to play.
pub(super) struct Place {
    pub(super) frame: u32,
    pub(super) offset: u64,
    pub(super) times: Range<Duration>,
    /// Bytes that a packet may have.
    pub(super) payload: u32,
}

/// Reads the records of a frame's packets, and checks that each says what it has to.
pub(super) fn packets(
    entry: AudioEntry,
    place: &Place,
    records: &Bytes,
) -> Result<Vec<AudioPacket>, StreamingFileError> {
    let damaged = |at: usize, field, value: u64, allowed: Range<u64>| {
        let allowed = match allowed.end.saturating_sub(allowed.start) {
            0 => "none, there is no room for one".to_owned(),
            1 => allowed.start.to_string(),
            _ => format!("{} to {}", allowed.start, allowed.end - 1),
        };
        let (frame, offset) = (place.frame, place.offset + at as u64);
        StreamingFileError::DamagedAudio { frame, offset, field, value, allowed }
    };
    let exactly = |value: u32| u64::from(value)..u64::from(value) + 1;
    let computed = crc32fast::hash(records);
    if computed != entry.checksum {
        return Err(damaged(0, "checksum", computed.into(), exactly(entry.checksum)));
    }
    // The length of the records is that of so many headers and bytes; sizes have to make it up.
    let (mut at, mut packets, mut left) = (0, Vec::new(), entry.bytes);
    let mut least = nanos(place.times.start);
    for number in entry.first..entry.first + entry.count {
        let mut reader = Reader { bytes: records, at };
        let fields = (reader.u64(), reader.u32(), reader.u32(), reader.u32());
        let (time, duration, stated, size) = fields;
        let behind = entry.first + entry.count - 1 - number;
        let most = place.payload.min(left.saturating_sub(behind));
        let sizes = if behind == 0 { exactly(left) } else { 1..u64::from(most) + 1 };
        let checks = [
            (0, "time", time, least..nanos(place.times.end)),
            (8, "duration", duration.into(), 1..nanos(MAX_DURATION) + 1),
            (12, "number", stated.into(), exactly(number)),
            (16, "size", size.into(), sizes),
        ];
        for (field_at, field, value, allowed) in checks {
            if !allowed.contains(&value) {
                return Err(damaged(at + field_at, field, value, allowed));
            }
        }
        let start = at + AUDIO_RECORD_HEADER;
        at = start + size as usize;
        left -= size;
        least = time + 1;
        let (time, duration) = (Duration::from_nanos(time), Duration::from_nanos(duration.into()));
        packets.push(AudioPacket { time, duration, bytes: records.slice(start..at) });
    }
    Ok(packets)
}
