//! Pages of Ogg (RFC 3533, section 6), of one stream.

use bytes::Bytes;

use super::AudioError;

/// What every page begins with.
pub(super) const CAPTURE: &[u8] = b"OggS";

/// Bytes before the lacing values.
const HEADER: usize = 27;

/// Where the check stands in it.
const CHECK: std::ops::Range<usize> = 22..26;

/// A lacing value of a packet that goes on in the next segment.
const GOES_ON: u8 = 255;

/// Flags of a page: its first packet goes on from the page before; first and last page of the stream.
const CONTINUED: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

/// The polynomial of the check, whose highest bit comes first and which begins with 0.
const POLYNOMIAL: u32 = 0x04C1_1DB7;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = ((byte as u32) << 24, 0);
        while bit < 8 {
            value = value << 1 ^ if value & 0x8000_0000 == 0 { 0 } else { POLYNOMIAL };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

fn check(page: impl Iterator<Item = u8>) -> u32 {
    page.fold(0, |value, byte| value << 8 ^ TABLE[usize::from((value >> 24) as u8 ^ byte)])
}

/// Packets of a stream, in order.
pub(super) struct Packets<'a> {
    stream: &'a Bytes,
    at: usize,
    serial: Option<u32>,
    sequence: u32,
    /// Segments of the page that is read: where each begins, its length, and whether it ends a packet.
    segments: std::vec::IntoIter<Segment>,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: usize,
    length: usize,
    ends: bool,
}

impl<'a> Packets<'a> {
    pub(super) fn new(stream: &'a Bytes) -> Self {
        Self { stream, at: 0, serial: None, sequence: 0, segments: Vec::new().into_iter(), ended: false }
    }

    /// The next packet, with the place of its page; `None` behind the last one.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Bytes)>, AudioError> {
        let (mut joined, mut range): (Vec<u8>, Option<std::ops::Range<usize>>) = (Vec::new(), None);
        loop {
            let Some(segment) = self.segments.next() else {
                // What stands in the page so far is kept, as the next part does not stand behind it.
                if let Some(range) = range.take() {
                    joined.extend_from_slice(&self.stream[range]);
                }
                let refused = |reason| Err(AudioError::Ogg { offset: self.at as u64, reason });
                match (self.at == self.stream.len(), joined.is_empty()) {
                    (true, true) => return Ok(None),
                    (true, false) => return refused("its last packet is cut off"),
                    (false, _) if self.ended => return refused("something stands behind its last page"),
                    (false, _) => {}
                }
                self.read_page(!joined.is_empty())?;
                continue;
            };
            let start = range.map_or(segment.start, |range| range.start);
            range = Some(start..segment.start + segment.length);
            if segment.ends {
                let range = start..segment.start + segment.length;
                let packet = match joined.is_empty() {
                    true => self.stream.slice(range),
                    false => [&joined[..], &self.stream[range]].concat().into(),
                };
                return Ok(Some((start as u64, packet)));
            }
        }
    }

    fn read_page(&mut self, goes_on: bool) -> Result<(), AudioError> {
        let refused = |reason| Err(AudioError::Ogg { offset: self.at as u64, reason });
        let page = &self.stream[self.at..];
        let Some((header, behind)) = page.split_at_checked(HEADER) else {
            return refused("a page is cut off");
        };
        if !header.starts_with(CAPTURE) || header[4] != 0 {
            return refused("no page of version 0 begins here");
        }
        let count = usize::from(header[26]);
        let Some(lacing) = behind.get(..count) else { return refused("a page is cut off") };
        let length = HEADER + count + lacing.iter().map(|&value| usize::from(value)).sum::<usize>();
        let Some(page) = page.get(..length) else { return refused("a page is cut off") };
        let number = |at: usize| u32::from_le_bytes(*page[at..].first_chunk().expect("invariant: the header is there"));
        let bytes = page.iter().enumerate().map(|(at, &byte)| if CHECK.contains(&at) { 0 } else { byte });
        if check(bytes) != number(CHECK.start) {
            return refused("the check of a page is wrong");
        }
        let (serial, sequence) = (number(14), number(18));
        match self.serial {
            None if header[5] & FIRST == 0 => return refused("the stream does not begin with its first page"),
            None => {}
            Some(own) if own != serial => return refused("a page of another stream: one stream is read"),
            Some(_) if sequence != self.sequence.wrapping_add(1) => {
                return refused("pages before this one are missing");
            }
            Some(_) => {}
        }
        if (header[5] & CONTINUED != 0) != goes_on {
            return refused("a packet does not go on as its page says");
        }
        let mut start = self.at + HEADER + count;
        let segments = lacing.iter().map(|&value| {
            let segment = Segment { start, length: value.into(), ends: value < GOES_ON };
            start += segment.length;
            segment
        });
        self.segments = segments.collect::<Vec<_>>().into_iter();
        self.ended = header[5] & LAST != 0;
        (self.serial, self.sequence, self.at) = (Some(serial), sequence, self.at + length);
        Ok(())
    }
}

/// Writes pages of one packet each.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    sequence: u32,
}

impl Pages {
    /// The only stream of a file has this number.
    const SERIAL: u32 = 1;

    /// A packet in as many pages as it needs; `granule` is the time at its end.
    pub(super) fn packet(&mut self, packet: &[u8], granule: u64) -> Vec<u8> {
        const MOST: usize = 255 * 255;
        let mut out = Vec::with_capacity(packet.len() + HEADER + packet.len() / 255 + 1);
        let (mut rest, mut flags) = (packet, if self.sequence == 0 { FIRST } else { 0 });
        loop {
            let (here, behind) = rest.split_at(rest.len().min(MOST));
            // A packet ends with a segment that is not full, if it is an empty one (section 5).
            let ends = here.len() < MOST;
            let mut lacing = vec![GOES_ON; here.len() / 255];
            if ends {
                lacing.push((here.len() % 255) as u8);
            }
            // No packet ends in a page without a time (section 6).
            self.put(&mut out, flags, if ends { granule } else { u64::MAX }, &lacing, here);
            if ends {
                return out;
            }
            (rest, flags) = (behind, CONTINUED);
        }
    }

    /// The last page, in which nothing is.
    pub(super) fn end(&mut self, granule: u64) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out, LAST, granule, &[], &[]);
        out
    }

    fn put(&mut self, out: &mut Vec<u8>, flags: u8, granule: u64, lacing: &[u8], content: &[u8]) {
        let at = out.len();
        out.extend(CAPTURE);
        out.extend([0, flags]);
        out.extend(granule.to_le_bytes());
        out.extend(Self::SERIAL.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.extend([0; 4]);
        out.push(lacing.len() as u8);
        out.extend(lacing);
        out.extend(content);
        let value = check(out[at..].iter().copied());
        out[at + CHECK.start..at + CHECK.end].copy_from_slice(&value.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
    }
}
