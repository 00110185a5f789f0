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

/// A scene in which nothing moves, and the same but for its P pictures.
const SCENES: [fn(u32) -> u32; 2] =
    [|frame| if (100..225).contains(&frame) { 7 } else { frame }, |frame| if frame % 50 == 0 { 7 } else { frame }];

#[test]
fn of_key_frames_that_are_alike_the_one_that_came_is_told_by_what_follows() {
    for scene in SCENES {
        for layout in [PLAIN, Layout { slices: 3, ..PLAIN }, Layout { order_bits: None, ..PLAIN }] {
            let all = frames(300, 50, layout, scene);
            for first in [100, 150, 200] {
                check(&all, &[(0..60, 0), (first..300, 60)]);
            }
            // Of a scene that ends before the group does.
            check(&all, &[(0..60, 0), (200..240, 60), (250..300, 100)]);
            check(&all, &[(0..300, 0)]);
        }
    }
}

/// Which fifty of the equal ones are missing cannot be known; what comes behind them is named.
#[test]
fn a_key_frame_that_gets_the_numbers_of_one_like_it_does_not_mislead_for_long() {
    for slices in [1, 3] {
        let still = 50..230;
        let all = frames(300, 50, Layout { slices, ..PLAIN }, |frame| if still.contains(&frame) { 7 } else { frame });
        for first in [100, 150, 200] {
            let sent = stream(&all, &[(0..50, 0), (first..300, 50)]);
            let log = search(&movie(&all), &sent.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<u8>>());
            let named = |frames: Vec<u32>| {
                let (alike, others): (Vec<u32>, Vec<u32>) = frames.into_iter().partition(|frame| still.contains(frame));
                (alike.len(), others)
            };
            assert_eq!(named(whole(&log)), named(sent.iter().map(|(frame, _)| *frame).collect()), "from {first}");
            assert_eq!(log.foreign_units, 0);
        }
    }
}

#[test]
fn where_nothing_tells_them_apart_there_are_as_few_gaps_as_can_be() {
    let still = frames(300, 50, PLAIN, |frame| frame.min(20));
    check(&still, &[(0..300, 0)]);
    // It ends with the movie, or early.
    check(&still, &[(0..60, 0), (250..300, 60)]);
    check(&still, &[(0..130, 0)]);
}

#[test]
fn pictures_that_stay_as_they_are_for_longer_than_ways_are_followed_are_named_in_order() {
    check(&frames(5_000, 10, PLAIN, |_| 7), &[(0..5_000, 0)]);
}

#[test]
fn what_is_left_of_a_frame_whose_beginning_is_lost_costs_no_other() {
    for slices in [2, 3] {
        let all = frames(100, 25, Layout { slices, ..PLAIN }, |frame| frame);
        let movie = movie(&all);
        let sent = stream(&all, &[(0..30, 0), (50..100, 30)]);
        for hurt in 51..100 {
            let bytes = sent.iter().flat_map(|(frame, bytes)| &bytes[if *frame == hurt { 40 } else { 0 }..]);
            let log = search(&movie, &bytes.copied().collect::<Vec<u8>>());
            let others: Vec<u32> = sent.iter().map(|(frame, _)| *frame).filter(|frame| *frame != hurt).collect();
            assert_eq!(whole(&log), others, "{slices} slices, the beginning of {hurt} lost");
        }
    }
}

#[test]
fn a_key_frame_without_its_first_slice_tells_what_was_added_all_the_same() {
    let all = frames(100, 25, Layout { slices: 3, ..PLAIN }, |frame| frame);
    let sent = stream(&all, &[(0..30, 0), (50..100, 30)]);
    let bytes = sent.iter().flat_map(|(frame, bytes)| {
        let slices: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..at + 5] == [0, 0, 0, 1, 0x41]).collect();
        if *frame == 50 { [&bytes[..slices[0]], &bytes[slices[1]..]].concat() } else { bytes.clone() }
    });
    let log = search(&movie(&all), &bytes.collect::<Vec<u8>>());
    let others: Vec<u32> = sent.iter().map(|(frame, _)| *frame).filter(|frame| *frame != 50).collect();
    assert_eq!((whole(&log), log.foreign_units), (others, 0));
    let part = log.frames.iter().find(|found| found.frame == 50).expect("two slices of it came");
    assert!((400..500).contains(&part.bytes), "{part:?}");
}
