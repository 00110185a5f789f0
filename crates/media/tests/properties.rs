//! What holds for every stream: how it is cut does not matter, frames tile it, nothing makes the scanner fail.

use crate::support;
use bytes::Bytes;
use framewire_media::{CodedFrame, FrameIndex, Movie, ScanError, ScanSummary, Scanner};
use proptest::prelude::*;
use support::{Stream, lab_group};

fn scan_in_chunks(stream: &[u8], sizes: &[usize]) -> (Vec<CodedFrame>, Result<ScanSummary, ScanError>) {
    let (mut scanner, mut frames, mut rest) = (Scanner::new(), Vec::new(), stream);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).min(rest.len()));
        scanner.feed(chunk, &mut |frame| frames.push(frame));
        rest = after;
    }
    let summary = scanner.finish(&mut |frame| frames.push(frame));
    (frames, summary)
}

fn scan(stream: &[u8]) -> (Vec<CodedFrame>, Result<ScanSummary, ScanError>) {
    scan_in_chunks(stream, &[stream.len().max(1)])
}

/// Checks everything that must hold whatever the bytes are.
fn check(stream: &[u8]) {
    let (frames, summary) = scan(stream);
    assert_eq!(summary.is_ok(), !frames.is_empty());
    if let Some(first) = frames.first() {
        let end = frames.iter().fold(first.offset, |next, frame| {
            assert_eq!(frame.offset, next);
            // A picture start code and a slice start code at least: so the index is bounded by the stream.
            assert!(frame.size >= 8);
            frame.offset + frame.size
        });
        assert_eq!(end, stream.len() as u64);
    }
    let Ok(movie) = Movie::parse(Bytes::copy_from_slice(stream)) else { return };
    let count = movie.index.frames.len();
    assert_eq!(count, frames.len());
    let mut shown: Vec<_> = movie.index.frames.iter().map(|frame| frame.display_index as usize).collect();
    shown.sort_unstable();
    assert_eq!(shown, (0..count).collect::<Vec<_>>());
    for (number, frame) in movie.index.frames.iter().enumerate() {
        assert!(frame.references.len() <= 2 && frame.references.iter().all(|&other| other < frame.decode_index));
        assert_eq!(movie.frame_bytes(number).len(), frame.size as usize);
    }
    assert!(movie.index.frames.is_sorted_by_key(|frame| (frame.decode_time, frame.gop)));
}

/// Bytes rich in start codes, headers and what may stand around them.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        prop::sample::select(vec![0x00, 0x01, 0x02, 0xaf, 0xb2, 0xb3, 0xb5, 0xb7, 0xb8, 0xba])
            .prop_map(|value| vec![0, 0, 1, value]),
        Just(Stream::default().sequence().bytes),
        Just(Stream::default().gop(false, false).bytes),
        Just(Stream::default().pictures("I2 B0").bytes),
        Just(vec![0; 3]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn lab_movie() -> Vec<u8> {
    lab_group(lab_group(Stream::default(), true), false).code(0xb7).bytes
}

proptest! {
    #[test]
    fn any_bytes_are_taken(stream in hostile_bytes()) {
        check(&stream);
    }

    #[test]
    fn flipped_bits_are_taken(flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..30)) {
        let mut stream = lab_movie();
        for (place, bit) in flips {
            let at = place.index(stream.len());
            stream[at] ^= 1 << bit;
        }
        check(&stream);
    }

    #[test]
    fn chunks_make_no_difference(stream in hostile_bytes(), sizes in prop::collection::vec(1..40usize, 1..8)) {
        prop_assert_eq!(scan_in_chunks(&stream, &sizes), scan(&stream));
    }

    #[test]
    fn chunks_of_a_movie_make_no_difference(sizes in prop::collection::vec(1..200usize, 1..8)) {
        let stream = lab_movie();
        prop_assert_eq!(scan_in_chunks(&stream, &sizes), scan(&stream));
    }
}

/// Frames of a cut stream are those of the whole one; the last may be shorter, or want its second field.
fn assert_prefix(whole: &[CodedFrame], cut: &[u8]) {
    let (frames, _) = scan(cut);
    assert!(frames.len() <= whole.len());
    let Some((last, before)) = frames.split_last() else { return };
    assert_eq!(before, &whole[..before.len()]);
    let full = &whole[before.len()];
    assert_eq!((last.offset, last.kind, last.temporal_reference), (full.offset, full.kind, full.temporal_reference));
    assert_eq!(last.offset + last.size, cut.len() as u64);
}

#[test]
fn a_stream_cut_at_any_byte_gives_a_prefix() {
    let stream = lab_movie();
    let (whole, _) = scan(&stream);
    assert_eq!(whole.len(), 28);
    (0..stream.len()).for_each(|end| assert_prefix(&whole, &stream[..end]));
}

#[test]
fn real_streams_cut_and_damaged() {
    let Some(folder) = support::generated_streams() else { return };
    let stream = std::fs::read(folder.join("m2v_720x576p25_open_gop.m2v")).unwrap();
    let (whole, _) = scan(&stream);
    for end in (0..stream.len()).step_by(7919) {
        assert_prefix(&whole, &stream[..end]);
        let mut damaged = stream.clone();
        damaged[end] ^= 0x55;
        damaged[end / 2] = 0;
        check(&damaged);
        let from_middle = FrameIndex::scan(&stream[end..]).map_or(0, |index| index.frames.len());
        assert!(from_middle <= whole.len());
    }
}
