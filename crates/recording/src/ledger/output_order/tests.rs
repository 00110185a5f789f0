//! What a decoder shows, by place and display order.

use framewire_media::picture_order::Entry;

use super::*;

/// The frames that are not shown in order, of pictures with these places in display order; the display order of the
/// whole movie is that of `display`.
fn misplaced(reordered: u8, pictures: &[(i64, u32)]) -> Vec<u32> {
    let mut order = OutputOrder::default();
    let pictures = (0..).zip(pictures).map(|(frame, &(place, display))| Picture {
        frame,
        place,
        begins_sequence: place == 0,
        follows_made_up: false,
        lists_made_up: false,
        rule: OutputRule::H264 { reordered: Some(reordered), entry: Entry::Inside },
        is_b: false,
        recovers: true,
        display,
        is_right: true,
    });
    let mut misplaced: Vec<_> = pictures.flat_map(|picture| order.take(picture)).collect();
    misplaced.extend(order.finish());
    misplaced.iter().map(|picture| picture.frame).collect()
}

#[test]
fn pictures_in_order_are_shown() {
    assert_eq!(misplaced(2, &[(0, 0), (8, 4), (4, 2), (2, 1), (6, 3), (16, 8), (12, 6)]), []);
    assert_eq!(misplaced(0, &[(0, 0), (2, 1), (4, 2), (0, 3), (2, 4)]), []);
}

#[test]
fn what_is_placed_before_the_picture_shown_last_is_passed_over() {
    // Behind the gap places are 32 too early: 48 is taken for 16, 52 for 20, and those of 54 on catch up.
    assert_eq!(misplaced(0, &[(0, 0), (20, 10), (16, 24), (18, 25), (20, 26), (22, 27)]), [2, 3]);
}

#[test]
fn what_was_held_back_comes_behind_pictures_that_are_placed_before_it() {
    // 20 is held back when the gap comes; 18, which is shown first, belongs behind it.
    assert_eq!(misplaced(1, &[(0, 0), (16, 8), (20, 10), (18, 25), (22, 27), (24, 28)]), [2]);
}

#[test]
fn a_sequence_ends_what_was_held_back() {
    assert_eq!(misplaced(2, &[(0, 0), (8, 4), (4, 2), (0, 5), (8, 9), (4, 7)]), []);
}

#[test]
fn order_begins_anew_with_a_picture_before_the_latest_sixteen() {
    let behind = |first: i64| {
        let before = (0..20).map(|frame| (2 * i64::from(frame), frame));
        let behind = (0..5).map(|frame| (first + 2 * i64::from(frame), 40 + frame));
        misplaced(0, &before.chain(behind).collect::<Vec<_>>())
    };
    // The latest sixteen are those of 8 to 38.
    assert_eq!(behind(6), [0; 0]);
    assert_eq!(behind(8), [20, 21, 22, 23, 24]);
    assert_eq!(behind(32), [20, 21, 22]);
}

#[test]
fn a_picture_that_is_damaged_moves_none_behind_it() {
    let mut order = OutputOrder::default();
    let picture = |frame: u32, place: i64, display: u32, is_right: bool| Picture {
        frame,
        place,
        begins_sequence: frame == 0,
        follows_made_up: false,
        lists_made_up: false,
        rule: OutputRule::H264 { reordered: Some(1), entry: Entry::Inside },
        is_b: false,
        recovers: true,
        display,
        is_right,
    };
    let taken = [picture(0, 0, 0, true), picture(1, 20, 10, true), picture(2, 18, 25, false)];
    assert!(taken.into_iter().all(|picture| order.take(picture).is_empty()));
    assert!(order.finish().is_empty());
}

/// The frames that are not shown in order of pictures at these places, of a stream of H.265 that has as many reordered. Each
/// comes with what its set of references keeps.
fn misplaced_h265(reordered: u8, pictures: &[(i64, u32, Entry)], keeps: u64) -> Vec<u32> {
    let mut order = OutputOrder::default();
    let mut misplaced = vec![];
    for (frame, &(place, display, entry)) in (0..).zip(pictures) {
        let rule = OutputRule::H265 { reordered, entry, keeps };
        let begins_sequence = entry == Entry::Closed;
        if order.leaves_out(rule, begins_sequence, place) {
            misplaced.push(frame);
            continue;
        }
        let is_right = true;
        let picture = Picture { rule, begins_sequence, place, display, frame, is_right, ..PICTURE };
        misplaced.extend(order.take(picture).iter().map(|picture| picture.frame));
    }
    misplaced.extend(order.finish().iter().map(|picture| picture.frame));
    misplaced
}

