//! The frame index of streams built for one point each.

use crate::support;
use std::time::Duration;

use bytes::Bytes;
use framewire_media::{FrameIndex, Movie, OtherFormat, PictureStructure, PictureType, ScanError, TimeCode};
use support::{Parity, Picture, Stream, lab_group};

fn index(stream: &Stream) -> FrameIndex {
    FrameIndex::scan(&stream.bytes).unwrap()
}

/// Types in display order with their decode index: `"I0 B2 B3 P1"`.
fn shown(index: &FrameIndex) -> String {
    let mut frames: Vec<_> = index.frames.iter().collect();
    frames.sort_by_key(|frame| frame.display_index);
    let words: Vec<_> = frames.iter().map(|frame| format!("{}{}", frame.kind, frame.decode_index)).collect();
    words.join(" ")
}

fn references(index: &FrameIndex) -> Vec<Vec<u32>> {
    index.frames.iter().map(|frame| frame.references.to_vec()).collect()
}

#[test]
fn headers_are_read() {
    let stream = Stream::default().sequence_with(4, true, (1, 2)).gop(true, true).pictures("I0");
    let index = index(&stream);
    let sequence = index.sequence;
    assert_eq!((sequence.width, sequence.height), (32, 32));
    // 30000/1001 Hz, extended by (1 + 1) / (2 + 1).
    assert_eq!((sequence.frame_rate.numerator, sequence.frame_rate.denominator), (20_000, 1001));
    assert_eq!((sequence.bit_rate, sequence.mpeg2, sequence.progressive), (Some(1_000_000), true, true));
    let gop = index.frames[0].gop_header.unwrap();
    assert_eq!(gop.time_code, TimeCode { drop_frame: false, hours: 1, minutes: 2, seconds: 3, pictures: 4 });
    assert!(gop.closed && gop.broken_link);
    let mpeg1 = FrameIndex::scan(&Stream::mpeg1().sequence().gop(true, false).pictures("I0").bytes).unwrap();
    assert!(!mpeg1.sequence.mpeg2 && mpeg1.sequence.progressive);
}

#[test]
fn display_order_crosses_open_groups() {
    let index = index(&lab_group(lab_group(Stream::default(), true), false));
    assert_eq!(
        shown(&index),
        "I0 B2 B3 P1 B5 B6 P4 B8 B9 P7 B11 B12 P10 B14 B15 I13 B17 B18 P16 B20 B21 P19 B23 B24 P22 B26 B27 P25"
    );
    let leading: Vec<_> = index.frames[13..17].iter().map(|frame| frame.references.to_vec()).collect();
    assert_eq!(leading, [vec![], vec![10, 13], vec![10, 13], vec![13]], "I, two leading B, P");
    assert_eq!(index.frames.iter().map(|frame| frame.gop).max(), Some(1));
    let times: Vec<_> = index.frames[..3].iter().map(|frame| frame.display_time.as_millis()).collect();
    assert_eq!(times, [0, 120, 40]);
    assert_eq!(index.frames[27].decode_time, Duration::from_millis(27 * 40));
}

#[test]
fn leading_b_pictures_of_a_closed_group_refer_forward_only() {
    let first = Stream::default().sequence().gop(true, false).pictures("I0 P2 B1");
    let closed = index(&first.clone().gop(true, false).pictures("I1 B0 P3 B2"));
    assert_eq!(references(&closed)[3..], [vec![], vec![3], vec![3], vec![3, 5]]);
    let open = index(&first.gop(false, false).pictures("I1 B0 P3 B2"));
    assert_eq!(references(&open)[3..], [vec![], vec![1, 3], vec![3], vec![3, 5]]);
}

#[test]
fn temporal_references_wrap() {
    let pictures: String = (0..700).map(|pair| format!("P{} B{} ", 2 * pair + 2, 2 * pair + 1)).collect();
    let stream = Stream::default().sequence().gop(true, false).pictures("I0").pictures(&pictures);
    let index = index(&stream);
    assert_eq!(index.frames.len(), 1401);
    for frame in &index.frames[1..] {
        let moved = if frame.kind == PictureType::P { frame.decode_index + 1 } else { frame.decode_index - 1 };
        assert_eq!(frame.display_index, moved);
        assert_eq!(u32::from(frame.temporal_reference), frame.display_index % 1024);
    }
}

#[test]
fn a_lost_gop_header_does_not_mix_two_groups() {
    let stream = Stream::default().sequence().gop(true, false).pictures("I0 P3 B1 B2").pictures("I2 B0 B1 P5 B3 B4");
    assert_eq!(shown(&index(&stream)), "I0 B2 B3 P1 B5 B6 I4 B8 B9 P7");
}

