//! Streams of H.264 that do not state how many pictures may have to be reordered: no encoder here makes them.

use super::long_term::{Rewriter, append, nal_units};

/// The stream without the usability information of its sequence parameter sets (ITU-T H.264, annex E): of the main
/// profile, of frames, without cropping.
pub fn h264(stream: &[u8]) -> Vec<u8> {
    let mut rewritten = vec![];
    for nal in nal_units(stream) {
        match nal[0] & 31 {
            7 => append(&mut rewritten, &sequence(Rewriter::new(nal))),
            _ => {
                // Bytes that prevent emulation stay.
                rewritten.extend([0, 0, 0, 1]);
                rewritten.extend(nal);
            }
        }
    }
    rewritten
}

fn sequence(mut bits: Rewriter) -> Vec<u8> {
    // NAL unit header, profile and level; seq_parameter_set_id, log2_max_frame_num_minus4.
    let profile = bits.copy(8 + 24) >> 16 & 0xff;
    assert_eq!(profile, 77, "main");
    bits.copy_codes(2);
    assert_eq!(bits.copy_codes(1), 0, "pic_order_cnt_type");
    // Bits of picture order counts, reference frames; gaps; sides.
    bits.copy_codes(2);
    bits.copy(1);
    bits.copy_codes(2);
    assert_eq!(bits.copy(3) & 0b101, 0b100, "frames only, no cropping");
    assert_eq!(bits.skip(1), 1, "usability information");
    // None, and rbsp_trailing_bits().
    bits.put(0b01, 2);
    bits.written.bytes
}
