//! Reading header fields, most significant bit first.

/// A cursor over the bits of a header. Fields are read in the order of the syntax tables.
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The next `count` (at most 32) bits as a number; `None` when the header ends before.
    pub(crate) fn bits(&mut self, count: usize) -> Option<u32> {
        let end = self.position + count;
        if end > self.bytes.len() * 8 {
            return None;
        }
        let value = (self.position..end).fold(0, |value, bit| {
            let one = self.bytes[bit / 8] >> (7 - bit % 8) & 1;
            value << 1 | u32::from(one)
        });
        self.position = end;
        Some(value)
    }

    /// How many bits were read.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The next bit as a flag; `None` when the header ends before.
    pub(crate) fn flag(&mut self) -> Option<bool> {
        self.bits(1).map(|bit| bit == 1)
    }

    /// The next `count` (at most 32) bits as the syntax element of that name.
    pub(crate) fn field(&mut self, name: &'static str, count: usize) -> Result<u32, BadField> {
        self.bits(count).ok_or(BadField { name, value: None })
    }

    /// The next bit as the syntax element of that name.
    pub(crate) fn flag_of(&mut self, name: &'static str) -> Result<bool, BadField> {
        self.field(name, 1).map(|bit| bit == 1)
    }
}

/// A field of a header that has a value the standard does not allow, or is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadField {
    pub(crate) name: &'static str,
    pub(crate) value: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cross_byte_borders() {
        let mut reader = BitReader::new(&[0b1010_0101, 0b1100_0011]);
        assert_eq!(reader.bits(3), Some(0b101));
        assert_eq!(reader.bits(7), Some(0b001_0111));
        assert_eq!(reader.flag(), Some(false));
        assert_eq!(reader.bits(6), None, "five bits are left");
        assert_eq!(reader.bits(5), Some(0b0_0011));
        assert_eq!(reader.flag(), None);
    }
}
