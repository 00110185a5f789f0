//! Start codes: 00 00 01 and a value (ISO/IEC 13818-2, 5.2.3 and table 6-1).

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Values of start codes (table 6-1).
pub(crate) mod value {
    pub(crate) const PICTURE: u8 = 0x00;
    pub(crate) const SLICE_FIRST: u8 = 0x01;
    pub(crate) const SLICE_LAST: u8 = 0xaf;
    pub(crate) const USER_DATA: u8 = 0xb2;
    pub(crate) const SEQUENCE_HEADER: u8 = 0xb3;
    pub(crate) const EXTENSION: u8 = 0xb5;
    pub(crate) const SEQUENCE_END: u8 = 0xb7;
    pub(crate) const GROUP: u8 = 0xb8;
}

const PREFIX: [u8; 3] = [0, 0, 1];
static PREFIX_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(&PREFIX));
const CODE_LENGTH: usize = 4;

/// What stands between the start codes of a stream that is there as a whole: each part begins with the value of its
/// start code and ends where the next one begins.
pub(crate) fn parts(stream: &[u8]) -> Parts<'_> {
    let mut parts = Parts { rest: stream, started: false };
    parts.started = parts.cut().is_some();
    parts
}

/// See [`parts`].
pub(crate) struct Parts<'a> {
    rest: &'a [u8],
    /// False when the stream has no start code.
    started: bool,
}

impl<'a> Parts<'a> {
    /// Everything before the next start code, which is passed.
    fn cut(&mut self) -> Option<&'a [u8]> {
        // The value 00 of a picture start code and 00 01 after it are not a prefix.
        let from = usize::from(self.started);
        let at = from + PREFIX_FINDER.find(self.rest.get(from..)?)?;
        let before = &self.rest[..at];
        self.rest = &self.rest[at + PREFIX.len()..];
        Some(before)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if !self.started || self.rest.is_empty() {
            return None;
        }
        let part = self.cut();
        Some(part.unwrap_or_else(|| std::mem::take(&mut self.rest)))
    }
}

/// How many bytes after a start code of MPEG video are kept: the longest field that is read from any header ends in
/// the eighth.
pub(crate) const KEPT_OF_HEADERS: usize = 8;

/// A start code, the bytes that follow it up to `KEPT`, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit<const KEPT: usize = KEPT_OF_HEADERS> {
    pub(crate) offset: u64,
    /// A zero byte stands before it, as before the first NAL unit of an access unit (annex B of H.264 and H.265).
    pub(crate) zero_before: bool,
    pub(crate) value: u8,
    kept: [u8; KEPT],
    kept_length: usize,
}

impl<const KEPT: usize> Unit<KEPT> {
    fn new(offset: u64, zero_before: bool, value: u8) -> Self {
        Self { offset, zero_before, value, kept: [0; KEPT], kept_length: 0 }
    }

    /// What followed the start code, cut at the next one.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.kept[..self.kept_length]
    }

    fn payload_offset(&self) -> u64 {
        self.offset + CODE_LENGTH as u64
    }

    /// Keeps what is still missing; `bytes` continue where the kept ones end.
    fn keep(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(KEPT - self.kept_length);
        self.kept[self.kept_length..][..count].copy_from_slice(&bytes[..count]);
        self.kept_length += count;
    }

    fn cut_at(&mut self, next_offset: u64) {
        let length = usize::try_from(next_offset - self.payload_offset()).unwrap_or(usize::MAX);
        self.kept_length = self.kept_length.min(length);
    }
}

/// Cuts a stream that arrives in chunks of any size into [`Unit`]s. A unit is given out when its end is known.
#[derive(Debug)]
pub(crate) struct UnitCutter<const KEPT: usize = KEPT_OF_HEADERS> {
    /// Bytes fed so far.
    length: u64,
    /// The last bytes fed, where a start code may have begun, and the one before.
    tail: [u8; CODE_LENGTH],
    tail_length: usize,
    current: Option<Unit<KEPT>>,
}

impl<const KEPT: usize> UnitCutter<KEPT> {
    pub(crate) fn new() -> Self {
        Self { length: 0, tail: [0; CODE_LENGTH], tail_length: 0, current: None }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(Unit<KEPT>)) {
        if let Some(unit) = &mut self.current {
            unit.keep(chunk);
        }
        let last_before = self.tail[..self.tail_length].last().copied();
        self.find_across_border(chunk, sink);
        for start in PREFIX_FINDER.find_iter(chunk) {
            if let Some(&value) = chunk.get(start + PREFIX.len()) {
                let before = start.checked_sub(1).map(|at| chunk[at]).or(last_before);
                let unit = Unit::new(start as u64 + self.length, before == Some(0), value);
                self.begin(unit, &chunk[start + CODE_LENGTH..], sink);
            }
        }
        self.remember_tail(chunk);
        self.length += chunk.len() as u64;
    }

