/// How a live stream keeps to the clock.
///
/// It cannot be sent sooner than it is made: one that stood still, lost frames or does not last as long as its frames
/// count has cost the viewer what no rate brings back. Frames are left out for what the *sending* is late by alone, so the
/// viewer counts as so far behind what was just made as in the beginning, whatever the clock says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    /// Seconds of the stream between what is made and what would be shown, had the player not waited.
    distance: f64,
    /// The stream has come further since the first packet left.
    is_known: bool,
    behind: f64,
}

impl Live {
    /// The stream is made up to there, so many seconds after the first packet left; `None` before that.
    pub(super) fn come_to(before: Option<Self>, made: f64, passed: Option<f64>) -> Self {
        match (before, passed) {
            (Some(live), Some(passed)) if live.is_known => Self { behind: live.distance - (made - passed), ..live },
            // The first packet left some time after what it is of was made.
            (Some(live), Some(passed)) => {
                let distance = live.distance.max(made - passed);
                Self { distance, is_known: true, behind: distance - (made - passed) }
            }
            (_, passed) => Self { distance: made - passed.unwrap_or(0.0), is_known: false, behind: 0.0 },
        }
    }

    /// Seconds by which the stream fell behind the clock since the first packet left; below zero where it came sooner.
    pub(super) fn behind(self) -> f64 {
        self.behind
    }
}
