//! Streams made of a movie, cut, damaged and mixed, are searched for its frames.

use bytes::Bytes;
use framewire_media::Movie;
use framewire_units::Timestamp;
use proptest::prelude::*;

use super::*;

const FRAMES: u32 = 12;
const SLICES: u8 = 6;

/// A movie of I and P frames with a few slices each, whose contents differ; with `still`, P frames have equal ones.
fn movie(still: bool) -> Movie {
    let mut bytes = Vec::new();
    for frame in 0..FRAMES {
        bytes.extend(frame_bytes(frame, still));
    }
    Movie::parse(Bytes::from(bytes)).expect("a movie")
}

fn frame_bytes(frame: u32, still: bool) -> Vec<u8> {
    let intra = frame.is_multiple_of(6);
    let mut bytes = Vec::new();
    if intra {
        // 352x288, 25 Hz (ISO/IEC 13818-2, 6.2.2.1), and a group header.
        bytes.extend([0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18]);
        bytes.extend([0, 0, 1, 0xb8, 0x00, 0x08, 0x00, 0x40]);
    }
    let kind: u8 = if intra { 1 } else { 2 };
    let reference = (frame % 6) as u8;
    // Temporal reference, coding type and a delay of 0xffff (6.2.3).
    bytes.extend([0, 0, 1, 0, reference >> 2, reference << 6 | kind << 3 | 7, 0xff, 0xf8 | kind]);
    for slice in 1..=SLICES {
        bytes.extend([0, 0, 1, slice, 0x13]);
        let content = if still && !intra { 0 } else { frame as u8 + 1 };
        bytes.extend((0..20 + slice).map(|at| 0x80 | (at ^ content)));
    }
    bytes
}

fn whole(log: &ContentLog) -> Vec<u32> {
    log.frames.iter().filter(|found| found.whole_at.is_some()).map(|found| found.frame).collect()
}

fn search(movie: &Movie, stream: &[u8], chunk: usize) -> ContentLog {
    let mut matcher = ContentMatcher::new(movie).expect("a codec with start codes");
    for (number, bytes) in stream.chunks(chunk.max(1)).enumerate() {
        matcher.handle_bytes(Timestamp::from_millis(number as u64), bytes);
    }
    matcher.finish()
}

#[test]
fn a_movie_is_read_once_for_all_matchers_of_a_plan() {
    let plan = crate::SendingPlan::new(movie(false), Timestamp::ZERO);
    let (one, later) = (plan.matcher().unwrap(), plan.starting_at(Timestamp::from_millis(5)).matcher().unwrap());
    assert!(Arc::ptr_eq(&one.matching.movie, &later.matching.movie));
    let found = [one, later].map(|mut matcher| {
        matcher.handle_bytes(Timestamp::ZERO, &plan.movie().to_bytes());
        whole(&matcher.finish())
    });
    assert_eq!(found, [(); 2].map(|()| (0..FRAMES).collect::<Vec<_>>()));
}

#[test]
fn a_stream_as_it_was_sent_has_every_frame() {
    let movie = movie(false);
    for chunk in [1, 7, 100, 100_000] {
        let log = search(&movie, &movie.to_bytes(), chunk);
        assert_eq!(whole(&log), (0..FRAMES).collect::<Vec<_>>(), "chunks of {chunk}");
        assert_eq!((log.foreign_units, log.bytes), (0, movie.to_bytes().len() as u64));
    }
}

#[test]
fn a_frame_has_come_with_its_last_byte() {
    let movie = movie(false);
    let log = search(&movie, &movie.to_bytes(), 1);
    for (found, entry) in log.frames.iter().zip(&movie.index.frames) {
        let last = entry.offset + u64::from(entry.size) - 1;
        assert_eq!(found.whole_at, Some(Timestamp::from_millis(last)), "one byte came per millisecond");
    }
    assert_eq!(log.first_byte, Some(Timestamp::ZERO));
}

#[test]
fn headers_and_zero_bytes_between_units_make_no_difference() {
    let movie = movie(false);
    let mut stream = vec![0xff; 50];
    for frame in 0..FRAMES {
        let bytes = frame_bytes(frame, false);
        // A sequence header before every frame, and zero bytes behind it.
        stream.extend([0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18]);
        stream.extend(bytes);
        stream.extend([0, 0, 0, 0]);
    }
    stream.extend([0, 0, 1, 0xb7]);
    assert_eq!(whole(&search(&movie, &stream, 64)), (0..FRAMES).collect::<Vec<_>>());
}

