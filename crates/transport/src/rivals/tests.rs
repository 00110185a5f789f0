//! What their documentation says, step by step.

use framewire_units::{DataSize, Duration};

use crate::decisions::{Outcome, Step, play, steps};
use crate::limits::Limits;
use crate::queue::QueueKind;
use crate::rivals::Thresholds;

/// Frames of 40 ms.
fn outcome(kind: QueueKind, text: &str) -> Outcome {
    play(kind, steps(text).expect("the notation is known"))
}

fn given_up(outcome: &Outcome) -> Vec<u32> {
    outcome.given_up.iter().map(|(frame, _)| *frame).collect()
}

#[test]
fn a_leaky_queue_throws_away_the_oldest_whatever_they_are() {
    let leaky = |limits| outcome(QueueKind::Leaky(limits), "IPBBPBB");
    let frames = leaky(Limits { frames: Some(4), ..Limits::default() });
    assert_eq!((given_up(&frames), frames.taken), (vec![0, 1, 2], vec![3, 4, 5, 6]));
    // A new frame comes in on top of what fills the queue: 120 ms wait, and the last one makes 160 ms of it.
    let time = leaky(Limits::of_time(Duration::from_millis(130)));
    assert_eq!(time.taken, [3, 4, 5, 6]);
    let all = leaky(Limits { bytes: Some(DataSize::from_bytes(1_000_000)), ..Limits::default() });
    assert_eq!(given_up(&all), []);
}

#[test]
fn recovery_moves_on_to_the_oldest_key_frame_within_the_soft_limit() {
    let keyframe = |text| outcome(QueueKind::Keyframe(Limits::of_time(Duration::from_millis(160))), text);
    let one_group = keyframe("I P P P P P I P");
    // The fifth frame is one too many and no key frame is near: everything goes, and decoding breaks.
    assert_eq!(given_up(&one_group), [0, 1, 2, 3, 4]);
    assert_eq!(one_group.taken, [5, 6, 7]);
    let two_groups = keyframe("I P I P I");
    assert_eq!((given_up(&two_groups), two_groups.taken), (vec![0, 1], vec![2, 3, 4]));
    assert_eq!(given_up(&keyframe("I P P P")), []);
}

#[test]
fn obs_throws_out_b_frames_above_one_threshold_and_all_but_key_frames_above_the_other() {
    let thresholds = Thresholds { low: Duration::from_millis(200), high: Duration::from_millis(400) };
    let obs = |text| outcome(QueueKind::Obs(thresholds), text);
    // Frames 0 to 6 span 240 ms when the next B comes: all B frames go, and it is refused; the P is let in.
    let low = obs("I P B B P B B B P");
    assert_eq!((given_up(&low), low.taken), (vec![2, 3, 5, 6, 7], vec![0, 1, 4, 8]));
    // P frames are let in until 400 ms are exceeded; then only the next I is.
    let high = obs("I P P P P P P P P P P P P I P");
    assert_eq!(high.taken, [0, 13, 14]);
    // Fewer than five packets are never looked at.
    assert_eq!(given_up(&obs("I P B B / / / B B B P")), []);
}

#[test]
fn the_threshold_of_b_frames_in_obs_follows_that_of_p_frames() {
    assert_eq!(Thresholds::of_time(Duration::from_millis(900)), Thresholds::DEFAULT);
    let half = Limits::of_time(Duration::from_millis(450));
    let low = Duration::from_millis(350);
    let high = Duration::from_millis(450);
    assert_eq!(QueueKind::Obs(Thresholds::DEFAULT).with_limits(half), QueueKind::Obs(Thresholds { low, high }));
    let unlimited = QueueKind::Obs(Thresholds::DEFAULT).with_limits(Limits::default());
    assert_eq!(unlimited, QueueKind::Obs(Thresholds::DEFAULT));
}

#[test]
fn with_room_none_gives_up_anything() {
    let limits = Limits::of_time(Duration::from_secs(1));
    for kind in [QueueKind::Leaky(limits), QueueKind::Keyframe(limits), QueueKind::Obs(Thresholds::DEFAULT)] {
        let frames = steps("I/ P/ B/ B/ P/ B/ B/ I/ B/ B/").unwrap();
        let offered = frames.iter().filter(|step| matches!(step, Step::Offer(_))).count();
        let outcome = play(kind, frames);
        assert_eq!((outcome.taken.len(), outcome.given_up.len()), (offered, 0), "{kind:?}");
    }
}
