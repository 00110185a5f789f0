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

    /// Of each frame of a level, in decode order, the rate of the step in which its first byte is sent; `sizes` are bytes. What
    /// is sent ahead of its time has its own rate there, and not that of the moment. Zeros where there is no plan.
    ///
    /// Rates are stored in whole bit/s, rounded up: by a border, up to an eighth of a byte more per second before it is sent
    /// than by the plan that was rounded. A frame that begins behind a border by less than that has the rate of the step
    /// before, as has the one that begins at it.
    ///
    /// # Panics
    /// When there is a plan and no such level.
    pub fn rates_of(&self, level: usize, sizes: impl Iterator<Item = u32>) -> Vec<Bitrate> {
        /// Bytes are whole, and places of a plan are not: a byte belongs to the step in which the most of it is sent.
        const HALF_A_BYTE: f64 = 0.5;
        let steps = if self.levels.is_empty() { &[][..] } else { self.levels[level].as_slice() };
        let (mut step, mut sent, mut first_byte) = (0, 0.0, 0.0);
        let mut rate = steps.first().map_or(Bitrate::default(), |step| step.rate);
        let rate_of = |size: u32| {
            while let [this, next, ..] = steps.get(step..).unwrap_or_default() {
                let until = sent + this.rate.as_bps() as f64 / 8.0 * (next.start - this.start).as_secs_f64();
                if until > first_byte + HALF_A_BYTE {
                    break;
                }
                // Nothing is sent in a step of no rate, and so no frame begins there.
                rate = if next.rate == Bitrate::default() { rate } else { next.rate };
                (step, sent) = (step + 1, until);
            }
            first_byte += f64::from(size);
            rate
        };
        sizes.map(rate_of).collect()
    }
}
