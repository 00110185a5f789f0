//! The plan of a ladder as a flow of a scenario has it: where the stream is, and not what time it is.

use std::time::Duration;

use bytes::Bytes;
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{PlanStep, StoredPlan, write};
use framewire_session::LadderContent;
use framewire_units::Bitrate;

const RATE: FrameRate = FrameRate { numerator: 25, denominator: 1 };

/// Frames of 1,000 bytes; the plan sends 25 of them in the first two seconds, and the rest ten times as fast.
fn content() -> LadderContent {
    let ladder = Ladder::new(vec![Level::of_sizes(RATE, 5, &[1_000; 100]).unwrap()]).unwrap();
    let step = |seconds, kbps| PlanStep { start: Duration::from_secs(seconds), rate: Bitrate::from_kbps(kbps) };
    let plan = StoredPlan { levels: vec![vec![step(0, 100), step(2, 1_000)]], ..StoredPlan::default() };
    let mut bytes = Vec::new();
    write(&ladder, Some(&plan), 512, &mut bytes).unwrap();
    LadderContent::open(Bytes::from(bytes)).unwrap()
}

/// Frame 25 begins after a second of the movie, and is sent after two by the plan. A session that is ahead of the plan, or
/// behind it, asks by the frame.
#[test]
fn the_rate_changes_with_the_frame_and_not_with_the_time() {
    let content = content();
    let (plan, source) = (content.plan(), content.source());
    let rate = |frame: u32| plan.rate_at(0, source.time_of(frame)).as_bps() / 1_000;
    let rates: Vec<_> = (0..100).map(rate).collect();
    assert_eq!(rates, [[100; 25].as_slice(), &[1_000; 75]].concat());
}