#[test]
fn a_frame_with_a_hole_is_not_whole_and_those_around_it_are() {
    let movie = movie(false);
    let entry = &movie.index.frames[3];
    let (start, end) = (entry.offset as usize, entry.offset as usize + entry.size as usize);
    // Without its beginning, its middle, its end, or all of it.
    for hole in [start..start + 40, start + 40..start + 60, end - 5..end, start..end] {
        let mut stream = movie.to_bytes().to_vec();
        let missing = hole.len();
        stream.drain(hole.clone());
        let log = search(&movie, &stream, 50);
        let others: Vec<u32> = (0..FRAMES).filter(|&frame| frame != 3).collect();
        assert_eq!(whole(&log), others, "{hole:?}");
        let part = log.frames.iter().find(|found| found.frame == 3);
        if missing == entry.size as usize {
            assert_eq!(part, None);
        } else {
            let bytes = part.expect("units of it came").bytes;
            assert!(bytes > 0 && bytes <= u64::from(entry.size) - missing as u64, "{hole:?}: {bytes}");
        }
    }
}

#[test]
fn equal_frames_are_told_by_their_order() {
    let movie = movie(true);
    assert_eq!(whole(&search(&movie, &movie.to_bytes(), 30)), (0..FRAMES).collect::<Vec<_>>());
    let again: Vec<u8> = [&movie.to_bytes()[..], &movie.to_bytes()[..]].concat();
    let log = search(&movie, &again, 30);
    assert_eq!(whole(&log), (0..FRAMES).collect::<Vec<_>>(), "a second time counts for nothing");
    assert!(log.foreign_units > 0);
}

#[test]
fn a_unit_without_an_end_does_not_fill_the_memory() {
    let movie = movie(false);
    let mut matcher = ContentMatcher::new(&movie).expect("a codec with start codes");
    matcher.handle_bytes(Timestamp::ZERO, &[0, 0, 1, 1]);
    for _ in 0..40 {
        matcher.handle_bytes(Timestamp::ZERO, &vec![7; 1 << 20]);
    }
    matcher.handle_bytes(Timestamp::ZERO, &movie.to_bytes());
    assert_eq!(matcher.whole_frames(), FRAMES - 1, "the last one is known at the end");
    assert_eq!(whole(&matcher.finish()), (0..FRAMES).collect::<Vec<_>>());
}

proptest! {
    /// Any frames left out, in any chunks: exactly the others are found.
    #[test]
    fn what_was_left_out_is_missing_and_nothing_else(kept in proptest::collection::vec(any::<bool>(), FRAMES as usize), chunk in 1usize..200) {
        let movie = movie(false);
        let wanted: Vec<u32> = (0..FRAMES).filter(|&frame| kept[frame as usize]).collect();
        let stream: Vec<u8> = wanted.iter().flat_map(|&frame| frame_bytes(frame, false)).collect();
        let log = search(&movie, &stream, chunk);
        prop_assert_eq!(whole(&log), wanted);
        prop_assert_eq!(log.foreign_units, 0);
    }

    /// Any byte changed: only the frame that it is in is not whole.
    #[test]
    fn a_changed_byte_costs_no_frame_but_its_own(at in 0usize..1_000, value in any::<u8>()) {
        let movie = movie(false);
        let at = at % movie.to_bytes().len();
        let mut stream = movie.to_bytes().to_vec();
        stream[at] = value;
        let hit = movie.index.frames.iter().rposition(|frame| frame.offset as usize <= at).expect("frames tile it") as u32;
        let found = whole(&search(&movie, &stream, 64));
        for frame in 0..FRAMES {
            prop_assert!(frame == hit || found.contains(&frame), "frame {} of byte {}", frame, at);
        }
    }

    #[test]
    fn any_bytes_are_searched_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..500), chunk in 1usize..50) {
        let log = search(&movie(false), &bytes, chunk);
        prop_assert_eq!(log.bytes, bytes.len() as u64);
    }
}
