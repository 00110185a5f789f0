//! Movies of MPEG-4 part 2: access units, display order and frame rate beside ffprobe, in any chunks, and by hand.

use crate::access_units_mpeg4::{group, layer, layer_of, vop, vop_with};
use crate::support;
use framewire_media::access_unit::{Codec, KeyKind};
use framewire_media::{CodedFrame, FrameIndex, FrameRate, Movie, ScanError, Scanner};
use proptest::prelude::*;
use support::ffmpeg;

const HZ_25: FrameRate = FrameRate { numerator: 25, denominator: 1 };

/// Types in display order with their decode index: `"I0 B2 B3 P1"`.
fn shown(index: &FrameIndex) -> String {
    let mut frames: Vec<_> = index.frames.iter().collect();
    frames.sort_by_key(|frame| frame.display_index);
    frames.iter().map(|frame| format!("{}{}", frame.kind, frame.decode_index)).collect::<Vec<_>>().join(" ")
}

fn stream(vops: &str) -> Vec<u8> {
    let vops = vops.split_whitespace().map(|word| match word {
        "open" => group(false, false),
        "closed" => group(true, false),
        word => vop(word),
    });
    [layer(), vops.flatten().collect()].concat()
}

#[test]
fn access_units_order_and_rate_are_those_of_ffmpeg() {
    let cases = [
        ("plain", "mpeg4", "-g 12 -bf 2", (25, 1)),
        ("no-b", "mpeg4", "-g 10 -bf 0 -r 30000/1001", (30_000, 1_001)),
        ("partitions", "mpeg4", "-g 12 -bf 2 -data_partitioning 1 -ps 200 -flags +qpel", (25, 1)),
        ("xvid", "libxvid", "-g 12 -bf 2 -bsf:v mpeg4_unpack_bframes", (25, 1)),
    ];
    for (name, encoder, options, rate) in cases {
        if !ffmpeg::has_encoder(encoder) {
            continue;
        }
        let options = format!("-c:v {encoder} -pix_fmt yuv420p -q:v 4 {options} -f m4v");
        let path = ffmpeg::encode(&format!("movie-{name}.m4v"), "testsrc2=s=176x144:r=25:d=2", &options);
        let movie = Movie::open(std::fs::File::open(&path).unwrap()).unwrap();
        let FrameIndex { sequence, frames } = &*movie.index;
        assert_eq!((sequence.codec, sequence.width, sequence.height), (Codec::Mpeg4Part2, 176, 144), "{name}");
        assert_eq!((sequence.frame_rate.numerator, sequence.frame_rate.denominator), rate, "{name}");
        let ours: Vec<_> = frames.iter().map(|frame| (frame.offset as usize, frame.size as usize)).collect();
        let fields: &[&str] = &["pkt_pos", "pict_type"];
        let [packets, theirs] = ffmpeg::probe(&path, "m4v", [("packet", ffmpeg::PLACE), ("frame", fields)]);
        assert_eq!(ours, ffmpeg::places(&packets), "{name}: access units");
        let theirs: Vec<_> =
            theirs.iter().map(|row| (row["pkt_pos"].clone(), row["pict_type"].replace('S', "P"))).collect();
        let mut in_order: Vec<_> = frames.iter().collect();
        in_order.sort_by_key(|frame| frame.display_index);
        let ours: Vec<_> = in_order.iter().map(|frame| (frame.offset.to_string(), frame.kind.to_string())).collect();
        assert_eq!(ours, theirs, "{name}: display order and types");
        let keys = frames.iter().filter(|frame| frame.key.is_some()).count() as u32;
        assert_eq!((keys, frames[0].key.is_some()), (frames.last().unwrap().gop + 1, true), "{name}");
    }
}