const PICTURE: Picture = Picture {
    frame: 0,
    place: 0,
    begins_sequence: false,
    follows_made_up: false,
    lists_made_up: false,
    rule: OutputRule::H264 { reordered: None, entry: Entry::Inside },
    is_b: false,
    recovers: true,
    display: 0,
    is_right: true,
};

#[test]
fn a_decoder_of_h265_passes_over_no_picture_for_its_place() {
    use Entry::{Closed, Inside};
    let (first, held) = ((0, 0, Closed), (20, 10, Inside));
    // What comes behind a gap is placed before it, and shown when it comes; what was held back, behind it.
    assert_eq!(misplaced_h265(1, &[first, held, (-8, 40, Inside), (-4, 42, Inside)], 0), [1]);
    assert_eq!(misplaced_h265(1, &[first, held, (-4, 42, Inside), (-8, 40, Inside), (0, 44, Inside)], 0), [3, 1]);
    // A sequence ends what is held back.
    assert_eq!(misplaced_h265(2, &[first, held, (8, 9, Inside), (0, 50, Closed), (4, 51, Inside)], 0), [0; 0]);
}

#[test]
fn a_decoder_of_h265_does_not_decode_a_second_picture_at_a_place() {
    use Entry::{Closed, Inside};
    let pictures = [(0, 0, Closed), (8, 4, Inside), (4, 2, Inside), (8, 40, Inside)];
    assert_eq!(misplaced_h265(2, &pictures, 0), [3], "held back");
    assert_eq!(misplaced_h265(0, &pictures, 0), [2], "shown, and then the other");
    let keeps_next = 1 << (32 + 3);
    assert_eq!(misplaced_h265(0, &pictures, keeps_next), [2, 3], "kept with the one at 4");
    let sequences = [(0, 0, Closed), (8, 4, Inside), (0, 5, Closed), (8, 9, Inside)];
    assert_eq!(misplaced_h265(2, &sequences, 0), [0; 0], "another sequence");
}

#[test]
fn rasl_pictures_are_skipped_behind_the_picture_with_which_decoding_begins() {
    use Entry::{Closed, Inside, Open, Skipped, SkippedReference};
    assert_eq!(
        misplaced_h265(0, &[(8, 4, Open), (4, 2, SkippedReference), (2, 1, Skipped), (12, 6, Inside)], 0),
        [1, 2]
    );
    // Behind a gap they are placed before that picture, but not when one of them was seen behind it.
    let seen = [(8, 4, Open), (16, 8, Open), (12, 9, SkippedReference), (0, 10, Open), (-4, 11, Skipped)];
    assert_eq!(misplaced_h265(0, &seen, 0), [0; 0]);
    assert_eq!(misplaced_h265(0, &[seen[0], seen[1], (0, 10, Open), (-4, 11, Skipped)], 0), [3]);
    assert_eq!(misplaced_h265(0, &[(0, 0, Closed), (16, 8, Open), (0, 10, Open), (-4, 11, Skipped)], 0), [0; 0]);
}

#[test]
fn where_it_is_not_stated_how_many_are_reordered_the_first_pictures_tell_it() {
    let misplaced = |pictures: &[(i64, u32)]| {
        let mut order = OutputOrder::default();
        let pictures = (0..).zip(pictures).map(|(frame, &(place, display))| {
            let is_b = frame % 2 == 0 && frame > 0;
            Picture { frame, place, display, is_b, begins_sequence: frame == 0, ..PICTURE }
        });
        let mut misplaced: Vec<_> = pictures.flat_map(|picture| order.take(picture)).collect();
        misplaced.extend(order.finish());
        misplaced.iter().map(|picture| picture.frame).collect::<Vec<_>>()
    };
    let pairs =
        |count: i64| (1..=count).flat_map(|pair| [(4 * pair, 2 * pair as u32), (4 * pair - 2, 2 * pair as u32 - 1)]);
    let one_back: Vec<_> = [(0, 0)].into_iter().chain(pairs(8)).collect();
    assert_eq!(misplaced(&one_back), [0; 0], "one is held back from the first on");
    // Two, but the first of them comes behind seven that are shown.
    let pyramid = [(44, 22), (40, 20), (38, 19), (42, 21)];
    let later: Vec<_> = one_back.iter().copied().chain([(36, 18)]).chain(pyramid).collect();
    assert_eq!(misplaced(&later), [20], "38 comes when 40 has been shown");
    let sooner: Vec<_> = [(0, 0), (8, 4), (4, 2), (2, 1), (6, 3), (16, 8), (12, 6), (10, 5), (14, 7)].to_vec();
    assert_eq!(misplaced(&sooner), [0; 0]);
}