#[test]
fn repeated_fields_lengthen_the_display() {
    let film = |kind, reference, top_field_first, repeat_first_field| Picture {
        top_field_first,
        repeat_first_field,
        ..Picture::frame(kind, reference)
    };
    let pulldown = |progressive| {
        let stream = Stream::default().sequence_with(3, progressive, (0, 0)).gop(true, false);
        let stream = stream.picture(film(PictureType::I, 0, true, true)).picture(film(PictureType::P, 1, false, false));
        index(&stream.picture(film(PictureType::P, 2, false, true)).picture(film(PictureType::P, 3, true, false)))
    };
    let times = |index: FrameIndex| -> Vec<_> {
        index.frames.iter().map(|frame| (frame.display_time.as_millis(), frame.decode_time.as_millis())).collect()
    };
    assert_eq!(times(pulldown(false)), [(0, 0), (60, 60), (100, 100), (160, 160)], "3 : 2 : 3 fields of 20 ms");
    assert_eq!(times(pulldown(true)), [(0, 0), (120, 120), (160, 160), (240, 240)], "3 : 1 : 2 frames of 40 ms");
}

#[test]
fn fields_pair_only_with_their_own() {
    let top = |kind, reference| Picture::field(kind, reference, Parity::Top, false);
    let bottom = |kind, reference| Picture::field(kind, reference, Parity::Bottom, true);
    let start = || Stream::default().sequence().gop(true, false);
    let structures = |stream: Stream| -> Vec<_> {
        index(&stream).frames.iter().map(|frame| (frame.kind, frame.structure)).collect()
    };
    let single = PictureStructure::SingleField;
    use PictureType::{B, I, P};
    let i = start().picture(top(I, 0));
    let cases = [
        (i.clone().picture(bottom(P, 0)), vec![(I, PictureStructure::TopFieldFirst)]),
        (i.clone().picture(bottom(P, 1)), vec![(I, single), (P, single)]),
        (i.clone().picture(top(P, 0)), vec![(I, single), (P, single)]),
        (i.clone().picture(bottom(B, 0)), vec![(I, single), (B, single)]),
        (i.clone().gop(true, false).picture(bottom(P, 0)), vec![(I, single), (P, single)]),
        (i.clone().code(0xb7).picture(bottom(P, 0)), vec![(I, single), (P, single)]),
        (i.clone().pictures("P0"), vec![(I, single), (P, PictureStructure::Frame)]),
        (
            i.clone().picture(bottom(I, 0)).picture(bottom(P, 0)),
            vec![(I, PictureStructure::TopFieldFirst), (P, single)],
        ),
    ];
    for (number, (stream, expected)) in cases.into_iter().enumerate() {
        assert_eq!(structures(stream), expected, "case {number}");
    }
}

#[test]
fn frames_tile_the_stream_from_the_first_sequence_header() {
    let junk = [1, 2, 3, 0, 0, 1, 0x07, 9, 9, 0, 0, 1, 0x00, 0xff];
    let stream = lab_group(lab_group(Stream::default().raw(&junk), true), false).code(0xb7).raw(&[0, 0, 0]);
    let movie = Movie::parse(Bytes::from(stream.bytes.clone())).unwrap();
    assert_eq!(movie.index.frames[0].offset, junk.len() as u64);
    let frames: Vec<u8> = (0..movie.index.frames.len()).flat_map(|frame| movie.frame_bytes(frame)).collect();
    assert_eq!(frames, stream.bytes[junk.len()..]);
    let (_, summary) = FrameIndex::scan_with_summary(&stream.bytes).unwrap();
    assert_eq!(summary.damage.leading_bytes, junk.len() as u64);
    let last = movie.frame_bytes(27);
    assert!(last.starts_with(&[0, 0, 1, 0x00]) && last.ends_with(&[0, 0, 1, 0xb7, 0, 0, 0]));
    // Each group's first frame starts with its sequence header.
    assert!(movie.frame_bytes(13).starts_with(&[0, 0, 1, 0xb3]));
}

#[test]
fn a_frame_is_a_slice_of_the_movie_not_a_copy() {
    let bytes = Bytes::from(lab_group(Stream::default(), true).bytes);
    let movie = Movie::parse(bytes.clone()).unwrap();
    let frame = movie.frame_bytes(3);
    assert_eq!(frame.as_ptr(), bytes[movie.index.frames[3].offset as usize..].as_ptr());
}

