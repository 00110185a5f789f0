/// Seconds in a second by which a live stream that came sooner than it should is believed. It is less than what is sent above
/// the plan to catch up, so that an open path leaves no frame of a burst out, and more than any clock is off.
const BELIEF: f64 = 0.1;

/// How a live stream keeps to the clock.
///
/// It cannot be sent sooner than it is made: one that stood still, lost frames or does not last as long as its frames
/// count has cost the viewer what no rate brings back. Frames are left out for what the *sending* is late by alone, so the
/// viewer counts as so far behind what was just made as in the beginning, whatever the clock says. Where much comes at once,
/// the viewer follows in its own time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    /// Seconds of the stream between what is made and what would be shown, had the player not waited.
    distance: f64,
    /// The stream has come further since the first packet left.
    is_known: bool,
    /// Seconds after the first packet at which it last came further.
    last: f64,
    behind: f64,
}

impl Live {
    /// The stream is made up to there, so many seconds after the first packet left; `None` before that.
    pub(super) fn come_to(before: Option<Self>, made: f64, passed: Option<f64>) -> Self {
        let (Some(live), Some(passed)) = (before, passed) else {
            return Self { distance: made, is_known: false, last: 0.0, behind: 0.0 };
        };
        // The first packet left some time after what it is of was made.
        let distance = if live.is_known { live.distance } else { live.distance.max(made - passed) };
        let least = live.behind - BELIEF * (passed - live.last).max(0.0);
        Self { distance, is_known: true, last: passed, behind: (distance - (made - passed)).max(least) }
    }

    /// Seconds by which the stream fell behind the clock since the first packet left; below zero where it came sooner.
    pub(super) fn behind(self) -> f64 {
        self.behind
    }
}
