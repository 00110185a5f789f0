//! What the multiplexer says of each access unit beyond the standard, as private data of the adaptation field that it
//! begins with.
//!
//! The continuity counter has four bits: a loss of 16 packets, or of a multiple, leaves no gap in it. A program of 7
//! packets per datagram loses such a number in one of 16 bursts. Where the length of the PES packet is written as well, a
//! frame is nevertheless known not to be whole, unless the rest of another one fits its end; where it is not, as it
//! cannot be of frames beyond 65,535 bytes, nothing shows it. The description does: it has the frame's size and a check.
//! It also has how many bytes were put before the frame, which a reader of it takes off again.
//!
//! Other demultiplexers pass it over: it is private data with the tag 0xDF and a format identifier, as ANSI/SCTE 128-1,
//! section 8.2, has it for private data that users define. The identifier is not registered.

/// Tag of private data with a format identifier.
const TAG: u8 = 0xDF;

/// Format identifier.
const IDENTIFIER: [u8; 4] = *b"FWAU";

/// Bytes of the description with its tag and its length.
pub(super) const LENGTH: usize = 2 + BODY;

/// Identifier, number, bytes put before the frame, size, check.
const BODY: usize = 4 + 4 + 1 + 4 + 4;

/// What is said of an access unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Description {
    /// Counts the units of a track.
    pub number: u32,
    /// Bytes that were put before it.
    pub inserted: u8,
    /// Bytes of it.
    pub size: u32,
    /// CRC-32 of it, as Ethernet and Zip have it.
    pub check: u32,
}

impl Description {
    /// Of this unit.
    pub(super) fn of(number: u32, inserted: u8, unit: &[u8]) -> Self {
        Self { number, inserted, size: unit.len() as u32, check: crc32fast::hash(unit) }
    }

    /// As private data.
    pub(super) fn emit(&self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        out[..2].copy_from_slice(&[TAG, BODY as u8]);
        out[2..6].copy_from_slice(&IDENTIFIER);
        out[6..10].copy_from_slice(&self.number.to_be_bytes());
        out[10] = self.inserted;
        out[11..15].copy_from_slice(&self.size.to_be_bytes());
        out[15..].copy_from_slice(&self.check.to_be_bytes());
        out
    }

    /// The one in private data, which may hold other fields of tags and lengths as well.
    pub(super) fn parse(mut private: &[u8]) -> Option<Self> {
        while let [tag, length, rest @ ..] = private {
            let (field, behind) = rest.split_at_checked(usize::from(*length))?;
            private = behind;
            let Some(body) = field.first_chunk::<BODY>().filter(|body| *tag == TAG && body[..4] == IDENTIFIER) else {
                continue;
            };
            let word = |from: usize| u32::from_be_bytes([body[from], body[from + 1], body[from + 2], body[from + 3]]);
            return Some(Self { number: word(4), inserted: body[8], size: word(9), check: word(13) });
        }
        None
    }

    /// Bytes of the unit with what was put before it.
    pub(super) fn length(&self) -> usize {
        usize::from(self.inserted).saturating_add(self.size as usize)
    }

    /// Whether this, with what was put before it, is the unit.
    pub(super) fn is_of(&self, bytes: &[u8]) -> bool {
        let unit = bytes.get(usize::from(self.inserted)..);
        unit.is_some_and(|unit| unit.len() == self.size as usize && crc32fast::hash(unit) == self.check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_also_behind_other_fields() {
        let description = Description::of(0x0102_0304, 6, b"123456789");
        // The check value of CRC-32 for these digits.
        assert_eq!((description.check, description.size), (0xCBF4_3926, 9));
        let bytes = description.emit();
        assert_eq!(Description::parse(&bytes), Some(description));
        assert_eq!(Description::parse(&[&[2, 1, 0xDF][..], &bytes].concat()), Some(description));
        assert_eq!(Description::parse(&bytes[..LENGTH - 1]), None);
        assert_eq!(Description::parse(&[0xDF, 4, b'E', b'B', b'P', b'0']), None, "another identifier");
        assert!(description.is_of(b"......123456789") && !description.is_of(b"......123456788"));
        assert!(!description.is_of(b"12345") && !description.is_of(b""));
    }
}
