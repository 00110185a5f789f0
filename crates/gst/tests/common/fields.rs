//! MPEG-2 video in field pictures, which no encoder here makes: intra fields are those of FFmpeg, whose frames of half
//! the height become the fields of frames, and the P fields between them are copies.
#![allow(dead_code, reason = "every test program uses its part")]

use crate::common::movie::synthesised;

const WIDTH: usize = 352;
const HEIGHT: u128 = 288;
/// A closed group of six frames: an I field and a P field, then pairs of P fields.
const GROUP: usize = 6;

/// Values of `picture_structure` (ISO/IEC 13818-2, table 6-14).
const TOP: u128 = 1;
const BOTTOM: u128 = 2;

/// So many frames; `None`, after saying so, without FFmpeg. In each P frame the top field is a copy of the bottom field
/// before it, and the bottom field one of that.
pub fn mpeg2(frames: usize) -> Option<Vec<u8>> {
    let groups = frames.div_ceil(GROUP);
    let count = groups.to_string();
    let source = format!("testsrc2=size={WIDTH}x{}:rate=5", HEIGHT / 2);
    let arguments = ["-frames:v", &count, "-c:v", "mpeg2video", "-g", "1", "-q:v", "6", "-f", "mpeg2video"];
    let intra = std::fs::read(synthesised("intra-fields.m2v", &source, &arguments)?).unwrap();
    let pictures = pictures(&intra);
    assert_eq!(pictures.len(), groups);
    let frame = |number: usize| {
        let (picture, place) = (&pictures[number / GROUP], (number % GROUP) as u128);
        match place {
            0 => [intra_field(picture), copied_field(picture, BOTTOM, place, TOP)].concat(),
            _ => [copied_field(picture, TOP, place, BOTTOM), copied_field(picture, BOTTOM, place, TOP)].concat(),
        }
    };
    Some((0..frames).flat_map(frame).collect())
}

/// What stands behind start codes, with them, picture by picture.
fn pictures(stream: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let starts: Vec<usize> = (0..stream.len() - 3).filter(|&at| stream[at..at + 3] == [0, 0, 1]).collect();
    let ends = starts.iter().skip(1).copied().chain([stream.len()]);
    let mut pictures: Vec<Vec<Vec<u8>>> = vec![];
    for part in starts.iter().zip(ends).map(|(&start, end)| stream[start..end].to_vec()) {
        match part[3] {
            0xb3 => pictures.push(vec![part]),
            0xb7 => {}
            _ => pictures.last_mut().expect("a stream begins with its sequence header").push(part),
        }
    }
    pictures
}

/// Sets a field of a header, at so many bits behind the start of its start code.
fn set(part: &mut [u8], at: usize, bits: usize, value: u128) {
    for bit in 0..bits {
        let (byte, mask) = ((at + bit) / 8, 0x80 >> ((at + bit) % 8));
        part[byte] = part[byte] & !mask | if value >> (bits - 1 - bit) & 1 == 1 { mask } else { 0 };
    }
}

fn is_picture_coding(part: &[u8]) -> bool {
    part[3] == 0xb5 && part[4] >> 4 == 8
}

/// The picture as the top field of frame 0 of a closed group.
fn intra_field(picture: &[Vec<u8>]) -> Vec<u8> {
    let field = picture.iter().map(|part| {
        let mut part = part.clone();
        match part[3] {
            // vertical_size_value; progressive_sequence; temporal_reference; closed_gop.
            0xb3 => set(&mut part, 44, 12, HEIGHT),
            0xb5 if part[4] >> 4 == 1 => set(&mut part, 44, 1, 0),
            0xb5 if is_picture_coding(&part) => make_field(&mut part, TOP),
            0x00 => set(&mut part, 32, 10, 0),
            0xb8 => set(&mut part, 57, 1, 1),
            _ => {}
        }
        part
    });
    field.flatten().collect()
}

/// Of the picture coding extension (6.2.3.1): the structure, and what is zero in field pictures (top_field_first,
/// frame_pred_frame_dct, repeat_first_field, chroma_420_type, progressive_frame).
fn make_field(extension: &mut [u8], structure: u128) {
    set(extension, 54, 2, structure);
    for flag in [56, 57, 63, 64, 65] {
        set(extension, flag, 1, 0);
    }
}

/// A P field in which each macroblock is that of the last field of parity `of`.
fn copied_field(picture: &[Vec<u8>], structure: u128, place: u128, of: u128) -> Vec<u8> {
    // temporal_reference, P, vbv_delay, vectors of MPEG-1 that are not used.
    let mut field = vec![0, 0, 1, 0];
    field.extend(bits(&format!("{place:010b}010{}01110", "1".repeat(16))));
    let mut extension = picture.iter().find(|part| is_picture_coding(part)).expect("it is MPEG-2").clone();
    make_field(&mut extension, structure);
    // f_code of 1: vectors of half a macroblock at most.
    set(&mut extension, 36, 8, 0x11);
    field.extend(extension);
    // Next macroblock; motion compensated, not coded; by field; of which parity; by nothing in either direction.
    let macroblock = format!("100101{}11", of - 1);
    for row in 1..=(HEIGHT / 32) as u8 {
        field.extend([0, 0, 1, row]);
        // quantiser_scale_code, and no extra_bit_slice.
        field.extend(bits(&format!("010000{}", macroblock.repeat(WIDTH / 16))));
    }
    field
}

fn bits(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes().chunks(8);
    let bit = |(at, &digit): (usize, &u8)| (digit - b'0') << (7 - at);
    bytes.map(|byte| byte.iter().enumerate().map(bit).sum()).collect()
}
