//! Headers of PES packets, each of which carries one access unit here (2.4.3.6, 2.4.3.7).

use super::clock;

/// Bytes of a header up to PES_header_data_length.
const FIXED_LENGTH: usize = 9;

/// The same with a presentation and a decoding time.
pub(super) const LONGEST_HEADER: usize = FIXED_LENGTH + 2 * clock::TIMESTAMP_LENGTH;

/// Bytes before what PES_packet_length counts.
const LENGTH_END: usize = 6;

/// data_alignment_indicator: an access unit begins behind the header.
const ALIGNED: u8 = 0x04;

/// The header of a PES packet that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PesRepr {
    pub stream_id: u8,
    /// In ticks of 90 kHz; they are wrapped.
    pub presentation: u64,
    pub decode: u64,
    /// Bytes behind the header.
    pub payload: usize,
}

impl PesRepr {
    /// Appends the header. A decoding time is there where it differs; a length is where it fits, and 0 otherwise, which
    /// only video may have.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let has_decode = self.decode != self.presentation;
        let (flags, fields) = if has_decode { (0xC0, 10u8) } else { (0x80, 5) };
        let length = FIXED_LENGTH - LENGTH_END + usize::from(fields) + self.payload;
        let length = u16::try_from(length).unwrap_or(0).to_be_bytes();
        out.extend([0, 0, 1, self.stream_id, length[0], length[1], 0x80 | ALIGNED, flags, fields]);
        out.extend(clock::put_timestamp(if has_decode { 3 } else { 2 }, self.presentation));
        if has_decode {
            out.extend(clock::put_timestamp(1, self.decode));
        }
    }
}

/// The header of a PES packet that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PesHeader {
    /// Bytes of the header.
    pub length: usize,
    /// Bytes behind it; `None` where the packet ends with the next one's beginning.
    pub payload: Option<usize>,
    /// In ticks of 90 kHz, wrapped.
    pub presentation: Option<u64>,
    /// As the presentation time where it is not written.
    pub decode: Option<u64>,
}

/// What is no PES packet of an access unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PesError {
    /// It does not begin with a start code.
    #[error("a PES packet begins with 00 00 01, not with {0:02x?}")]
    StartCode([u8; 3]),
    /// It is of a stream that has no header of access units.
    #[error("stream_id {0:#04x} is not one of video, audio or private stream 1")]
    StreamId(u8),
    /// Bits that a header always has are not there.
    #[error("the bits 10 that follow the length of a PES packet are not there")]
    Marker,
    /// It is scrambled.
    #[error("the PES packet is scrambled, and there is no key here")]
    Scrambled,
    /// The header does not hold what it says, or goes beyond its packet.
    #[error("the {0} of a PES packet goes beyond it")]
    Cut(&'static str),
    /// A time stamp without its marker bits, or a combination that is forbidden.
    #[error("the time stamps of a PES packet are malformed")]
    Timestamp,
}

impl PesHeader {
    /// Reads a header from the beginning of a PES packet; `None` where more bytes are needed.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, PesError> {
        let Some(&[a, b, c, stream_id, length_high, length_low, flags, fields, count]) = bytes.first_chunk() else {
            return Ok(None);
        };
        if [a, b, c] != [0, 0, 1] {
            return Err(PesError::StartCode([a, b, c]));
        }
        // Video, audio, private stream 1 and extended stream identifiers (table 2-22).
        if !matches!(stream_id, 0xC0..=0xEF | 0xBD | 0xFD) {
            return Err(PesError::StreamId(stream_id));
        }
        match (flags >> 6, flags >> 4 & 3) {
            (2, 0) => {}
            (2, _) => return Err(PesError::Scrambled),
            _ => return Err(PesError::Marker),
        }
        let length = FIXED_LENGTH + usize::from(count);
        let Some(optional) = bytes.get(FIXED_LENGTH..length) else { return Ok(None) };
        let (presentation, decode) = timestamps(fields >> 6, optional)?;
        let payload = match usize::from(u16::from_be_bytes([length_high, length_low])) {
            0 => None,
            counted => Some((LENGTH_END + counted).checked_sub(length).ok_or(PesError::Cut("header"))?),
        };
        Ok(Some(Self { length, payload, presentation, decode }))
    }
}

