//! Streams with long-term reference pictures, which no encoder here makes: the headers of plain streams of I and P
//! pictures are written anew, so that some P pictures refer to long-term pictures. Their residuals were made for others,
//! so the pictures look odd, but there is one right way to decode them.

use super::BitWriter;

/// What is asked of x264: one reference, no B pictures, and code words that may begin at any bit.
pub const X264: &str = "-profile:v baseline -x264-params keyint=32:ref=1:bframes=0:scenecut=0:threads=1";
/// The same with a column of intra blocks that wanders through the pictures, and one IDR picture only.
pub const X264_REFRESH: &str =
    "-profile:v baseline -x264-params keyint=16:intra-refresh=1:ref=1:bframes=0:scenecut=0:threads=1";
/// What is asked of x265: the same, and slice headers that end with `byte_alignment()`.
pub const X265: &str =
    "-x265-params keyint=32:min-keyint=32:ref=1:bframes=0:scenecut=0:open-gop=0:wpp=0:weightp=0:b-adapt=0";

/// Pictures from one IDR picture to the next, without intra refresh.
const KEY_INTERVAL: u32 = 32;

/// SEI with a recovery point of H.264: the pictures that are refreshed would refer to long-term pictures that are not.
const RECOVERY_POINT: [u8; 2] = [6, 6];

/// Frames that a decoder of the H.264 holds: two long-term ones and two others.
const FRAMES: u32 = 4;

/// Reads a NAL unit bit by bit and writes it anew.
pub(super) struct Rewriter {
    read: Vec<u8>,
    at: usize,
    pub(super) written: BitWriter,
}

impl Rewriter {
    /// `nal` with its emulation prevention bytes.
    pub(super) fn new(nal: &[u8]) -> Self {
        let mut read: Vec<u8> = Vec::with_capacity(nal.len());
        let mut zeros = 0;
        for &byte in nal {
            let is_prevention = zeros >= 2 && byte == 3;
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            if !is_prevention {
                read.push(byte);
            }
        }
        Self { read, at: 0, written: BitWriter::default() }
    }

    pub(super) fn skip(&mut self, count: usize) -> u32 {
        let bit = |at: usize| u32::from(self.read[at / 8] >> (7 - at % 8) & 1);
        let value = (self.at..self.at + count).fold(0, |value, at| value << 1 | bit(at));
        self.at += count;
        value
    }

    pub(super) fn copy(&mut self, count: usize) -> u32 {
        let value = self.skip(count);
        self.written.number(value, count);
        value
    }

    /// Reads `ue(v)`.
    fn skip_code(&mut self) -> u32 {
        let mut zeros = 0;
        while self.skip(1) == 0 {
            zeros += 1;
        }
        (1 << zeros) - 1 + self.skip(zeros)
    }

    /// Copies codes, `ue(v)` or `se(v)`, and gives the last one as `ue(v)`.
    pub(super) fn copy_codes(&mut self, count: usize) -> u32 {
        (0..count).fold(0, |_, _| {
            let value = self.skip_code();
            self.put_code(value);
            value
        })
    }

    pub(super) fn put(&mut self, value: u32, count: usize) {
        self.written.number(value, count);
    }

    /// Writes `ue(v)`.
    fn put_code(&mut self, value: u32) {
        let bits = (value + 1).ilog2() as usize;
        self.written.number(0, bits).number(value + 1, bits + 1);
    }

    /// Copies what is left, to the last bit that is set, and fills up the byte.
    fn copy_rest(mut self) -> Vec<u8> {
        let end = (0..self.read.len() * 8).rfind(|at| self.read[at / 8] >> (7 - at % 8) & 1 == 1).unwrap();
        while self.at <= end {
            self.copy(1);
        }
        self.written.bytes
    }

    /// Copies `byte_alignment()` and the bytes after it.
    fn copy_aligned(mut self) -> Vec<u8> {
        assert_eq!(self.copy(1), 1, "the header ends here");
        self.written.bytes.extend_from_slice(&self.read[self.at.div_ceil(8)..]);
        self.written.bytes
    }
}

