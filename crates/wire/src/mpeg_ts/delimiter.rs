//! Access unit delimiters, which H.264 and H.265 have before every access unit in a transport stream (2.14.1 and 2.17.1;
//! ITU-T H.264, 7.3.2.4; ITU-T H.265, 7.3.2.5).

use memchr::memmem;

use super::stream_type::StreamType;

/// Bytes of the longer one with its start code.
pub(super) const LONGEST: usize = 7;

/// What has to stand before this unit; nothing where it has one, or needs none. `None` where the unit does not begin with
/// a start code.
pub(super) fn missing(stream_type: StreamType, unit: &[u8]) -> Option<([u8; LONGEST], usize)> {
    const NOTHING: ([u8; LONGEST], usize) = ([0; LONGEST], 0);
    match stream_type {
        // access_unit_delimiter_rbsp: primary_pic_type 7, any slices, and the stop bit.
        StreamType::H264 => match first_nal(unit)? {
            [header, ..] if header & 0x1F == 9 => Some(NOTHING),
            _ => Some(([0, 0, 0, 1, 9, 0xF0, 0], 6)),
        },
        // nal_unit_type 35; pic_type 2, any slices, and the stop bit.
        StreamType::H265 => match first_nal(unit)? {
            [header, ..] if header >> 1 & 0x3F == 35 => Some(NOTHING),
            _ => Some(([0, 0, 0, 1, 35 << 1, temporal_id_plus1(unit), 0x50], 7)),
        },
        _ => Some(NOTHING),
    }
}

/// What follows the start code that a unit begins with, behind zeros.
fn first_nal(unit: &[u8]) -> Option<&[u8]> {
    let zeros = unit.iter().take_while(|&&byte| byte == 0).count();
    if zeros >= 2 { unit[zeros..].strip_prefix(&[1]).filter(|nal| !nal.is_empty()) } else { None }
}

/// nuh_temporal_id_plus1 of the unit's first slice: the delimiter has the same (ITU-T H.265, 7.4.2.2); 1 where there is
/// no slice.
fn temporal_id_plus1(unit: &[u8]) -> u8 {
    let nals = memmem::find_iter(unit, &[0, 0, 1]).filter_map(|at| unit[at + 3..].first_chunk::<2>());
    // nal_unit_type below 32: of slices.
    nals.into_iter().find(|[first, _]| first >> 1 & 0x3F < 32).map_or(1, |[_, second]| (second & 7).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stream_type: StreamType, unit: &[u8]) -> Option<Vec<u8>> {
        missing(stream_type, unit).map(|(bytes, length)| bytes[..length].to_vec())
    }

    #[test]
    fn a_delimiter_is_put_where_it_lacks() {
        let delimiter = [0, 0, 0, 1, 9, 0xF0];
        assert_eq!(of(StreamType::H264, &[0, 0, 1, 0x67, 1]).unwrap(), delimiter);
        assert_eq!(of(StreamType::H264, &[&delimiter[..], &[0, 0, 1, 0x67]].concat()).unwrap(), []);
        assert_eq!(of(StreamType::H264, &[0, 0, 0, 0, 1, 0x29, 0x10]).unwrap(), [], "whatever its nal_ref_idc");
        assert_eq!(of(StreamType::Mpeg2Video, &[0, 0, 1, 0]).unwrap(), []);
        assert_eq!(of(StreamType::H264, &[0, 1, 0x67]), None);
        assert_eq!(of(StreamType::H264, &[0, 0, 1]), None);
        assert_eq!(of(StreamType::H264, &[]), None);
    }

    #[test]
    fn of_h265_it_has_the_temporal_layer_of_the_slices() {
        // A parameter set of layer 0, then a slice of temporal layer 2.
        let unit = [0, 0, 1, 34 << 1, 1, 9, 0, 0, 1, 1 << 1, 3, 9];
        assert_eq!(of(StreamType::H265, &unit).unwrap(), [0, 0, 0, 1, 70, 3, 0x50]);
        assert_eq!(of(StreamType::H265, &[0, 0, 1, 35 << 1, 1, 0x50]).unwrap(), []);
    }
}