    /// Gives out the last unit, which ends with the stream.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(Unit<KEPT>)) {
        if let Some(unit) = self.current.take() {
            sink(unit);
        }
    }

    /// Start codes that begin in the tail and end in the chunk.
    fn find_across_border(&mut self, chunk: &[u8], sink: &mut impl FnMut(Unit<KEPT>)) {
        let mut joined = [0; 2 * CODE_LENGTH];
        let tail_length = self.tail_length;
        let from_chunk = chunk.len().min(CODE_LENGTH);
        joined[..tail_length].copy_from_slice(&self.tail[..tail_length]);
        joined[tail_length..][..from_chunk].copy_from_slice(&chunk[..from_chunk]);
        let joined = &joined[..tail_length + from_chunk];
        // One whose value was in the tail was found there.
        for start in tail_length.saturating_sub(PREFIX.len())..tail_length {
            if joined[start..].starts_with(&PREFIX) && start + PREFIX.len() < joined.len() {
                let offset = self.length - (tail_length - start) as u64;
                let zero_before = start.checked_sub(1).is_some_and(|at| joined[at] == 0);
                let payload = &chunk[start + CODE_LENGTH - tail_length..];
                self.begin(Unit::new(offset, zero_before, joined[start + PREFIX.len()]), payload, sink);
            }
        }
    }

    fn begin(&mut self, mut next: Unit<KEPT>, payload: &[u8], sink: &mut impl FnMut(Unit<KEPT>)) {
        if let Some(mut unit) = self.current.take() {
            if next.offset < unit.payload_offset() {
                // The value 00 of a picture start code and 00 01 after it are not a prefix.
                self.current = Some(unit);
                return;
            }
            unit.cut_at(next.offset);
            sink(unit);
        }
        next.keep(payload);
        self.current = Some(next);
    }

    fn remember_tail(&mut self, chunk: &[u8]) {
        let mut joined = [0; 2 * CODE_LENGTH];
        let last = &chunk[chunk.len().saturating_sub(CODE_LENGTH)..];
        joined[..self.tail_length].copy_from_slice(&self.tail[..self.tail_length]);
        joined[self.tail_length..][..last.len()].copy_from_slice(last);
        let end = self.tail_length + last.len();
        let start = end.saturating_sub(CODE_LENGTH);
        self.tail_length = end - start;
        self.tail[..self.tail_length].copy_from_slice(&joined[start..end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units_of(stream: &[u8], chunk: usize) -> Vec<(u64, u8, Vec<u8>)> {
        let mut cutter: UnitCutter = UnitCutter::new();
        let mut units = Vec::new();
        let mut sink = |unit: Unit| units.push((unit.offset, unit.value, unit.payload().to_vec()));
        stream.chunks(chunk).for_each(|chunk| cutter.feed(chunk, &mut sink));
        cutter.finish(&mut sink);
        units
    }

    #[test]
    fn units_are_cut_at_the_next_start_code() {
        let stream = [9, 0, 0, 1, 0xb3, 1, 2, 0, 0, 1, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 1, 0x01];
        let expected = vec![(1, 0xb3, vec![1, 2]), (7, 0xb8, vec![1, 2, 3, 4, 5, 6, 7, 8]), (21, 0x01, vec![])];
        for chunk in 1..=stream.len() {
            assert_eq!(units_of(&stream, chunk), expected, "in chunks of {chunk}");
        }
    }

    #[test]
    fn a_zero_byte_before_a_start_code_is_seen() {
        let stream = [0, 0, 0, 1, 0x67, 5, 0, 0, 1, 0x68, 0, 0, 0, 1, 0x65, 1, 1, 1, 1, 1, 0, 0, 1, 0x41];
        for chunk in 1..=stream.len() {
            let (mut cutter, mut zeros) = (UnitCutter::<8>::new(), Vec::new());
            let mut sink = |unit: Unit| zeros.push((unit.offset, unit.zero_before));
            stream.chunks(chunk).for_each(|chunk| cutter.feed(chunk, &mut sink));
            cutter.finish(&mut sink);
            assert_eq!(zeros, [(1, true), (6, false), (11, true), (20, false)], "in chunks of {chunk}");
        }
    }

    #[test]
    fn parts_are_what_units_are() {
        let cases: [&[u8]; 6] = [
            &[9, 0, 0, 1, 0xb3, 1, 2, 0, 0, 1, 0xb8, 1, 2, 0, 0, 0, 1, 0x01],
            &[0, 0, 1, 0x00, 0, 1, 0xb5, 7],
            &[0, 0, 1],
            &[0, 0, 1, 5],
            &[],
            &[1, 2, 3],
        ];
        for stream in cases {
            let parts: Vec<_> = parts(stream).filter_map(|part| part.split_first()).collect();
            let units = units_of(stream, stream.len().max(1));
            let units: Vec<_> = units.iter().map(|(_, value, payload)| (value, payload.as_slice())).collect();
            assert_eq!(parts, units, "{stream:?}");
        }
    }

    #[test]
    fn the_value_of_a_picture_start_code_is_no_prefix() {
        let stream = [0, 0, 1, 0x00, 0, 1, 0xb5, 7];
        for chunk in 1..=stream.len() {
            assert_eq!(units_of(&stream, chunk), vec![(0, 0x00, vec![0, 1, 0xb5, 7])], "in chunks of {chunk}");
        }
    }
}