/// Presentation and decoding time, by PTS_DTS_flags.
fn timestamps(flags: u8, fields: &[u8]) -> Result<(Option<u64>, Option<u64>), PesError> {
    let at = |from| {
        let field = fields.get(from..).and_then(<[u8]>::first_chunk).ok_or(PesError::Cut("time stamp"))?;
        clock::timestamp(*field).map(Some).ok_or(PesError::Timestamp)
    };
    match flags {
        0 => Ok((None, None)),
        2 => at(0).map(|presentation| (presentation, presentation)),
        3 => Ok((at(0)?, at(clock::TIMESTAMP_LENGTH)?)),
        _ => Err(PesError::Timestamp),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_lie_where_the_standard_says() {
        let mut out = Vec::new();
        PesRepr { stream_id: 0xE0, presentation: 0, decode: 0, payload: 10 }.emit(&mut out);
        assert_eq!(out, [0, 0, 1, 0xE0, 0, 18, 0x84, 0x80, 5, 0x21, 0, 1, 0, 1]);
        out.clear();
        PesRepr { stream_id: 0xE0, presentation: 1, decode: 0, payload: 70_000 }.emit(&mut out);
        assert_eq!(out, [0, 0, 1, 0xE0, 0, 0, 0x84, 0xC0, 10, 0x31, 0, 1, 0, 3, 0x11, 0, 1, 0, 1]);
    }

    #[test]
    fn what_is_malformed_is_refused_in_words() {
        let parse = |bytes: &[u8]| PesHeader::parse(bytes).map_err(|error| error.to_string());
        let header = |length: u8, flags, fields, count| [0, 0, 1, 0xE0, 0, length, flags, fields, count];
        assert_eq!(parse(&header(0, 0x80, 0, 0)[..8]), Ok(None));
        assert_eq!(parse(&header(0, 0x80, 0, 3)), Ok(None), "its fields have not come");
        assert_eq!(
            parse(&[0, 0, 2, 0xE0, 0, 0, 0x80, 0, 0]).unwrap_err(),
            "a PES packet begins with 00 00 01, not with [00, 00, 02]"
        );
        assert_eq!(
            parse(&[0, 0, 1, 0xBE, 0, 0, 0x80, 0, 0]).unwrap_err(),
            "stream_id 0xbe is not one of video, audio or private stream 1"
        );
        assert_eq!(parse(&header(0, 0x90, 0, 0)).unwrap_err(), "the PES packet is scrambled, and there is no key here");
        assert_eq!(parse(&header(0, 0x40, 0, 0)).unwrap_err(), PesError::Marker.to_string());
        assert_eq!(parse(&header(2, 0x80, 0, 0)).unwrap_err(), "the header of a PES packet goes beyond it");
        assert_eq!(parse(&header(0, 0x80, 0x80, 0)).unwrap_err(), "the time stamp of a PES packet goes beyond it");
        assert_eq!(parse(&header(0, 0x80, 0x40, 0)).unwrap_err(), PesError::Timestamp.to_string());
    }

    proptest! {
        #[test]
        fn headers_come_back_as_they_went_in(
            presentation in 0..clock::TIMESTAMP_WRAP, decode in 0..clock::TIMESTAMP_WRAP, payload in 0usize..70_000
        ) {
            let mut out = Vec::new();
            PesRepr { stream_id: 0xE0, presentation, decode, payload }.emit(&mut out);
            let header = PesHeader::parse(&out).unwrap().unwrap();
            prop_assert_eq!(header.length, out.len());
            prop_assert_eq!((header.presentation, header.decode), (Some(presentation), Some(decode)));
            let fits = out.len() - LENGTH_END + payload <= 65_535;
            prop_assert_eq!(header.payload, fits.then_some(payload));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let led = [&[0, 0, 1, 0xE0, 0, 0, 0x80][..], &bytes].concat();
            for bytes in [bytes, led] {
                if let Ok(Some(header)) = PesHeader::parse(&bytes) {
                    prop_assert!(header.length <= bytes.len());
                }
            }
        }
    }
}
