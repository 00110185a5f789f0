//! NAL units, the packets that H.264 and H.265 consist of (ITU-T H.264 and H.265, 7.3.1 and annex B).

use crate::access_unit::Framing;
use crate::bits::BadField;
use crate::start_code::{self, Parts};

/// The NAL units of an access unit, with their headers, without trailing zeros. One whose length goes beyond the end
/// is cut there.
pub(crate) enum NalUnits<'a> {
    ByteStream(Parts<'a>),
    LengthPrefixed { bytes_of_length: usize, rest: &'a [u8] },
}

impl<'a> NalUnits<'a> {
    pub(crate) fn of(unit: &'a [u8], framing: Framing) -> Self {
        match framing {
            Framing::ByteStream => Self::ByteStream(start_code::parts(unit)),
            Framing::LengthPrefixed(bytes) => Self::LengthPrefixed { bytes_of_length: bytes.into(), rest: unit },
        }
    }
}

impl<'a> Iterator for NalUnits<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match self {
            Self::ByteStream(parts) => parts.next().map(without_trailing_zeros),
            Self::LengthPrefixed { bytes_of_length, rest } => {
                let (length, after) = rest.split_at_checked(*bytes_of_length).filter(|_| !rest.is_empty())?;
                let length = length.iter().fold(0, |length: usize, &byte| length << 8 | usize::from(byte));
                let (nal, after) = after.split_at(length.min(after.len()));
                *rest = after;
                Some(nal)
            }
        }
    }
}

/// `trailing_zero_8bits` and the `zero_byte` of the next start code belong to no NAL unit (B.1).
fn without_trailing_zeros(nal: &[u8]) -> &[u8] {
    let end = nal.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &nal[..end]
}

/// What a reader reports where the data end before the field.
const CUT_OFF: BadField = BadField { name: "header", value: None };

/// Reads fields from the payload of a NAL unit, passing over `emulation_prevention_three_byte` (7.4.1), so that a long
/// slice costs no more than its header.
#[derive(Clone)]
pub(crate) struct RbspReader<'a> {
    rest: &'a [u8],
    /// Zero bytes before the current one.
    zeros: u8,
    current: u8,
    /// Bits of `current` that were not read.
    left: u32,
}

impl<'a> RbspReader<'a> {
    /// A reader of what follows the header of a NAL unit.
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, zeros: 0, current: 0, left: 0 }
    }

    fn next_byte(&mut self) -> Option<u8> {
        if self.zeros >= 2 && self.rest.first() == Some(&3) {
            self.rest = &self.rest[1..];
            self.zeros = 0;
        }
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.zeros = if byte == 0 { self.zeros.saturating_add(1) } else { 0 };
        Some(byte)
    }

    /// u(n): the next `count` (at most 32) bits as a number.
    pub(crate) fn bits(&mut self, count: u32) -> Result<u32, BadField> {
        let (mut value, mut wanted) = (0u64, count);
        while wanted > 0 {
            if self.left == 0 {
                self.current = self.next_byte().ok_or(CUT_OFF)?;
                self.left = 8;
            }
            let taken = wanted.min(self.left);
            let bits = (u64::from(self.current) >> (self.left - taken)) & ((1 << taken) - 1);
            value = value << taken | bits;
            self.left -= taken;
            wanted -= taken;
        }
        Ok(value as u32)
    }

    /// u(1) as a flag.
    pub(crate) fn flag(&mut self) -> Result<bool, BadField> {
        self.bits(1).map(|bit| bit == 1)
    }

    /// Where the bit that was read last stands in the payload that it reads: its byte, and a mask.
    pub(crate) fn last_bit_of(&self, payload: &[u8]) -> (usize, u8) {
        (payload.len() - self.rest.len() - 1, 1 << self.left)
    }

    /// ue(v): an Exp-Golomb code of up to 32 bits (9.1 of H.264, 9.2 of H.265).
    pub(crate) fn ue(&mut self) -> Result<u32, BadField> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros == 32 {
                return Err(BadField { name: "Exp-Golomb code", value: None });
            }
        }
        let suffix = self.bits(zeros)?;
        // 32 bits hold it: at most 2^31 - 1 and 31 bits of suffix.
        Ok((1u32 << zeros) - 1 + suffix)
    }

    /// ue(v) of a field that may be at most `max`.
    pub(crate) fn ue_at_most(&mut self, name: &'static str, max: u32) -> Result<u32, BadField> {
        let value = self.ue()?;
        if value <= max { Ok(value) } else { Err(BadField { name, value: Some(value) }) }
    }

    /// se(v): a signed Exp-Golomb code (9.1.1 of H.264, 9.2.2 of H.265).
    pub(crate) fn se(&mut self) -> Result<i32, BadField> {
        let code = i64::from(self.ue()?);
        let magnitude = (code + 1) / 2;
        Ok(if code % 2 == 1 { magnitude } else { -magnitude } as i32)
    }

    /// Passes over `count` ue(v) or se(v) codes.
    pub(crate) fn skip_codes(&mut self, count: u32) -> Result<(), BadField> {
        (0..count).try_for_each(|_| self.ue().map(drop))
    }

    /// Passes over `count` bits.
    pub(crate) fn skip_bits(&mut self, count: u32) -> Result<(), BadField> {
        let (words, rest) = (count / 32, count % 32);
        (0..words).try_for_each(|_| self.bits(32).map(drop))?;
        self.bits(rest).map(drop)
    }
}

