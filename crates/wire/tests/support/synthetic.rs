//! Access units made up for property tests: every order of headers that MPEG-1 and MPEG-2 know, slices of any size.

use proptest::collection::vec;
use proptest::prelude::*;

/// What a made-up stream is like.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub mpeg2: bool,
    /// Frames are pairs of field pictures.
    pub fields: bool,
    /// A GOP header stands between sequence and picture header.
    pub groups: bool,
}

pub fn style() -> impl Strategy<Value = Style> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(mpeg2, fields, groups)| Style {
        mpeg2,
        fields: mpeg2 && fields,
        groups,
    })
}

/// `count` frames in decode order; the first is an I frame.
pub fn frames(style: Style, count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let slice = prop_oneof![10 => 2usize..300, 5 => 300usize..1_600, 1 => 1_600usize..5_000];
    let picture = (0u16..1024, any::<[u8; 6]>(), vec(slice, 1..12), any::<bool>());
    vec((0u8..5, picture.clone(), picture, any::<u64>()), count).prop_map(move |frames| {
        let build = |(index, (kind, first, second, seed)): (usize, (u8, Picture, Picture, u64))| {
            let kind = if index == 0 { 1 } else { [1, 2, 2, 3, 3][usize::from(kind)] };
            build_frame(style, kind, &first, style.fields.then_some(&second), seed)
        };
        frames.into_iter().enumerate().map(build).collect()
    })
}

type Picture = (u16, [u8; 6], Vec<usize>, bool);

fn build_frame(style: Style, kind: u8, first: &Picture, second: Option<&Picture>, seed: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    if kind == 1 {
        frame.extend([0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x33, 0xFF, 0xFF, 0xE0, 0x18]);
        if style.mpeg2 {
            frame.extend([0, 0, 1, 0xB5, 0x14, 0x8A, 0x00, 0x01, 0x00, 0x00]);
        }
        if style.groups {
            frame.extend([0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40]);
        }
    }
    let mut noise = seed | 1;
    push_picture(&mut frame, style, kind, first, if second.is_some() { 1 } else { 3 }, &mut noise);
    if let Some(second) = second {
        push_picture(&mut frame, style, if kind == 1 { 2 } else { kind }, second, 2, &mut noise);
    }
    frame
}

fn push_picture(frame: &mut Vec<u8>, style: Style, kind: u8, picture: &Picture, structure: u8, noise: &mut u64) {
    let (temporal_reference, parameters, slices, with_user_data) = picture;
    let [vbv, codes, more_codes, f_codes, dc, flags] = *parameters;
    frame.extend([0, 0, 1, 0x00, (temporal_reference >> 2) as u8]);
    // The marker-like low bits keep the header free of start codes.
    frame.extend([(temporal_reference << 6) as u8 | kind << 3 | vbv & 7, 0x55, vbv | 7, codes | 0x02]);
    frame.push(more_codes | 0x04);
    if style.mpeg2 {
        let structure_byte = dc & 0xFC | structure;
        frame.extend([0, 0, 1, 0xB5, 0x80 | f_codes & 0xF, f_codes | 1, structure_byte, flags | 0x80, 0x80]);
    }
    if *with_user_data {
        frame.extend([0, 0, 1, 0xB2, b'u', b's', b'e', b'r']);
    }
    for (row, &length) in slices.iter().enumerate() {
        frame.extend([0, 0, 1, row as u8 + 1]);
        frame.extend((0..length).map(|_| slice_byte(noise)));
    }
}

/// Any byte but 0 and 1, so that slices hold no start code (xorshift; what matters is that frames differ).
fn slice_byte(noise: &mut u64) -> u8 {
    *noise ^= *noise << 13;
    *noise ^= *noise >> 7;
    *noise ^= *noise << 17;
    (*noise % 254) as u8 + 2
}
