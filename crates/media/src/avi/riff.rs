//! Chunks of RIFF files: a name, a length in little endian, content, and a byte of padding after odd lengths.

use std::ops::Range;

use crate::avi::{AviError, FourCc};

const HEADER: usize = 8;
const LIST_TYPE: usize = 4;

/// A chunk that lies within what is around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) name: FourCc,
    start: usize,
    end: usize,
}

impl Chunk {
    /// Where its content stands.
    pub(super) fn content(self) -> Range<usize> {
        self.start..self.end
    }

    /// Where the chunks in it stand, when it is a list.
    pub(super) fn list_content(self) -> Range<usize> {
        (self.start + LIST_TYPE).min(self.end)..self.end
    }

    /// The type of a list.
    pub(super) fn list_type(self, bytes: &[u8]) -> Option<&[u8; 4]> {
        if self.name.0 != *b"LIST" {
            return None;
        }
        bytes[self.content()].first_chunk()
    }
}

/// Four bytes at a place in a range.
pub(super) fn four(bytes: &[u8], range: &Range<usize>, at: usize) -> Option<[u8; 4]> {
    bytes[range.clone()].get(at..)?.first_chunk().copied()
}

/// The chunks in a range, until one is not whole.
pub(super) fn chunks(bytes: &[u8], range: Range<usize>) -> impl Iterator<Item = Result<Chunk, AviError>> {
    let Range { start: mut at, end } = range;
    std::iter::from_fn(move || {
        // What is too short for a header is padding.
        if end.saturating_sub(at) < HEADER {
            return None;
        }
        let header = &bytes[at..at + HEADER];
        let name = FourCc([header[0], header[1], header[2], header[3]]);
        let size = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let (offset, left) = (at, end - at - HEADER);
        if u64::from(size) > left as u64 {
            at = end;
            return Some(Err(AviError::CutOff { chunk: name, offset, size: size.into(), left }));
        }
        let start = offset + HEADER;
        let chunk_end = start + size as usize;
        at = (chunk_end + (size as usize & 1)).min(end);
        Some(Ok(Chunk { name, start, end: chunk_end }))
    })
}