/// One message of supplemental enhancement information (7.3.2.3.1 of H.264, 7.3.5 of H.265).
pub(crate) struct SeiMessage<'a> {
    pub(crate) payload_type: u32,
    /// Stands at the start of the payload.
    pub(crate) payload: RbspReader<'a>,
}

/// The messages of an SEI NAL unit, from what follows its header.
pub(crate) fn sei_messages(payload: &[u8]) -> impl Iterator<Item = SeiMessage<'_>> {
    let mut reader = RbspReader::new(payload);
    std::iter::from_fn(move || {
        let payload_type = sei_number(&mut reader)?;
        let size = sei_number(&mut reader)?;
        // At the end stand the trailing bits, 80 hexadecimal, which a message of no bytes would be taken for.
        let message = SeiMessage { payload_type, payload: reader.clone() };
        reader.skip_bits(size.checked_mul(8)?).ok()?;
        Some(message)
    })
}

/// A number as bytes ff and a last one.
fn sei_number(reader: &mut RbspReader) -> Option<u32> {
    let mut number = 0u32;
    loop {
        let byte = reader.bits(8).ok()?;
        number = number.checked_add(byte)?;
        if byte != 0xff {
            return Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulation_prevention_is_passed_over() {
        let mut reader = RbspReader::new(&[0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 0xff, 3]);
        let bytes: Vec<_> = std::iter::from_fn(|| reader.bits(8).ok()).collect();
        assert_eq!(bytes, [0, 0, 1, 0, 0, 0, 0, 0xff, 3]);
    }

    #[test]
    fn exp_golomb_codes_are_those_of_the_standard() {
        // Table 9-2 of H.264: 1, 010, 011, 00100, 00101.
        let mut reader = RbspReader::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        assert_eq!((0..5).map(|_| reader.ue().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let mut reader = RbspReader::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        assert_eq!((0..5).map(|_| reader.se().unwrap()).collect::<Vec<_>>(), [0, 1, -1, 2, -2]);
        assert!(RbspReader::new(&[0; 9]).ue().is_err());
        assert_eq!(RbspReader::new(&[0, 0, 3, 0, 1, 0xff, 0xff, 0xff, 0xff]).ue().unwrap(), u32::MAX - 1);
    }

    #[test]
    fn units_are_told_apart_in_both_framings() {
        let stream = [0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2, 0, 0, 0, 0, 1, 0x65, 3, 4];
        let nals: Vec<_> = NalUnits::of(&stream, Framing::ByteStream).collect();
        assert_eq!(nals, [&[0x67, 1][..], &[0x68, 2], &[0x65, 3, 4]]);
        let sample = [0, 2, 0x67, 1, 0, 0, 0, 9, 0x65, 3];
        let nals: Vec<_> = NalUnits::of(&sample, Framing::LengthPrefixed(2)).collect();
        assert_eq!(nals, [&[0x67, 1][..], &[], &[0x65, 3]], "the last is cut off");
        assert_eq!(NalUnits::of(&[0, 0], Framing::LengthPrefixed(4)).count(), 0);
    }

    #[test]
    fn sei_messages_are_told_apart() {
        let mut payload = vec![5, 2, 0xaa, 0xbb, 0xff, 1, 1, 0x55, 6, 1, 0xc4, 0x80];
        let types = |payload: &[u8]| sei_messages(payload).map(|message| message.payload_type).collect::<Vec<_>>();
        assert_eq!(types(&payload), [5, 256, 6]);
        payload.truncate(3);
        assert_eq!(types(&payload), []);
    }
}
