//! Adaptation fields (2.4.3.4, 2.4.3.5).

use super::clock::{self, REFERENCE_LENGTH};
use super::packet::{BODY_LENGTH, PacketError};

const DISCONTINUITY: u8 = 0x80;
const RANDOM_ACCESS: u8 = 0x40;
const REFERENCE: u8 = 0x10;
const ORIGINAL_REFERENCE: u8 = 0x08;
const SPLICING_POINT: u8 = 0x04;
const PRIVATE_DATA: u8 = 0x02;

/// What stuffs (2.4.3.5).
const STUFFING: u8 = 0xFF;

/// What an adaptation field says that is of use here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adaptation<'a> {
    /// The continuity counter, or the clock, does not go on from what was before.
    pub discontinuity: bool,
    /// Decoding can begin with the PES packet that begins here or next.
    pub random_access: bool,
    /// Program clock reference in ticks of 27 MHz, wrapped.
    pub reference: Option<u64>,
    /// transport_private_data.
    pub private: Option<&'a [u8]>,
}

impl<'a> Adaptation<'a> {
    /// Reads the adaptation field that a packet's body begins with; and what is behind it.
    pub(super) fn parse(body: &'a [u8], has_payload: bool) -> Result<(Self, &'a [u8]), PacketError> {
        let most = (BODY_LENGTH - 1 - usize::from(has_payload)) as u8;
        let length = body[0];
        if length > most {
            return Err(PacketError::AdaptationLength { length, most });
        }
        let (field, rest) = body[1..].split_at(usize::from(length));
        // A field of no bytes stuffs by its length alone.
        let Some((&flags, optional)) = field.split_first() else { return Ok((Self::default(), rest)) };
        let mut fields = Fields { length, rest: optional };
        let reference = match flags & REFERENCE != 0 {
            true => clock::reference(fields.chunk("program clock reference")?),
            false => None,
        };
        if flags & ORIGINAL_REFERENCE != 0 {
            fields.chunk::<REFERENCE_LENGTH>("original program clock reference")?;
        }
        if flags & SPLICING_POINT != 0 {
            fields.chunk::<1>("splice countdown")?;
        }
        let private = match flags & PRIVATE_DATA != 0 {
            true => {
                let [count] = fields.chunk("length of the private data")?;
                Some(fields.take("private data", count.into())?)
            }
            false => None,
        };
        let (discontinuity, random_access) = (flags & DISCONTINUITY != 0, flags & RANDOM_ACCESS != 0);
        Ok((Self { discontinuity, random_access, reference, private }, rest))
    }
}

/// Takes optional fields one after the other.
struct Fields<'a> {
    length: u8,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], PacketError> {
        let beyond = PacketError::AdaptationField { field, length: self.length };
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(beyond)?;
        self.rest = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], PacketError> {
        let taken = self.take(field, N)?;
        Ok(taken.try_into().expect("invariant: so many bytes were taken"))
    }
}

/// An adaptation field that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AdaptationRepr<'a> {
    pub discontinuity: bool,
    pub random_access: bool,
    /// Ticks of 27 MHz; they are wrapped.
    pub reference: Option<u64>,
    /// Private data; none where there are no bytes.
    pub private: &'a [u8],
}

impl AdaptationRepr<'_> {
    /// Bytes of it with its length and without stuffing; 0 where it says nothing.
    pub(super) fn length(&self) -> usize {
        let reference = if self.reference.is_some() { REFERENCE_LENGTH } else { 0 };
        let private = if self.private.is_empty() { 0 } else { 1 + self.private.len() };
        match (self.flags(), reference + private) {
            (0, _) => 0,
            (_, optional) => 2 + optional,
        }
    }

    fn flags(&self) -> u8 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(self.discontinuity, DISCONTINUITY)
            | flag(self.random_access, RANDOM_ACCESS)
            | flag(self.reference.is_some(), REFERENCE)
            | flag(!self.private.is_empty(), PRIVATE_DATA)
    }

    /// Appends it with stuffing, `length` bytes in all, which must be at least its own.
    pub(super) fn emit(&self, length: usize, out: &mut Vec<u8>) {
        let end = out.len() + length;
        out.push((length - 1) as u8);
        if length > 1 {
            out.push(self.flags());
            out.extend(self.reference.into_iter().flat_map(clock::put_reference));
            if !self.private.is_empty() {
                out.push(self.private.len() as u8);
                out.extend_from_slice(self.private);
            }
        }
        out.resize(end, STUFFING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_beyond_the_end_are_refused_by_name() {
        let mut body = [0; BODY_LENGTH];
        fn field(body: &[u8]) -> Result<Adaptation<'_>, String> {
            Adaptation::parse(body, true).map(|(field, _)| field).map_err(|error| error.to_string())
        }
        body[..2].copy_from_slice(&[6, REFERENCE]);
        assert_eq!(
            field(&body).unwrap_err(),
            "the program clock reference goes beyond the end of an adaptation field of 6 bytes"
        );
        body[..3].copy_from_slice(&[3, PRIVATE_DATA, 2]);
        assert_eq!(field(&body).unwrap_err(), "the private data goes beyond the end of an adaptation field of 3 bytes");
        body[0] = 4;
        assert_eq!(field(&body).unwrap().private, Some(&[0, 0][..]));
        body[..2].copy_from_slice(&[1, DISCONTINUITY | RANDOM_ACCESS]);
        let expected = Adaptation { discontinuity: true, random_access: true, ..Adaptation::default() };
        assert_eq!(field(&body).unwrap(), expected);
        // What is not of use is passed over: the original reference and the splice countdown.
        body[..2].copy_from_slice(&[10, ORIGINAL_REFERENCE | SPLICING_POINT | PRIVATE_DATA]);
        body[9] = 1;
        assert_eq!(field(&body).unwrap().private, Some(&[0][..]));
    }
}