#[test]
fn b_vops_are_shown_before_the_anchor_that_they_follow() {
    let index = FrameIndex::scan(&stream("closed I0 P3 B1 B2 open I6 B4 B5 P7")).unwrap();
    assert_eq!(shown(&index), "I0 B2 B3 P1 B5 B6 I4 P7");
    assert_eq!(index.sequence.frame_rate, HZ_25);
    let keys: Vec<_> = index.frames.iter().filter_map(|frame| frame.key).collect();
    assert_eq!(keys, [KeyKind::Closed, KeyKind::Open]);
    let references: Vec<_> = index.frames.iter().map(|frame| frame.references.to_vec()).collect();
    let expected: [&[u32]; 8] = [&[], &[0], &[0, 1], &[0, 1], &[], &[1, 4], &[1, 4], &[4]];
    assert_eq!(references, expected);
    assert_eq!(index.frames.iter().map(|frame| frame.gop).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert!(
        index
            .frames
            .iter()
            .all(|frame| frame.display_time == index.sequence.frame_rate.time_of(frame.display_index.into()))
    );
}

/// As concatenated files and recorders do whose clock is set.
#[test]
fn a_clock_that_goes_back_or_leaps_changes_no_order_and_no_rate() {
    let leap = [stream("I0 P1 P2 P3"), vop_with(1, 300, 4, true), vop("P5"), vop("P6"), vop("P7")].concat();
    let back = stream("closed I9 P12 B10 B11 P13 closed I0 P1 P2 P3 P4");
    for (name, bytes, order) in
        [("leaps", leap, "I0 P1 P2 P3 P4 P5 P6 P7"), ("goes back", back, "I0 B2 B3 P1 P4 I5 P6 P7 P8 P9")]
    {
        let index = FrameIndex::scan(&bytes).unwrap();
        assert_eq!((shown(&index).as_str(), index.sequence.frame_rate), (order, HZ_25), "{name}");
    }
}

#[test]
fn frames_tile_the_stream_from_the_first_layer_on() {
    let end = [0, 0, 1, 0xb1];
    let bytes = [&[9, 9, 0, 0, 1, 0xb0, 1], &stream("I0 P1")[..], &end].concat();
    let (index, summary) = FrameIndex::scan_with_summary(&bytes).unwrap();
    let first = index.frames[0].offset;
    assert_eq!((first, summary.damage.leading_bytes), (2, 2));
    assert_eq!(index.frames.iter().map(|frame| u64::from(frame.size)).sum::<u64>() + first, bytes.len() as u64);
    let damaged = [stream("I0 P1"), vop("P31"), vop("P3"), vec![0, 0, 1, 0xe0]].concat();
    let (index, summary) = FrameIndex::scan_with_summary(&damaged).unwrap();
    assert_eq!((index.frames.len(), summary.damage.bad_headers, summary.damage.foreign_codes), (4, 1, 1));
    assert!(index.frames[2].missing_reference, "what cannot be read cannot be decoded");
}

#[test]
fn what_is_no_movie_is_named() {
    let scan = |bytes: &[u8]| FrameIndex::scan(bytes).unwrap_err();
    let one = stream("I0");
    assert_eq!(scan(&one), ScanError::NoFrameRate { codec: Codec::Mpeg4Part2 });
    assert_eq!(Movie::parse_at(one.into(), Some(HZ_25)).unwrap().index.sequence.frame_rate, HZ_25);
    let layer = layer();
    assert_eq!(scan(&layer), ScanError::NoAccessUnit { codec: Codec::Mpeg4Part2, length: layer.len() as u64 });
    let without = [&[0, 0, 1, 0xb0, 1][..], &vop("I0"), &vop("P1")].concat();
    let error = scan(&without).to_string();
    assert!(error.contains("looks like MPEG-4 part 2 video"), "{error}");
    let fixed = [layer_of(1, None, 25), vop("I0"), vop("P0")].concat();
    assert_eq!(scan(&fixed), ScanError::NoFrameRate { codec: Codec::Mpeg4Part2 }, "two at one time");
}

proptest! {
    #[test]
    fn chunks_make_no_difference(chunk in 1usize..40, cut in 0usize..400, flip in any::<(usize, u8)>()) {
        let mut bytes = stream("closed I0 P3 B1 B2 open I6 B4 B5 P9 B7 B8 closed I0 P1");
        bytes.truncate(bytes.len().saturating_sub(cut % 60));
        let place = flip.0 % bytes.len();
        bytes[place] ^= flip.1;
        let scan = |chunk: usize| -> Vec<CodedFrame> {
            let (mut scanner, mut frames) = (Scanner::of(Codec::Mpeg4Part2).unwrap(), vec![]);
            bytes.chunks(chunk).for_each(|chunk| scanner.feed(chunk, &mut |frame| frames.push(frame)));
            _ = scanner.finish(&mut |frame| frames.push(frame));
            frames
        };
        prop_assert_eq!(scan(chunk), scan(bytes.len()));
    }
}
