//! What of before a gap stands between a B picture of H.264 and its references in a decoder.

use std::num::NonZeroU32;

use framewire_media::held_references::{HeldReferences, ReferenceMarks};
use framewire_media::picture_order::{Entry, OutputRule, PictureNumbers, PictureOrder, ReceivedOrder};

/// The true count of a picture, its `frame_num`, and whether others refer to it.
type Picture = (i64, u16, bool);

const MARKS: ReferenceMarks =
    ReferenceMarks { max_frames: 4, by_order: (1, 1), unmarks: 0, gaps_allowed: false, listed: 0, named: 0 };

/// Low bits that distinguish 64 counts, and 16 frame numbers.
fn order((count, frame_num, is_base): Picture, marks: ReferenceMarks) -> PictureOrder {
    let numbers = PictureNumbers {
        frame_num,
        frame_num_bits: 4,
        order_bits: 6,
        frames_only: true,
        separate_colour_planes: false,
        restarts: false,
        recovers: false,
    };
    PictureOrder {
        count,
        turn: NonZeroU32::new(64),
        follows_frame_num: false,
        is_base,
        begins_sequence: count == 0,
        can_begin_sequence: false,
        numbers: Some(numbers),
        output: OutputRule::H264 { reordered: Some(1), entry: Entry::Inside },
        marks: Some(marks),
    }
}

/// A stream of four frames, the last of which is missing, and so many behind the gap: the first of them has this count and
/// number. Whether the picture after them, so many counts before the last of them, finds others before these two.
fn is_displaced((count, frame_num): (i64, u16), behind: u32, before: i64, marks: &[(u32, ReferenceMarks)]) -> bool {
    let reference = |number: u32| (count + 6 * i64::from(number), frame_num + number as u16, true);
    let last = (reference(behind - 1).0 - before, frame_num + behind as u16, false);
    let mut pictures: Vec<Picture> = vec![(0, 0, true), (6, 1, true), (12, 2, true), (40, 3, true)];
    pictures.extend((0..behind).map(reference));
    pictures.push(last);
    let (mut held, mut received) = (HeldReferences::default(), ReceivedOrder::default());
    let mut displaced = false;
    for (frame, picture) in (0u32..).zip(pictures) {
        let own = marks.iter().find(|(number, _)| *number == frame);
        let picture = order(picture, own.map_or(MARKS, |(_, marks)| *marks));
        if frame != 3 {
            let count = received.place(picture).count;
            displaced = held.is_displaced(picture, count, &[behind + 2, behind + 3]);
            held.take(frame, picture, count);
        }
    }
    displaced
}

#[test]
fn what_is_placed_among_pictures_behind_a_gap_displaces_their_references() {
    // 68 is taken for 4, and no gap is to be seen. Of 0, 6 and 12, which were there before, 6 is between 4 and 10.
    assert!(is_displaced((68, 3), 2, 4, &[]));
    // 12 is between 10 and 16, at the very place of the picture or before it; then it is pushed out.
    assert!(is_displaced((68, 3), 3, 4, &[]));
    assert!(is_displaced((68, 3), 3, 2, &[]));
    assert!(!is_displaced((68, 3), 4, 4, &[]));
    // 44 is less than half a turn behind 12.
    assert!(!is_displaced((44, 3), 2, 4, &[]));
}

#[test]
fn frames_that_a_gap_implies_take_places() {
    assert!(!is_displaced((68, 7), 2, 4, &[]), "numbers 3 to 6 pushed out all that was held");
}

#[test]
fn frames_that_a_gap_implies_are_placed_one_after_the_other() {
    assert!(is_displaced((68, 4), 3, 4, &[]), "3, which pushed out 12, is at 14, between 12 and 16");
    // Of 3 and 4, which 12 stands in for, at 14 and 16, the first is between 12 and 16.
    assert!(is_displaced((74, 5), 2, 4, &[]));
    assert!(!is_displaced((74, 5), 4, 4, &[]), "it was pushed out");
    assert!(!is_displaced((74, 7), 2, 4, &[]), "of 3 to 6, which are at 14 to 20, the last two are left");
}

#[test]
fn frames_that_a_gap_implies_are_given_up_by_their_numbers() {
    // Number 3 is at 14, and others are unmarked before it would be pushed out: number 8 is more than four behind it.
    let unmarking = |number, unmarks| (number, ReferenceMarks { unmarks, ..MARKS });
    let earlier = [unmarking(5, 0b1101), unmarking(6, 0b1)];
    let with = |last: ReferenceMarks| [earlier[0], earlier[1], (8, ReferenceMarks { unmarks: 0b10, ..last })];
    assert!(!is_displaced((74, 4), 5, 22, &with(MARKS)));
    let allowed = ReferenceMarks { gaps_allowed: true, ..MARKS };
    assert!(is_displaced((74, 4), 5, 22, &with(allowed)), "where the stream may have gaps it stays");
}

#[test]
fn of_two_pictures_with_one_number_the_older_is_given_up() {
    assert!(!is_displaced((68, 2), 3, 4, &[]), "of 6 and 12, it is the one that is between 10 and 16");
}

#[test]
fn each_list_is_looked_at_as_far_as_it_goes() {
    let lists = |number: u32, by_order: (u8, u8)| [(number, ReferenceMarks { by_order, ..MARKS })];
    // 4, 6, 10 and 12 are held, and the picture at 6 refers to 4 and 10: only the first list finds 6.
    assert!(is_displaced((68, 3), 2, 4, &lists(6, (1, 0))));
    assert!(!is_displaced((68, 3), 2, 4, &lists(6, (0, 1))));
    assert!(is_displaced((68, 3), 2, 4, &lists(6, (0, 2))), "it goes on with those before the picture");
    // That at 0 has all of them behind it: the second list begins with the second of them.
    assert!(!is_displaced((68, 3), 2, 10, &lists(6, (1, 0))));
    assert!(is_displaced((68, 3), 2, 10, &lists(6, (0, 1))));
}

#[test]
fn what_was_unmarked_or_need_not_be_looked_for_displaces_nothing() {
    let unmarking = |unmarks| [(4, ReferenceMarks { unmarks, ..MARKS })];
    assert!(!is_displaced((68, 3), 3, 4, &unmarking(0b1)), "12 has the number before it");
    assert!(is_displaced((68, 3), 3, 4, &unmarking(0b10)), "and 6 the one before that");
    let named = [(7, ReferenceMarks { by_order: (0, 0), ..MARKS })];
    assert!(!is_displaced((68, 3), 3, 4, &named), "its lists name all that is in them");
}
