//! The bytes of a movie: in memory, or where they are read when they are asked for.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::streaming_file::{ReadAt, Version};

/// Copies share the bytes, or what they are read from.
#[derive(Clone)]
pub(crate) enum Source {
    Memory(Bytes),
    Read(Arc<dyn ReadAt>),
}

impl Source {
    /// What is in memory is not copied.
    pub(crate) fn range(&self, start: u64, size: u64) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.slice(start as usize..(start + size) as usize)),
            Self::Read(source) => {
                let mut bytes = BytesMut::zeroed(size as usize);
                source.read_exact_at(&mut bytes, start)?;
                Ok(bytes.freeze())
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory(_) => "Memory",
            Self::Read(_) => "Read",
        })
    }
}

impl ReadAt for Source {
    fn length(&self) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => bytes.length(),
            Self::Read(source) => source.length(),
        }
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.read_exact_at(buffer, offset),
            Self::Read(source) => source.read_exact_at(buffer, offset),
        }
    }

    fn bytes_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => bytes.bytes_at(offset, length),
            Self::Read(source) => source.bytes_at(offset, length),
        }
    }

    fn version(&self) -> io::Result<Option<Version>> {
        match self {
            Self::Memory(_) => Ok(None),
            Self::Read(source) => source.version(),
        }
    }
}

/// Ranges of a source, read as if one stood behind the other.
pub(crate) struct Joined {
    source: Source,
    ranges: Vec<Range<u64>>,
    /// Where each begins when they are joined, and where the last one ends.
    starts: Vec<u64>,
}

impl Joined {
    pub(crate) fn new(source: Source, ranges: Vec<Range<u64>>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(ranges.iter().map(|range| {
            end += range.end - range.start;
            end
        }));
        Self { source, ranges, starts }
    }
}

impl ReadAt for Joined {
    fn length(&self) -> io::Result<u64> {
        Ok(*self.starts.last().expect("invariant: the end stands there at least"))
    }

    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        let mut number = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        while !buffer.is_empty() {
            let Some(range) = self.ranges.get(number) else { return Err(io::ErrorKind::UnexpectedEof.into()) };
            let start = range.start + (offset - self.starts[number]);
            let here = (range.end - start).min(buffer.len() as u64) as usize;
            let (piece, rest) = buffer.split_at_mut(here);
            self.source.read_exact_at(piece, start)?;
            (buffer, offset, number) = (rest, offset + here as u64, number + 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_one_stream() {
        let source = Source::Memory(Bytes::from_static(b"0123456789"));
        let joined = Joined::new(source, vec![1..3, 5..5, 7..10, 0..1]);
        let whole = b"127890";
        assert_eq!(joined.length().unwrap(), 6);
        for start in 0..=6 {
            for end in start..=6 {
                let mut read = vec![0; end - start];
                joined.read_exact_at(&mut read, start as u64).unwrap();
                assert_eq!(read, whole[start..end], "{start}..{end}");
            }
        }
        for (length, offset) in [(1, 6), (7, 0), (1, 100)] {
            assert!(joined.read_exact_at(&mut vec![0; length], offset).is_err(), "{length} bytes at {offset}");
        }
    }
}
