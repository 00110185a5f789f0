//! A search for a movie's frames finds those of H.264 that a queue sent with other numbers, however they are numbered and
//! cut.

use std::ops::Range;

use crate::h264::{Frame, Kind, Layout, PLAIN, frames, movie};
use framewire_media::Movie;
use framewire_media::access_unit::Framing;
use framewire_media::picture_order::{Renumbering, renumber};
use framewire_session::{ContentLog, ContentMatcher};
use framewire_units::Timestamp;

/// Stretches of the movie, and the number since the IDR picture before it that the first frame of each is given.
type Stretches<'a> = &'a [(Range<u32>, u32)];

/// A frame as it is sent with the numbers of another one.
fn sent(movie: &Movie, frame: u32, by: i64) -> Vec<u8> {
    let bytes = movie.frame_bytes(frame as usize);
    if by == 0 {
        return bytes.into();
    }
    let order = movie.index.frames[frame as usize].picture_order.expect("it is H.264");
    let by = Renumbering { frame_num: by as u16, order: 2 * by };
    renumber(&bytes, Framing::ByteStream, order.numbers.expect("they can be changed"), by).expect("it has slices")
}

/// Of every frame that is sent, its number and its bytes.
fn stream(frames: &[Frame], stretches: Stretches<'_>) -> Vec<(u32, Vec<u8>)> {
    let movie = movie(frames);
    let one = |(range, first): &(Range<u32>, u32)| {
        let by = i64::from(*first) - i64::from(frames[range.start as usize].since_idr);
        range.clone().map(|frame| (frame, sent(&movie, frame, by))).collect::<Vec<_>>()
    };
    stretches.iter().flat_map(one).collect()
}

fn search(movie: &Movie, bytes: &[u8]) -> ContentLog {
    let mut matcher = ContentMatcher::new(movie).expect("it has start codes");
    bytes.chunks(1_000).for_each(|chunk| matcher.handle_bytes(Timestamp::ZERO, chunk));
    matcher.finish()
}

fn whole(log: &ContentLog) -> Vec<u32> {
    log.frames.iter().filter(|found| found.whole_at.is_some()).map(|found| found.frame).collect()
}

fn check(frames: &[Frame], stretches: Stretches<'_>) {
    let sent = stream(frames, stretches);
    let bytes: Vec<u8> = sent.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let log = search(&movie(frames), &bytes);
    assert_eq!(whole(&log), sent.iter().map(|(frame, _)| *frame).collect::<Vec<_>>());
    assert_eq!(log.foreign_units, 0);
    let moved = |(range, first): &(Range<u32>, u32)| {
        let by = first.wrapping_sub(frames[range.start as usize].since_idr);
        range.clone().map(move |frame| (frame, by)).filter(|(_, by)| *by != 0).collect::<Vec<_>>()
    };
    let moved: Vec<(u32, u32)> = stretches.iter().flat_map(moved).collect();
    assert_eq!(
        log.renumbered.keys().copied().collect::<Vec<_>>(),
        moved.iter().map(|(frame, _)| *frame).collect::<Vec<_>>()
    );
    for (frame, by) in moved {
        let bits = frames[frame as usize].layout.frame_num_bits;
        assert_eq!(u32::from(log.renumbered[&frame].frame_num), by & ((1 << bits) - 1), "frame {frame}");
    }
}

/// Two gaps, each before an open key frame.
const TWO_GAPS: Stretches<'_> = &[(0..30, 0), (50..80, 30), (125..150, 60)];

#[test]
fn in_any_layout() {
    for layout in [
        PLAIN,
        Layout { slices: 4, ..PLAIN },
        Layout { frame_num_bits: 5, order_bits: Some(6), ..PLAIN },
        Layout { order_bits: None, ..PLAIN },
    ] {
        check(&frames(150, 25, layout, |frame| frame), TWO_GAPS);
    }
}

#[test]
fn partitions_without_numbers_change_nothing() {
    for slices in [1, 3] {
        check(&frames(150, 25, Layout { partitions: true, slices, ..PLAIN }, |frame| frame), TWO_GAPS);
    }
}

#[test]
fn where_other_parameter_sets_begin_numbers_stand_elsewhere() {
    let others = Layout { frame_num_bits: 7, order_bits: Some(9), slices: 2, ..PLAIN };
    let mut all = frames(75, 25, PLAIN, |frame| frame);
    all.extend(frames(75, 25, others, |frame| 1_000 + frame));
    assert_eq!(all[75].kind, Kind::Idr);
    check(&all, &[(0..10, 0), (50..75, 10), (75..85, 0), (100..120, 10), (125..150, 30)]);
}
