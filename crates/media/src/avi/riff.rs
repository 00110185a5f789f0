//! Chunks of RIFF files: a name, a length in little endian, content, and a byte of padding after odd lengths.

use std::ops::Range;

use crate::avi::{AviError, FourCc};
use crate::streaming_file::ReadAt;

const HEADER: u64 = 8;
const LIST_TYPE: u64 = 4;

/// A chunk that lies within what is around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) name: FourCc,
    start: u64,
    end: u64,
}

impl Chunk {
    /// Where its content stands.
    pub(super) fn content(self) -> Range<u64> {
        self.start..self.end
    }

    /// Where the chunks in it stand, when it is a list.
    pub(super) fn list_content(self) -> Range<u64> {
        (self.start + LIST_TYPE).min(self.end)..self.end
    }

    /// The type of a list.
    pub(super) fn list_type(self, source: &impl ReadAt) -> Result<Option<[u8; 4]>, AviError> {
        if self.name.0 != *b"LIST" {
            return Ok(None);
        }
        four(source, &self.content(), 0)
    }
}

/// Four bytes at a place in a range, where there are so many.
pub(super) fn four(source: &impl ReadAt, range: &Range<u64>, at: u64) -> Result<Option<[u8; 4]>, AviError> {
    let mut bytes = [0; 4];
    if range.end - range.start < at + bytes.len() as u64 {
        return Ok(None);
    }
    source.read_exact_at(&mut bytes, range.start + at)?;
    Ok(Some(bytes))
}

/// The chunks in a range, until one is not whole.
pub(super) fn chunks(source: &impl ReadAt, range: Range<u64>) -> impl Iterator<Item = Result<Chunk, AviError>> {
    let Range { start: mut at, end } = range;
    std::iter::from_fn(move || {
        // What is too short for a header is padding.
        if end.saturating_sub(at) < HEADER {
            return None;
        }
        let mut header = [0; HEADER as usize];
        if let Err(error) = source.read_exact_at(&mut header, at) {
            at = end;
            return Some(Err(error.into()));
        }
        let name = FourCc([header[0], header[1], header[2], header[3]]);
        let size = u64::from(u32::from_le_bytes([header[4], header[5], header[6], header[7]]));
        let (offset, left) = (at, end - at - HEADER);
        if size > left {
            at = end;
            return Some(Err(AviError::CutOff { chunk: name, offset, size, left }));
        }
        let start = offset + HEADER;
        let chunk_end = start + size;
        at = (chunk_end + (size & 1)).min(end);
        Some(Ok(Chunk { name, start, end: chunk_end }))
    })
}
