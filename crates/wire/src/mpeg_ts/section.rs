//! Sections: what tables are sent in (2.4.4). They begin anywhere in a payload, and go on in the next packets.

use super::crc::crc32;

/// Bytes of the fields up to the length.
const LENGTH_END: usize = 3;

/// section_length of tables of programs at most (2.4.4.4, 2.4.4.9).
const LARGEST_LENGTH: usize = 1_021;

/// Bytes of the check at the end.
const CHECK: usize = 4;

/// Bytes from the table's identifier to the last section's number (2.4.4.3).
pub(super) const HEADER: usize = 8;

/// Bytes of a section without a body.
const SMALLEST: usize = HEADER + CHECK;

/// What stands behind the last section of a packet (2.4.4).
const STUFFING: u8 = 0xFF;

/// A section, whole, whose check is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub table_id: u8,
    /// transport_stream_id or program_number.
    pub extension: u16,
    /// current_next_indicator: it is in force.
    pub current: bool,
    pub version: u8,
    /// What stands behind the header and before the check.
    pub body: &'a [u8],
}

/// A section that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// The pointer field goes beyond the packet.
    #[error("pointer_field {pointer} goes beyond a payload of {length} bytes")]
    Pointer {
        /// What it says.
        pointer: u8,
        /// Bytes of the payload.
        length: usize,
    },
    /// A length that tables of programs do not have.
    #[error("section_length {0}: tables of programs have 9 to {LARGEST_LENGTH}")]
    Length(usize),
    /// It is cut off by another one.
    #[error("a section ends after {present} of {wanted} bytes")]
    Cut {
        /// Bytes that are there.
        present: usize,
        /// Bytes that it has.
        wanted: usize,
    },
    /// A bit of it is wrong.
    #[error("the check of a section is wrong")]
    Check,
    /// A table that contradicts itself.
    #[error("{0}")]
    Table(&'static str),
}

impl<'a> Section<'a> {
    /// Reads a section with its check.
    fn parse(bytes: &'a [u8]) -> Result<Self, SectionError> {
        let header = bytes.first_chunk::<HEADER>().filter(|_| bytes.len() >= SMALLEST);
        let header = header.ok_or(SectionError::Length(bytes.len().saturating_sub(LENGTH_END)))?;
        if crc32(bytes) != 0 {
            return Err(SectionError::Check);
        }
        Ok(Self {
            table_id: header[0],
            extension: u16::from_be_bytes([header[3], header[4]]),
            current: header[5] & 1 == 1,
            version: header[5] >> 1 & 0x1F,
            body: &bytes[HEADER..bytes.len() - CHECK],
        })
    }

    /// The section, the only one of its table, as bytes.
    pub(super) fn emit(&self) -> Vec<u8> {
        let length = (HEADER - LENGTH_END + self.body.len() + CHECK) as u16;
        // section_syntax_indicator, a zero, two reserved bits.
        let [high, low] = (0xB000 | length).to_be_bytes();
        let [extension_high, extension_low] = self.extension.to_be_bytes();
        let version = 0xC0 | self.version << 1 | u8::from(self.current);
        let mut bytes = vec![self.table_id, high, low, extension_high, extension_low, version, 0, 0];
        bytes.extend_from_slice(self.body);
        let check = crc32(&bytes);
        bytes.extend_from_slice(&check.to_be_bytes());
        bytes
    }
}

/// Puts sections together from the payloads of one packet identifier. It holds less than one section and one packet.
#[derive(Debug, Default)]
pub(super) struct SectionAssembler {
    buffer: Vec<u8>,
    /// The beginning of what is in the buffer was seen.
    begun: bool,
}

impl SectionAssembler {
    /// Something is missing before the next payload.
    pub(super) fn lose(&mut self) {
        self.buffer.clear();
        self.begun = false;
    }

