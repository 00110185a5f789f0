//! Open bitstream units (AV1 bitstream specification, 5.3): headers and sizes.

/// `obu_type` (6.2.2).
pub(crate) const SEQUENCE_HEADER: u8 = 1;
pub(crate) const TEMPORAL_DELIMITER: u8 = 2;
pub(crate) const FRAME_HEADER: u8 = 3;
pub(crate) const FRAME: u8 = 6;
pub(crate) const TILE_LIST: u8 = 8;

const FORBIDDEN: u8 = 0x80;
const HAS_EXTENSION: u8 = 0x04;
const HAS_SIZE: u8 = 0x02;

/// A temporal delimiter with its size, 0.
pub(crate) const DELIMITER: [u8; 2] = [TEMPORAL_DELIMITER << 3 | HAS_SIZE, 0];

/// A unit taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Obu<'a> {
    /// The header with `obu_has_size_field` 0, in as many bytes as it has.
    header: [u8; 2],
    has_extension: bool,
    pub(crate) payload: &'a [u8],
}

impl<'a> Obu<'a> {
    /// Splits the first unit off; one without a size goes on to the end. `None` where it is cut off or forbidden.
    pub(crate) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&first, mut rest) = bytes.split_first()?;
        let has_extension = first & HAS_EXTENSION != 0;
        let mut extension = 0;
        if has_extension {
            (extension, rest) = rest.split_first().map(|(&byte, rest)| (byte, rest))?;
        }
        let (payload, after) = match first & HAS_SIZE != 0 {
            true => {
                let (size, after) = leb128(rest)?;
                after.split_at_checked(size)?
            }
            false => (rest, &[][..]),
        };
        let unit = Self { header: [first & !HAS_SIZE, extension], has_extension, payload };
        (first & FORBIDDEN == 0).then_some((unit, after))
    }

    /// `obu_type`.
    pub(crate) fn kind(&self) -> u8 {
        self.header[0] >> 3 & 15
    }

    /// The header without a size.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header[..1 + usize::from(self.has_extension)]
    }

    /// Temporal and spatial layer, where it says one.
    pub(crate) fn layer(&self) -> Option<u8> {
        self.has_extension.then_some(self.header[1] >> 3)
    }

    /// The header with `obu_has_size_field`, and the size.
    pub(crate) fn put_sized(&self, mut put: impl FnMut(&[u8])) {
        let [first, extension] = self.header;
        put(&[first | HAS_SIZE, extension][..self.header().len()]);
        let (size, length) = to_leb128(self.payload.len());
        put(&size[..length]);
        put(self.payload);
    }
}

/// The units of a temporal unit; the last item is `None` where something else stands.
pub(crate) fn units(bytes: &[u8]) -> impl Iterator<Item = Option<Obu<'_>>> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest.filter(|bytes| !bytes.is_empty())?;
        let split = Obu::split(bytes);
        rest = split.map(|(_, after)| after);
        Some(split.map(|(unit, _)| unit))
    })
}

/// A length in at most eight bytes, seven bits in each, the lowest first (4.10.5); below 2^32.
pub(crate) fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_u64;
    for (place, &byte) in bytes.iter().take(8).enumerate() {
        number |= u64::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            let number = u32::try_from(number).ok()?;
            return Some((usize::try_from(number).ok()?, &bytes[place + 1..]));
        }
    }
    None
}

/// The same in the fewest bytes, and how many these are.
pub(crate) fn to_leb128(mut number: usize) -> ([u8; 5], usize) {
    debug_assert!(u32::try_from(number).is_ok());
    let (mut bytes, mut length) = ([0; 5], 0);
    loop {
        bytes[length] = (number & 0x7F) as u8;
        number >>= 7;
        length += 1;
        if number == 0 {
            return (bytes, length);
        }
        bytes[length - 1] |= 0x80;
    }
}

/// How many bytes a length takes.
pub(crate) fn leb128_length(number: usize) -> usize {
    to_leb128(number).1
}
