use std::time::Duration;

use bytes::Bytes;
use framewire_units::{Bitrate, DataSize};

use super::*;

const RATE: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };

fn sizes(sizes: &[u32]) -> Level {
    Level::of_sizes(RATE, 4, sizes).unwrap()
}

#[test]
fn a_ladder_of_sizes() {
    let ladder =
        Ladder::new(vec![sizes(&[400, 100, 100, 100, 400, 100]), sizes(&[800, 200, 200, 200, 900, 300])]).unwrap();
    assert_eq!((ladder.level_count(), ladder.frame_count()), (2, 6));
    assert_eq!(ladder.size(1), DataSize::from_bytes(2_600));
    // 2,600 bytes in 6 x 1,001/24,000 s.
    assert_eq!(ladder.mean_rate(1), Bitrate::from_bps(83_117));
    assert_eq!(ladder.duration(), Duration::from_nanos(250_250_000));
    assert_eq!(ladder.frame_duration(), Duration::from_nanos(41_708_333));
    assert_eq!((0..6).filter(|&frame| ladder.is_switch_point(frame)).collect::<Vec<_>>(), [0, 4]);
    assert_eq!(ladder.frame_bytes(1, 4).unwrap(), Bytes::from_static(&[0; 900]));
    assert_eq!(ladder.display_time(5), RATE.time_of(5));
}

#[test]
fn levels_that_do_not_belong_together() {
    let low = || sizes(&[400, 100, 100, 100]);
    let refused = |level| Ladder::new(vec![low(), level]).unwrap_err();
    assert_eq!(
        refused(sizes(&[800, 200, 200])),
        LadderError::FrameCount { level: 1, frames: 3, first: 4, departs: None }
    );
    assert!(matches!(refused(low()), LadderError::Order { level: 1, .. }));
    let other_keys = Level::of_sizes(RATE, 3, &[800, 200, 200, 200]).unwrap();
    assert_eq!(refused(other_keys), LadderError::Pattern { level: 1, frame: 3, difference: Difference::KeyHere });
    let other_rate = Level::of_sizes(FrameRate { numerator: 25, denominator: 1 }, 4, &[800, 200, 200, 200]).unwrap();
    assert!(matches!(refused(other_rate), LadderError::FrameRate { level: 1, .. }));
    assert_eq!(Ladder::new(vec![]).unwrap_err(), LadderError::LevelCount { count: 0 });
    let many = (0..=MAX_LEVELS as u32).map(|number| sizes(&[400 + number])).collect();
    assert_eq!(Ladder::new(many).unwrap_err(), LadderError::LevelCount { count: MAX_LEVELS + 1 });
}

#[test]
fn key_frames_are_of_one_kind() {
    let kinds = [KeyKind::Closed, KeyKind::Open, KeyKind::BrokenLink];
    let level = |size: u32, key| sizes(&[4 * size, size, size, size, 4 * size, size]).with_key(4, key);
    for (low, high) in kinds.into_iter().flat_map(|low| kinds.map(|high| (low, high))) {
        let ladder = Ladder::new(vec![level(100, low), level(200, high)]);
        if low == high {
            assert_eq!(ladder.unwrap().is_switch_point(4), low == KeyKind::Closed);
        } else {
            let refused = LadderError::Pattern { level: 1, frame: 4, difference: Difference::KeyKind };
            assert_eq!(ladder.unwrap_err(), refused, "{low:?} and {high:?}");
        }
    }
}

#[test]
fn what_is_refused_says_which_frame_of_which_level() {
    let longer = Level::of_sizes(RATE, 2, &[800, 200, 200, 200, 200]).unwrap();
    let text = Ladder::new(vec![sizes(&[400, 100, 100, 100]), longer]).unwrap_err().to_string();
    assert_eq!(
        text,
        "level 1 has 5 frames, level 0 has 4 (the first frame to differ is 2, a key frame, which it is not in level 0): \
         an encoder that skips frames makes no ladder"
    );
}

#[test]
fn sizes_that_are_no_level() {
    assert!(Level::of_sizes(RATE, 4, &[]).is_err());
    assert!(Level::of_sizes(RATE, 4, &[1, 0]).is_err());
    assert!(Level::of_sizes(RATE, 0, &[1]).is_err());
    assert!(Level::of_sizes(FrameRate { numerator: 0, denominator: 1 }, 1, &[1]).is_err());
}