    /// Takes the next payload, and gives every section that is whole by it, or what is wrong.
    pub(super) fn take(
        &mut self,
        unit_start: bool,
        payload: &[u8],
        mut found: impl FnMut(Result<Section<'_>, SectionError>),
    ) {
        let mut rest = payload;
        if unit_start {
            let Some((&pointer, behind)) = payload.split_first() else { return };
            let Some((before, after)) = behind.split_at_checked(pointer.into()) else {
                self.lose();
                return found(Err(SectionError::Pointer { pointer, length: payload.len() }));
            };
            if self.begun {
                self.buffer.extend_from_slice(before);
                self.give_whole(&mut found);
                if let (true, Ok(wanted)) = (self.begun, self.wanted()) {
                    found(Err(SectionError::Cut { present: self.buffer.len(), wanted }));
                }
            }
            self.buffer.clear();
            self.begun = true;
            rest = after;
        }
        if self.begun {
            self.buffer.extend_from_slice(rest);
            self.give_whole(&mut found);
        }
    }

    /// Bytes of the section that the buffer begins with; the least that any has where that is not there yet.
    fn wanted(&self) -> Result<usize, SectionError> {
        let Some(&[_, high, low]) = self.buffer.first_chunk::<LENGTH_END>() else { return Ok(SMALLEST) };
        let length = usize::from(u16::from_be_bytes([high & 0x0F, low]));
        let is_allowed = (SMALLEST - LENGTH_END..=LARGEST_LENGTH).contains(&length);
        if is_allowed { Ok(LENGTH_END + length) } else { Err(SectionError::Length(length)) }
    }

    /// Gives the sections at the beginning of the buffer that are whole.
    fn give_whole(&mut self, found: &mut impl FnMut(Result<Section<'_>, SectionError>)) {
        loop {
            if self.buffer.first().is_none_or(|&first| first == STUFFING) {
                return self.lose();
            }
            match self.wanted() {
                Err(error) => {
                    self.lose();
                    return found(Err(error));
                }
                Ok(wanted) if wanted > self.buffer.len() => return,
                Ok(wanted) => {
                    found(Section::parse(&self.buffer[..wanted]));
                    self.buffer.drain(..wanted);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn section(body: &[u8]) -> Vec<u8> {
        Section { table_id: 2, extension: 7, current: true, version: 3, body }.emit()
    }

    /// What comes of these payloads: bodies, or what is wrong.
    fn taken(payloads: &[(bool, &[u8])]) -> Vec<Result<Vec<u8>, SectionError>> {
        let (mut assembler, mut found) = (SectionAssembler::default(), Vec::new());
        for &(start, payload) in payloads {
            assembler.take(start, payload, |section| found.push(section.map(|section| section.body.to_vec())));
            assert!(assembler.buffer.len() <= LENGTH_END + LARGEST_LENGTH);
        }
        found
    }

    #[test]
    fn a_section_has_the_fields_of_the_standard() {
        let bytes = section(&[9]);
        assert_eq!(bytes[..9], [2, 0xB0, 10, 0, 7, 0xC7, 0, 0, 9]);
        assert_eq!(Section::parse(&bytes).unwrap().version, 3);
    }

    #[test]
    fn sections_go_on_over_packets_and_follow_each_other() {
        let (one, two) = (section(&[1; 100]), section(&[2; 30]));
        let both = [&[0][..], &one, &two, &[0xFF; 20]].concat();
        assert_eq!(taken(&[(true, &both)]), [Ok(vec![1; 100]), Ok(vec![2; 30])]);
        // The second packet has the rest of one, and by its pointer where the other begins.
        let rest = &one[50..];
        let second = [&[rest.len() as u8][..], rest, &two].concat();
        assert_eq!(taken(&[(true, &both[..51]), (true, &second)]), [Ok(vec![1; 100]), Ok(vec![2; 30])]);
        // Without the beginning nothing comes of the rest.
        assert_eq!(taken(&[(false, rest), (true, &second)]), [Ok(vec![2; 30])]);
    }

    #[test]
    fn what_is_no_section_is_refused_in_words() {
        assert_eq!(taken(&[(true, &[5, 1, 2])]), [Err(SectionError::Pointer { pointer: 5, length: 3 })]);
        assert_eq!(taken(&[(true, &[0, 2, 0xBF, 0xFF, 0])]), [Err(SectionError::Length(4_095))]);
        assert_eq!(taken(&[(true, &[0, 2, 0xB0, 1, 0])]), [Err(SectionError::Length(1))]);
        let mut broken = [&[0][..], &section(&[1; 20])].concat();
        broken[12] ^= 1;
        assert_eq!(taken(&[(true, &broken)]), [Err(SectionError::Check)]);
        let cut = [&[0][..], &section(&[1; 20])[..10]].concat();
        let whole = [&[0][..], &section(&[2; 20])].concat();
        let expected = [Err(SectionError::Cut { present: 10, wanted: 32 }), Ok(vec![2; 20])];
        assert_eq!(taken(&[(true, &cut), (true, &whole)]), expected);
    }

    proptest! {
        #[test]
        fn any_payloads_are_taken_without_harm(
            payloads in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..184)), 0..30)
        ) {
            let payloads: Vec<_> = payloads.iter().map(|(start, payload)| (*start, &payload[..])).collect();
            taken(&payloads);
        }
    }
}
