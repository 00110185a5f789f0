//! NAL units in a byte stream (annex B of ITU-T H.264 and H.265).

use memchr::memmem;

/// Before each NAL unit (B.1.1 of H.264, B.2.1 of H.265).
pub(crate) const START_CODE: [u8; 3] = [0, 0, 1];

/// The same with `zero_byte`.
pub(crate) const LONG_START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Bytes that are not NAL units behind start codes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ByteStreamError {
    /// There is no start code.
    #[error("there is no start code: an access unit is NAL units behind start codes (annex B)")]
    NoStartCode,
    /// Something else than zero bytes stands before the first one.
    #[error("the access unit does not begin with a start code, but with {0:#04x}")]
    Start(u8),
    /// A NAL unit is shorter than its header.
    #[error("the NAL unit at byte {offset} has {length} bytes: its header is longer")]
    Short {
        /// Byte offset in the access unit, behind the start code.
        offset: usize,
        /// Its length.
        length: usize,
    },
    /// A type that the payload format uses for its packets, or does not carry.
    #[error("the NAL unit at byte {offset} is of type {unit_type}, which no packet can carry")]
    Type {
        /// Byte offset in the access unit, behind the start code.
        offset: usize,
        /// The type.
        unit_type: u8,
    },
}

/// Every NAL unit of a byte stream: where it begins behind its start code, and its bytes without `trailing_zero_8bits` and
/// the `zero_byte` of the next start code, as no NAL unit ends with a zero byte (7.4.1 of H.264, 7.4.2 of H.265).
pub(crate) fn nal_units(stream: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut starts = memmem::find_iter(stream, &START_CODE).map(|offset| offset + START_CODE.len()).peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        let end = starts.peek().map_or(stream.len(), |next| next - START_CODE.len());
        let nal = &stream[start..end];
        let length = nal.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Some((start, &nal[..length]))
    })
}

/// Checks that nothing stands before the first start code but zero bytes.
pub(crate) fn check_beginning(stream: &[u8]) -> Result<(), ByteStreamError> {
    match stream.iter().position(|&byte| byte != 0).map(|first| (first, stream[first])) {
        Some((2.., 1)) => Ok(()),
        Some((_, byte)) if memmem::find(stream, &START_CODE).is_some() => Err(ByteStreamError::Start(byte)),
        _ => Err(ByteStreamError::NoStartCode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_around_start_codes_belong_to_no_unit() {
        let stream = [0, 0, 0, 0, 1, 0x67, 0, 9, 0, 0, 0, 1, 0x68, 0, 0, 1, 0x65, 7, 0, 0, 0];
        let units: Vec<_> = nal_units(&stream).collect();
        assert_eq!(units, [(5, &[0x67, 0, 9][..]), (12, &[0x68]), (16, &[0x65, 7])]);
        assert_eq!(check_beginning(&stream), Ok(()));
    }

    #[test]
    fn what_does_not_begin_with_a_start_code_is_told() {
        assert_eq!(check_beginning(&[]), Err(ByteStreamError::NoStartCode));
        assert_eq!(check_beginning(&[0; 9]), Err(ByteStreamError::NoStartCode));
        assert_eq!(check_beginning(&[0, 1, 9]), Err(ByteStreamError::NoStartCode));
        assert_eq!(check_beginning(&[7, 0, 0, 1, 9]), Err(ByteStreamError::Start(7)));
        assert_eq!(check_beginning(&[0, 1, 0, 0, 1, 9]), Err(ByteStreamError::Start(1)));
    }
}
