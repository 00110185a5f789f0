//! The plan that a streaming file carries, level by level.

use std::time::Duration;

use framewire_units::{Bitrate, DataSize};

/// From when on a level is to be sent at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// Since the first byte was sent.
    pub start: Duration,
    /// Bytes of video per time, without headers.
    pub rate: Bitrate,
}

/// How fast each level is to be sent, as it was planned when the file was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPlan {
    /// What a client has to be able to hold (b_min, equation 5); zero where there is no plan.
    pub client_buffer: DataSize,
    /// How long after the first byte the player was planned to take the first frame.
    pub startup: Duration,
    /// Steps of each level, lowest level first, ascending in time; no step where there is no plan.
    pub levels: Vec<Vec<PlanStep>>,
}

impl StoredPlan {
    /// The planned rate of a level at a time; zero where there is no plan or no such level, and after its end.
    pub fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
        let steps = self.levels.get(level).map_or(&[][..], Vec::as_slice);
        let begun = steps.partition_point(|step| step.start <= at);
        begun.checked_sub(1).map_or(Bitrate::default(), |step| steps[step].rate)
    }

    /// As [`rate_at`](Self::rate_at), but the last rate above zero goes on where the plan has ended: who still sends is
    /// behind it.
    pub fn rate_for(&self, level: usize, at: Duration) -> Bitrate {
        match self.rate_at(level, at) {
            rate if rate > Bitrate::default() => rate,
            none => {
                let steps = self.levels.get(level).map_or(&[][..], Vec::as_slice);
                let past = steps.iter().rev().filter(|step| step.start <= at).map(|step| step.rate);
                past.into_iter().find(|&rate| rate > Bitrate::default()).unwrap_or(none)
            }
        }
    }

    /// The rate of a record: what does not fit its four bytes is the most they can say.
    pub(super) fn field_at(&self, level: usize, at: Duration) -> u32 {
        u32::try_from(self.rate_for(level, at).as_bps()).unwrap_or(u32::MAX)
    }
}