/// The NAL units of a byte stream.
pub(super) fn nal_units(stream: &[u8]) -> Vec<&[u8]> {
    let codes: Vec<usize> = (0..stream.len() - 3).filter(|&at| stream[at..at + 3] == [0, 0, 1]).collect();
    let ends = codes.iter().skip(1).copied().chain([stream.len()]);
    let unit = |(code, end): (&usize, usize)| {
        let unit = &stream[code + 3..end];
        &unit[..unit.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
    };
    codes.iter().zip(ends).map(unit).collect()
}

pub(super) fn append(stream: &mut Vec<u8>, bytes: &[u8]) {
    stream.extend([0, 0, 0, 1]);
    let mut zeros = 0;
    for &byte in bytes {
        if zeros >= 2 && byte <= 3 {
            stream.push(3);
            zeros = 0;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        stream.push(byte);
    }
}

/// Rewrites each NAL unit: its header, and the number of the picture since the last IDR picture.
fn rewrite(
    stream: &[u8],
    is_idr: impl Fn(u8) -> bool,
    is_slice: impl Fn(u8) -> bool,
    mut nal: impl FnMut(&[u8], u32) -> Vec<u8>,
) -> Vec<u8> {
    let (mut rewritten, mut picture) = (vec![], 0);
    for unit in nal_units(stream) {
        if is_slice(unit[0]) {
            picture = if is_idr(unit[0]) { 0 } else { picture + 1 };
        }
        let is_recovery_point = unit[..2] == RECOVERY_POINT;
        if !is_recovery_point {
            append(&mut rewritten, &nal(unit, picture));
        }
    }
    rewritten
}

/// A stream of H.264 made with [`X264`] or [`X264_REFRESH`], with `frame_num` of so many bits. IDR pictures are long-term
/// picture 0, which a later one replaces (operation 3); every eighth picture becomes long-term picture 1 (operation 6),
/// and two of eight P pictures refer to one of them (ITU-T H.264, 7.3.3.1, 7.3.3.3).
pub fn h264(stream: &[u8], frame_num_bits: usize) -> Vec<u8> {
    let (is_idr, is_slice) = (|header| header & 31 == 5, |header| matches!(header & 31, 1 | 5));
    rewrite(stream, is_idr, is_slice, |nal, picture| {
        let bits = Rewriter::new(nal);
        match nal[0] & 31 {
            7 => h264_sequence(bits, frame_num_bits),
            1 => h264_p_slice(bits, picture, frame_num_bits),
            5 => h264_idr_slice(bits, frame_num_bits),
            _ => bits.copy_rest(),
        }
    })
}

fn h264_sequence(mut bits: Rewriter, frame_num_bits: usize) -> Vec<u8> {
    // NAL unit header, profile and level; seq_parameter_set_id, log2_max_frame_num_minus4.
    bits.copy(8 + 24);
    bits.copy_codes(1);
    bits.skip_code();
    bits.put_code(frame_num_bits as u32 - 4);
    assert_eq!((bits.copy_codes(1), bits.skip_code()), (2, 1), "pic_order_cnt_type, max_num_ref_frames");
    bits.put_code(FRAMES);
    // Gaps, sides; frames only, direct inference, no cropping, VUI; its aspect ratio and nothing else before the timing.
    bits.copy(1);
    bits.copy_codes(2);
    assert_eq!((bits.copy(4), bits.copy(1)), (0b1101, 1));
    assert_eq!(bits.copy(8 + 4) & 0xf, 1, "timing, and nothing else");
    bits.copy(32);
    bits.copy(32);
    // Frame rate, parameters of HRD, picture structure; restrictions: vectors, and five codes before the room.
    assert_eq!(bits.copy(6) & 0b1_1110, 0b10, "restrictions only");
    bits.copy_codes(5);
    bits.skip_code();
    bits.put_code(FRAMES);
    bits.copy_rest()
}

fn h264_frame_num(bits: &mut Rewriter, picture: u32, frame_num_bits: usize) {
    bits.skip(4);
    bits.put(picture, frame_num_bits);
}

fn h264_idr_slice(mut bits: Rewriter, frame_num_bits: usize) -> Vec<u8> {
    // NAL unit header; first_mb_in_slice, slice_type, pic_parameter_set_id; frame_num; idr_pic_id.
    bits.copy(8);
    bits.copy_codes(3);
    h264_frame_num(&mut bits, 0, frame_num_bits);
    bits.copy_codes(1);
    // no_output_of_prior_pics_flag, long_term_reference_flag
    bits.copy(1);
    bits.skip(1);
    bits.put(1, 1);
    bits.copy_rest()
}

fn h264_p_slice(mut bits: Rewriter, picture: u32, frame_num_bits: usize) -> Vec<u8> {
    bits.copy(8);
    bits.copy_codes(3);
    h264_frame_num(&mut bits, picture, frame_num_bits);
    // num_ref_idx_active_override_flag
    bits.copy(1);
    assert_eq!(bits.skip(2), 0, "neither modifications nor operations");
    match picture % 8 {
        4 => refer_to_long_term(&mut bits, 0),
        6 => refer_to_long_term(&mut bits, 1),
        _ => bits.put(0, 1),
    }
    let operations: &[u32] = match picture % 16 {
        // Two indices may be used, and this picture takes the second.
        2 | 10 => &[4, 2, 6, 1, 0],
        // The picture before takes the first.
        13 => &[3, 0, 0, 0],
        _ => &[],
    };
    bits.put(u32::from(!operations.is_empty()), 1);
    operations.iter().for_each(|&code| bits.put_code(code));
    bits.copy_rest()
}

/// Whether a picture of [`h264`] takes a long-term index itself.
pub fn becomes_long_term(picture: u32) -> bool {
    picture % KEY_INTERVAL % 8 == 2
}

/// `ref_pic_list_modification()`.
fn refer_to_long_term(bits: &mut Rewriter, number: u32) {
    bits.put(1, 1);
    [2, number, 3].into_iter().for_each(|code| bits.put_code(code));
}

/// A stream of H.265 made with [`X265`]. IDR pictures are kept as long-term pictures, and of every eight pictures after
/// them the sixth; two of eight P pictures refer to one of them (ITU-T H.265, 7.3.6.1).
pub fn h265(stream: &[u8]) -> Vec<u8> {
    let nal_type = |header: u8| header >> 1 & 63;
    rewrite(
        stream,
        |header| nal_type(header) == 20,
        |header| matches!(nal_type(header), 0 | 1 | 20),
        |nal, picture| match nal_type(nal[0]) {
            33 => h265_sequence(Rewriter::new(nal)),
            0 | 1 => h265_p_slice(Rewriter::new(nal), picture),
            _ => Rewriter::new(nal).copy_rest(),
        },
    )
}

fn h265_sequence(mut bits: Rewriter) -> Vec<u8> {
    // NAL unit header, up to general_level_idc of the one sub-layer.
    bits.copy(16 + 8);
    (0..3).for_each(|_| _ = bits.copy(32));
    // sps_seq_parameter_set_id, chroma_format_idc, sides; no conformance window; bit depths, order bits.
    bits.copy_codes(4);
    assert_eq!(bits.copy(1), 0, "no window");
    assert_eq!(bits.copy_codes(3), 4, "8 bits of order");
    bits.copy(1);
    // sps_max_dec_pic_buffering_minus1
    bits.skip_code();
    bits.put_code(4);
    // Reordering, latency, and block sizes; lists, partitions, adaptive offset, PCM.
    bits.copy_codes(2 + 6);
    assert_eq!(bits.copy(4), 0b0010);
    assert_eq!(bits.copy_codes(1), 0, "no sets of reference pictures");
    assert_eq!(bits.skip(1), 0, "no long-term reference pictures");
    // There are some, and none are listed here.
    bits.put(1, 1);
    bits.put_code(0);
    bits.copy_rest()
}

fn h265_p_slice(mut bits: Rewriter, picture: u32) -> Vec<u8> {
    // NAL unit header, first_slice_segment_in_pic_flag; slice_pic_parameter_set_id, slice_type.
    assert_eq!(bits.copy(17) & 1, 1, "one slice per picture");
    bits.copy_codes(2);
    assert_eq!(bits.copy(8), picture, "slice_pic_order_cnt_lsb");
    assert_eq!(bits.copy(1), 0, "the set stands here");
    let count = bits.skip_code();
    assert_eq!(bits.skip_code(), 0, "nothing comes later");
    for _ in 0..count {
        bits.skip_code();
        bits.skip(1);
    }
    let refers_to_first = picture % 8 == 4;
    let refers_to_last = picture % 8 == 1 && picture > 8;
    // The picture before, and whether this one refers to it.
    [1, 0, 0].into_iter().for_each(|code| bits.put_code(code));
    bits.put(u32::from(!refers_to_first && !refers_to_last), 1);
    let mut kept = vec![(0, refers_to_first)];
    if picture >= 7 {
        kept.push(((picture - 7) / 8 * 8 + 5, refers_to_last));
    }
    bits.put_code(kept.len() as u32);
    for (order, is_used) in kept {
        // poc_lsb_lt, used_by_curr_pic_lt_flag, delta_poc_msb_present_flag
        bits.put(order, 8);
        bits.put(u32::from(is_used) << 1, 2);
    }
    // Temporal vectors, two flags of adaptive offset, override; merge candidates, quantiser; filter over slices.
    assert_eq!(bits.copy(4) & 1, 0, "one reference");
    bits.copy_codes(2);
    bits.copy(1);
    bits.copy_aligned()
}
