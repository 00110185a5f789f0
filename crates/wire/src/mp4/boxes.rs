//! Boxes: a length, a type of four letters, and what is in them (ISO/IEC 14496-12, 4.2).

use super::index::IndexError;

/// The type of a box.
pub(super) type Kind = [u8; 4];

/// Length and type.
pub(super) const HEADER: usize = 8;

/// A type as text, for messages.
pub(super) fn name(kind: Kind) -> String {
    String::from_utf8_lossy(&kind).into_owned()
}

/// Appends a box.
pub(super) fn put(out: &mut Vec<u8>, kind: &Kind, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    out.extend(kind);
    fill(out);
    let length = u32::try_from(out.len() - at).expect("invariant: what is in the index has less than 4 GiB");
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// The same with version and flags.
pub(super) fn put_full(out: &mut Vec<u8>, kind: &Kind, version: u8, flags: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    put(out, kind, |out| {
        put_u32(out, u32::from(version) << 24 | flags);
        fill(out);
    });
}

pub(super) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

pub(super) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_be_bytes());
}

/// What is in a box and was not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents<'a> {
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Contents<'a> {
    pub(super) fn new(kind: Kind, rest: &'a [u8]) -> Self {
        Self { kind, rest }
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], IndexError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or_else(|| IndexError::Short(name(self.kind)))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], IndexError> {
        Ok(*self.bytes(N)?.first_chunk().expect("invariant: there are so many"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, IndexError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, IndexError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, IndexError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, IndexError> {
        self.array().map(u64::from_be_bytes)
    }

    /// Version, with the flags passed over.
    pub(super) fn version(&mut self) -> Result<u8, IndexError> {
        self.u32().map(|word| (word >> 24) as u8)
    }

    /// A count, and so many entries of `size` bytes, all of which are there.
    pub(super) fn entries(&mut self, size: usize) -> Result<std::slice::ChunksExact<'a, u8>, IndexError> {
        let count = self.u32()? as usize;
        let length = count.checked_mul(size).ok_or_else(|| IndexError::Short(name(self.kind)))?;
        Ok(self.bytes(length)?.chunks_exact(size))
    }

    /// The next box in it; `None` at its end.
    pub(super) fn next(&mut self) -> Result<Option<Self>, IndexError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut header = *self;
        let (length, kind) = (u64::from(header.u32()?), header.array::<4>()?);
        let length = match length {
            0 => self.rest.len() as u64,
            1 => header.u64()?,
            length => length,
        };
        let header = self.rest.len() - header.rest.len();
        let length = usize::try_from(length).ok().filter(|&length| length >= header && length <= self.rest.len());
        let length = length.ok_or_else(|| IndexError::Short(name(self.kind)))?;
        let (inner, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Some(Self { kind, rest: &inner[header..] }))
    }

    /// The first box of a type in it; others are passed over.
    pub(super) fn find(mut self, kind: &Kind) -> Result<Option<Self>, IndexError> {
        while let Some(found) = self.next()? {
            if found.kind == *kind {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The same of one that has to be there.
    pub(super) fn get(self, kind: &Kind) -> Result<Self, IndexError> {
        self.find(kind)?.ok_or_else(|| IndexError::Missing(name(*kind), name(self.kind)))
    }

    /// Its type.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
}
