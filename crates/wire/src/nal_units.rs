//! Payload formats of H.264 (RFC 6184) and H.265 (RFC 7798) over RTP, read back into a byte stream with start codes.
//!
//! The modes without interleaving are read: single NAL units, aggregation packets without decoding order numbers, and
//! fragmentation units. A stream put together of packets in their order is that of ISO/IEC 14496-10 or 23008-2, Annex B.

/// What stands before each NAL unit (Annex B of both).
const START_CODE: [u8; 3] = [0, 0, 1];

/// The part of the byte stream that the payload of an H.264 packet carries; `None` for what RFC 6184 does not allow in
/// its first two packetization modes (section 6), or is cut short.
pub fn h264(payload: &[u8]) -> Option<Vec<u8>> {
    let (&first, rest) = payload.split_first()?;
    match first & 0x1f {
        1..=23 => Some(unit(&[], payload)),
        // STAP-A, section 5.7.1.
        24 => aggregated(rest),
        // FU-A, section 5.8: the unit's header is put together of the indicator's first bits and the fragment's type.
        28 => {
            let (&fragment, data) = rest.split_first()?;
            Some(part(fragment, &[first & 0xe0 | fragment & 0x1f], data))
        }
        _ => None,
    }
}

/// The same of an H.265 packet (RFC 7798), where `sprop-max-don-diff` is 0, its default (section 7.1).
pub fn h265(payload: &[u8]) -> Option<Vec<u8>> {
    let (&[first, second], rest) = payload.split_first_chunk()?;
    match first >> 1 & 0x3f {
        0..=47 => Some(unit(&[], payload)),
        // Aggregation packet, section 4.4.2.
        48 => aggregated(rest),
        // Fragmentation unit, section 4.4.3.
        49 => {
            let (&fragment, data) = rest.split_first()?;
            Some(part(fragment, &[first & 0x81 | (fragment & 0x3f) << 1, second], data))
        }
        _ => None,
    }
}

fn unit(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&START_CODE[..], header, data].concat()
}

/// A fragment: its S bit says that it begins the unit.
fn part(fragment: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
    if fragment & 0x80 != 0 { unit(header, data) } else { data.to_vec() }
}

/// NAL units, each behind its size.
fn aggregated(mut units: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(units.len() + 2 * START_CODE.len());
    while let Some((&size, rest)) = units.split_first_chunk() {
        let (nal, behind) = rest.split_at_checked(usize::from(u16::from_be_bytes(size)))?;
        bytes.extend_from_slice(&START_CODE);
        bytes.extend_from_slice(nal);
        units = behind;
    }
    (units.is_empty() && !bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn single_units_get_their_start_codes() {
        assert_eq!(h264(&[0x65, 1, 2]).unwrap(), [0, 0, 1, 0x65, 1, 2]);
        assert_eq!(h265(&[0x26, 0x01, 7]).unwrap(), [0, 0, 1, 0x26, 0x01, 7]);
    }

    #[test]
    fn aggregated_units_are_taken_apart() {
        let expected = [0, 0, 1, 0x67, 9, 0, 0, 1, 0x68];
        assert_eq!(h264(&[24, 0, 2, 0x67, 9, 0, 1, 0x68]).unwrap(), expected);
        assert_eq!(h265(&[48 << 1, 1, 0, 2, 0x67, 9, 0, 1, 0x68]).unwrap(), expected);
        assert_eq!(h264(&[24, 0, 9, 0x67]), None, "cut short");
        assert_eq!(h264(&[24]), None);
    }

    #[test]
    fn fragments_are_put_together() {
        // nal_ref_idc 3, type 5 (IDR) in three fragments.
        let parts = [&[0x7c, 0x85, 1, 2][..], &[0x7c, 0x05, 3], &[0x7c, 0x45, 4]].map(|part| h264(part).unwrap());
        assert_eq!(parts.concat(), [0, 0, 1, 0x65, 1, 2, 3, 4]);
        // IDR_W_RADL, type 19, temporal id 0.
        let parts = [&[49 << 1, 1, 0x80 | 19, 1][..], &[49 << 1, 1, 0x40 | 19, 2]].map(|part| h265(part).unwrap());
        assert_eq!(parts.concat(), [0, 0, 1, 19 << 1, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            for stream in [h264(&bytes), h265(&bytes)].into_iter().flatten() {
                prop_assert!(stream.len() <= 3 * bytes.len() + 3);
            }
        }
    }
}
