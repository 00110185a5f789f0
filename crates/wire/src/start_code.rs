//! Start codes of MPEG-1 and MPEG-2 video: the byte-aligned pattern `00 00 01` and one byte that says what follows.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Length of a start code with the byte that names it.
pub(crate) const LENGTH: usize = 4;

/// Made once: for what is between two start codes, mostly a slice in a packet, making it takes longer than searching.
static PREFIX: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(&[0, 0, 1]));

/// `picture_start_code` (ISO/IEC 13818-2, table 6-1).
pub(crate) const PICTURE: u8 = 0x00;
/// `user_data_start_code`.
pub(crate) const USER_DATA: u8 = 0xB2;
/// `sequence_header_code`.
pub(crate) const SEQUENCE_HEADER: u8 = 0xB3;
/// `extension_start_code`.
pub(crate) const EXTENSION: u8 = 0xB5;
/// `group_start_code`.
pub(crate) const GROUP: u8 = 0xB8;

/// True for `slice_start_code`: 01 to AF.
pub(crate) const fn is_slice(code: u8) -> bool {
    matches!(code, 0x01..=0xAF)
}

/// Every start code in `data`: the offset of its first byte, and the byte that names it.
pub(crate) fn start_codes(data: &[u8]) -> impl Iterator<Item = (usize, u8)> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let offset = find(data, from)?;
        from = offset + LENGTH;
        Some((offset, data[offset + 3]))
    })
}

/// Offset of the first whole start code at or after `from`.
fn find(data: &[u8], from: usize) -> Option<usize> {
    // The byte that names it must be there too.
    let searched = data.get(from..data.len().saturating_sub(1))?;
    PREFIX.find(searched).map(|offset| from + offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overlapping_zeros_belong_to_the_last_pattern() {
        let data = [0, 0, 0, 0, 1, 0xB3, 0, 0, 1, 0x00, 0, 0, 1];
        assert_eq!(start_codes(&data).collect::<Vec<_>>(), [(2, 0xB3), (6, 0x00)]);
    }

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(data in proptest::collection::vec(0u8..4, 0..200)) {
            let plain: Vec<_> = (0..data.len().saturating_sub(3))
                .filter(|&i| data[i..i + 3] == [0, 0, 1])
                .map(|i| (i, data[i + 3]))
                .collect();
            // After a start code the walk goes on behind its name, so `00 00 01 00 00 01` is one code, not two.
            let mut expected = Vec::new();
            for (offset, code) in plain {
                if expected.last().is_none_or(|&(last, _)| offset >= last + LENGTH) {
                    expected.push((offset, code));
                }
            }
            prop_assert_eq!(start_codes(&data).collect::<Vec<_>>(), expected);
        }
    }
}
