//! An elementary stream cut into the units between its start codes.

use std::collections::VecDeque;

use framewire_media::access_unit::Codec;
use framewire_units::Timestamp;
use memchr::memmem;
use twox_hash::XxHash3_128;

/// The prefix of every start code (ISO/IEC 13818-2, 5.2.3; ITU-T H.264 and H.265, annex B).
const PREFIX: [u8; 3] = [0, 0, 1];

/// Longest unit that is kept to be compared: larger than any coded picture that a level of the standards allows at
/// 100 Mbit/s and 24 Hz. What is longer is damage, and must not fill the memory.
const LONGEST_UNIT: usize = 16 << 20;

/// The content of a unit: equal units, equal hashes; different ones practically never.
pub(super) type UnitHash = u128;

pub(super) fn hash_of(unit: &[u8]) -> UnitHash {
    XxHash3_128::oneshot(unit)
}

/// A unit that carries picture data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit<'a> {
    pub(super) hash: UnitHash,
    /// What follows the prefix of its start code, without zero bytes at the end.
    bytes: &'a [u8],
    /// Bytes behind the prefix, as it came.
    came: usize,
    /// Its place in the buffer of the cutter.
    start: usize,
    cutter: &'a UnitCutter,
}

impl<'a> Unit<'a> {
    /// The same with other bytes than came.
    pub(super) fn with<'b>(&self, bytes: &'b [u8]) -> Unit<'b>
    where
        'a: 'b,
    {
        Unit { hash: hash_of(bytes), bytes, ..*self }
    }

    /// What follows the prefix.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes, with the prefix of its start code.
    pub(super) fn size(&self) -> u64 {
        (PREFIX.len() + self.bytes.len()) as u64
    }

    /// Bytes behind the prefix.
    pub(super) fn length(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// When the last of its first `length` bytes came.
    pub(super) fn arrival_of(&self, length: u32) -> Timestamp {
        // Where bytes were changed, that was at its beginning.
        let behind = self.bytes.len() - (length as usize).min(self.bytes.len());
        self.cutter.stamp_of(self.start + self.came.saturating_sub(behind))
    }

    /// True when it begins with a unit of `length` bytes and that hash.
    pub(super) fn begins_with(&self, length: u32, hash: UnitHash) -> bool {
        self.bytes.get(..length as usize).is_some_and(|bytes| hash_of(bytes) == hash)
    }
}

/// Cuts a stream that comes in chunks of any size into units. Zero bytes at the end of a unit belong to no unit: there
/// may be any number of them before a start code.
#[derive(Debug)]
pub(super) struct UnitCutter {
    codec: Codec,
    finder: memmem::Finder<'static>,
    /// The bytes since the last start code, or since the beginning where there was none.
    buffer: Vec<u8>,
    /// Whether the buffer begins behind a start code.
    in_unit: bool,
    /// The current unit was longer than is kept.
    overlong: bool,
    /// Place in the stream of the first byte of the buffer.
    offset: u64,
    /// Ends of chunks and the times at which they came; from the chunk on that the buffer begins in.
    stamps: VecDeque<(u64, Timestamp)>,
}

impl UnitCutter {
    pub(super) fn new(codec: Codec) -> Self {
        Self {
            codec,
            finder: memmem::Finder::new(&PREFIX).into_owned(),
            buffer: Vec::new(),
            in_unit: false,
            overlong: false,
            offset: 0,
            stamps: VecDeque::new(),
        }
    }

    /// Takes the next bytes of the stream, which came at `now`; hands every unit with picture data that they end to
    /// `sink`.
    pub(super) fn feed(&mut self, now: Timestamp, chunk: &[u8], sink: &mut impl FnMut(&Unit<'_>)) {
        let mut searched = self.buffer.len().saturating_sub(PREFIX.len() - 1);
        self.buffer.extend_from_slice(chunk);
        let end = self.offset + self.buffer.len() as u64;
        self.stamps.push_back((end, now));
        let mut start = 0;
        while let Some(found) = self.finder.find(&self.buffer[searched..]) {
            let prefix = searched + found;
            self.emit(start, prefix, sink);
            start = prefix + PREFIX.len();
            searched = start;
            (self.in_unit, self.overlong) = (true, false);
        }
        self.forget(start);
        if self.buffer.len() > LONGEST_UNIT {
            self.overlong = true;
            self.forget(self.buffer.len() - (PREFIX.len() - 1));
        }
    }

    /// Ends the stream, and with it the last unit.
    pub(super) fn finish(&mut self, sink: &mut impl FnMut(&Unit<'_>)) {
        self.emit(0, self.buffer.len(), sink);
        self.forget(self.buffer.len());
        self.in_unit = false;
    }

    /// Hands out the unit in `buffer[start..end]`, if it is one and carries picture data.
    fn emit(&self, start: usize, end: usize, sink: &mut impl FnMut(&Unit<'_>)) {
        let bytes = &self.buffer[start..end];
        let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let unit = &bytes[..length];
        if self.in_unit && !self.overlong && self.codec.holds_picture_data(unit) {
            sink(&Unit { hash: hash_of(unit), bytes: unit, came: length, start, cutter: self });
        }
    }

    /// When the byte before `buffer[end]` came.
    fn stamp_of(&self, end: usize) -> Timestamp {
        let end = self.offset + end as u64;
        let chunk = self.stamps.iter().find(|(chunk_end, _)| *chunk_end >= end);
        chunk.or(self.stamps.back()).map_or(Timestamp::ZERO, |&(_, at)| at)
    }

    fn forget(&mut self, count: usize) {
        self.buffer.drain(..count);
        self.offset += count as u64;
        while self.stamps.len() > 1 && self.stamps[0].0 <= self.offset {
            self.stamps.pop_front();
        }
    }
}