#[test]
fn a_damaged_picture_header_costs_its_picture_only() {
    let good = Stream::default().sequence().gop(true, false).pictures("I0 P1");
    let bad = Picture::frame(PictureType::P, 2);
    let mut damaged = good.clone().picture(bad);
    // Coding type 7 is reserved (table 6-12).
    damaged.bytes[good.bytes.len() + 5] |= 0b0011_1000;
    let damaged = damaged.pictures("P3 P4");
    let (index, summary) = FrameIndex::scan_with_summary(&damaged.bytes).unwrap();
    let kept: Vec<_> = index.frames.iter().map(|frame| frame.temporal_reference).collect();
    assert_eq!(kept, [0, 1, 3, 4]);
    assert_eq!(index.frames[2].offset, good.bytes.len() as u64, "what is left of the lost picture goes with the next");
    assert_eq!((summary.damage.bad_headers, summary.damage.orphan_slices), (1, 2));
}

#[test]
fn the_second_sequence_header_serves_where_the_first_is_damaged() {
    let mut stream = Stream::default().sequence();
    stream.bytes[7] &= 0xf0;
    let bad = stream.bytes.len() as u64;
    assert_eq!(
        FrameIndex::scan(&stream.clone().gop(true, false).pictures("I0").bytes),
        Err(ScanError::InvalidSequence { offset: 0, field: "frame_rate_code", value: Some(0) })
    );
    let (index, summary) =
        FrameIndex::scan_with_summary(&stream.pictures("I0").sequence().gop(true, false).pictures("I0").bytes).unwrap();
    assert_eq!(index.frames.len(), 1);
    assert!(index.frames[0].offset > bad && summary.damage.leading_bytes == index.frames[0].offset);
}

#[test]
fn what_is_not_a_movie_is_said_clearly() {
    let message = |bytes: &[u8]| FrameIndex::scan(bytes).unwrap_err().to_string();
    assert!(message(b"").contains("empty"));
    assert!(message(b"no video at all").contains("15 bytes"));
    assert!(message(b"\0\0\0\x1cftypisom").contains("MP4"), "{}", message(b"\0\0\0\x1cftypisom"));
    let sequence = Stream::default().raw(b"junk").sequence();
    let length = sequence.bytes.len() as u64;
    assert_eq!(FrameIndex::scan(&sequence.bytes), Err(ScanError::NoPicture { offset: 4, length }));
    assert!(message(&sequence.bytes).contains("byte 4"));
    let h264 = FrameIndex::scan(b"\0\0\0\x01\x67\x42\xc0\x1e\0\0\x01\x65\x88").unwrap_err();
    assert_eq!(h264, ScanError::OtherFormat { format: OtherFormat::H264, offset: 1 });
    assert_eq!(FrameIndex::scan(b"\0\0\x01\xb3\x02"), {
        Err(ScanError::InvalidSequence { offset: 0, field: "sequence header", value: None })
    });
}

#[test]
fn a_stream_cut_before_a_slice_is_not_taken_for_h264() {
    let stream = Stream::default().code(0x05).raw(&[9, 9]).sequence().gop(true, false).pictures("I0");
    assert_eq!(index(&stream).frames.len(), 1);
}

#[test]
fn nal_units_without_parameter_sets_are_named() {
    for (head, format) in [([0, 0, 1, 0x65, 0x88], OtherFormat::H264), ([0, 0, 1, 0x40, 0x01], OtherFormat::H265)] {
        let error = FrameIndex::scan(&head).unwrap_err();
        assert_eq!(error, ScanError::OtherFormat { format, offset: 0 });
    }
}

#[test]
fn other_formats_at_hand_are_named() {
    let Some(folder) = support::generated_streams() else { return };
    for (name, format) in [
        ("../../video/bbb_1080p24_64s.mp4", OtherFormat::Mp4),
        ("../../pcap/generated/src.ts", OtherFormat::TransportStream),
    ] {
        let error = FrameIndex::scan(&std::fs::read(folder.join(name)).unwrap()).unwrap_err();
        assert!(matches!(error, ScanError::OtherFormat { format: found, .. } if found == format), "{name}: {error}");
    }
}

#[test]
fn group_headers_at_hand_are_read() {
    let Some(folder) = support::generated_streams() else { return };
    let groups = |name: &str| -> Vec<(bool, bool)> {
        let index = FrameIndex::scan(&std::fs::read(folder.join(name)).unwrap()).unwrap();
        index.frames.iter().filter_map(|frame| frame.gop_header).map(|gop| (gop.closed, gop.broken_link)).collect()
    };
    let open: Vec<_> = (1..=7).map(|group| (group == 1, false)).collect();
    assert_eq!(groups("m2v_720x576p25_open_gop.m2v"), open);
    let broken: Vec<_> = (1..=7).map(|group| (group == 1, group == 3 || group == 5)).collect();
    assert_eq!(groups("m2v_720x576p25_open_gop_broken_link_gop3_gop5.m2v"), broken);
    assert!(groups("m2v_720x576p25_closed_gop.m2v").iter().all(|&(closed, _)| closed));
}
