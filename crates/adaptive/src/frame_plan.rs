//! The plan at a place of the stream: "nominal sending rate for this packet" (figure 7).

use framewire_media::streaming_file::{ReadAt, StreamingFile};
use framewire_units::{Bitrate, Duration};

use crate::schedule::{LevelPlan, Schedule};
use crate::source::Plan;

/// The rate at which a schedule sends each frame of each level.
///
/// A schedule is a function of time since its beginning; a session that climbed, fell back or ran ahead is not where
/// the schedule is at that time. Looked up by the frame that is next, the plan stays with the bytes it was made for:
/// what is sent ahead is sent ahead whole (section 5.3), and a segment's rate goes with the segment's frames.
#[derive(Clone, Debug)]
pub struct FramePlan {
    duration: Duration,
    /// One rate per frame for each level.
    rates: Vec<Vec<Bitrate>>,
}

impl FramePlan {
    /// The rates of a schedule for a movie of this duration.
    pub fn new(schedule: &Schedule, duration: Duration) -> Self {
        Self { duration, rates: schedule.levels().iter().map(frame_rates).collect() }
    }

    /// The rates of the plan that a streaming file carries.
    ///
    /// # Errors
    /// When it carries none for some frame: a sender that went by it would wait there for ever.
    pub fn of_file<S: ReadAt>(file: &StreamingFile<S>) -> Result<Self, NoPlan> {
        let sizes = |level: usize| (0..file.frame_count()).map(move |frame| file.frame_size(level, frame));
        let of_level = |level: usize| {
            let rates = file.plan().rates_of(level, sizes(level));
            match rates.iter().position(|&rate| rate == Bitrate::default()) {
                Some(frame) => Err(NoPlan { level, frame }),
                None => Ok(rates),
            }
        };
        let rates = (0..file.level_count()).map(of_level).collect::<Result<_, _>>()?;
        Ok(Self { duration: file.duration(), rates })
    }
}

/// Why a streaming file cannot be sent: it was written without a plan, or with one of no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it has no plan, which says how fast each level is to be sent: no rate above zero for frame {frame} of level {level}"
)]
pub struct NoPlan {
    level: usize,
    frame: usize,
}

impl Plan for FramePlan {
    fn levels(&self) -> usize {
        self.rates.len()
    }

    /// The rate for the frame that begins at this share of the duration, in decode order; the last one's from the end
    /// on.
    fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
        let rates = &self.rates[level];
        // The place of frame i is i / n of the duration, rounded down to the nanosecond.
        let place = (at.as_nanos() + 1) * rates.len() as u128 / self.duration.as_nanos().max(1);
        let frame = usize::try_from(place).unwrap_or(usize::MAX).min(rates.len().saturating_sub(1));
        rates.get(frame).copied().unwrap_or_default()
    }
}

/// Of each frame, the rate of the step of C(t) in which its first byte is sent.
fn frame_rates(plan: &LevelPlan) -> Vec<Bitrate> {
    let steps = plan.profile.steps();
    let consumed = |frame: usize| plan.consumption.at(plan.consumption.time_of(frame)).as_bytes() as f64;
    let mut step = 0;
    let rate = |frame: usize| {
        let first_byte = frame.checked_sub(1).map_or(0.0, consumed);
        // Bytes are whole, and borders are not: a byte belongs to the step in which the most of it is sent.
        while steps.get(step + 1).is_some_and(|next| next.sent <= first_byte + 0.5) {
            step += 1;
        }
        steps[step].bit_rate()
    };
    (0..plan.consumption.frames()).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use framewire_media::FrameRate;
    use framewire_media::ladder::{Ladder, Level};
    use framewire_media::streaming_file::{PlanStep, StoredPlan, write};
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::{Method, PreSend, ScheduleSettings, Step};

    const RATE: FrameRate = FrameRate { numerator: 25, denominator: 1 };

    fn schedule(sizes: &[u32], pre_send: PreSend) -> Schedule {
        let settings =
            ScheduleSettings { method: Method::Segments { count: 2, pre_send }, startup: Duration::from_millis(40) };
        Schedule::of_sizes(RATE, &[sizes.to_vec()], settings).unwrap()
    }

    /// Two segments of 25 frames of 1,000 and 2,000 bytes: 200 and 400 kbit/s, and the border where the bytes are.
    #[test]
    fn each_frame_has_the_rate_of_its_segment() {
        let sizes = [[1_000; 25], [2_000; 25]].concat();
        let schedule = schedule(&sizes, PreSend::Never);
        let plan = FramePlan::new(&schedule, Duration::from_secs(2));
        let rates: Vec<_> = (0..50).map(|frame| plan.rate_at(0, Duration::from_millis(40) * frame)).collect();
        assert_eq!(rates[..25], [Bitrate::from_kbps(200); 25]);
        assert_eq!(rates[25..], [Bitrate::from_kbps(400); 25]);
        assert_eq!(plan.rate_at(0, Duration::from_secs(99)), Bitrate::from_kbps(400));
    }

    #[test]
    fn a_file_without_a_rate_for_a_level_is_no_plan() {
        let level = |size: u32| Level::of_sizes(RATE, 12, &[size; 30]).unwrap();
        let ladder = Ladder::new(vec![level(1_000), level(2_000)]).unwrap();
        let step = |kbps| PlanStep { start: Duration::ZERO, rate: Bitrate::from_kbps(kbps) };
        let of = |levels: [&[PlanStep]; 2]| {
            let plan = StoredPlan { levels: levels.map(<[_]>::to_vec).into(), ..StoredPlan::default() };
            let mut bytes = Vec::new();
            write(&ladder, Some(&plan), 512, &mut bytes).unwrap();
            FramePlan::of_file(&StreamingFile::open(Bytes::from(bytes)).unwrap())
        };
        let plan = of([&[step(200)], &[step(400)]]).unwrap();
        assert_eq!([0, 1].map(|level| plan.rate_at(level, Duration::ZERO)), [200, 400].map(Bitrate::from_kbps));
        let refused = |levels, level| assert_eq!(of(levels).unwrap_err(), NoPlan { level, frame: 0 });
        let (low, high, none) = ([step(200)], [step(400)], [step(0)]);
        refused([&[], &[]], 0);
        refused([&low, &[]], 1);
        refused([&[], &high], 0);
        refused([&low, &none], 1);
    }

    /// Movies of seconds to a quarter of an hour: the borders between rates move with the time before them.
    fn rates_of_frames() -> impl Strategy<Value = FrameRate> {
        (1u32..=100).prop_map(|denominator| FrameRate { numerator: 25, denominator })
    }

    /// The plan of seven segments as a file carries it, and as it was made.
    fn stored(sizes: &[u32], fps: FrameRate, pre_send: PreSend) -> (FramePlan, Schedule) {
        let ladder = Ladder::new(vec![Level::of_sizes(fps, 12, sizes).unwrap()]).unwrap();
        let method = Method::Segments { count: 7, pre_send };
        let schedule = Schedule::new(&ladder, ScheduleSettings { method, startup: Duration::from_millis(40) }).unwrap();
        let mut bytes = Vec::new();
        write(&ladder, Some(&StoredPlan::from(&schedule)), 512, &mut bytes).unwrap();
        let file = StreamingFile::open(Bytes::from(bytes)).unwrap();
        let stored = FramePlan::of_file(&file).unwrap();
        assert_eq!((stored.levels(), stored.rates[0].len()), (1, sizes.len()));
        (stored, schedule)
    }

    proptest! {
        /// The plan that a file carries has for each frame what the schedule has, but of one that begins at a border or
        /// behind it by no more than the rounding of the rates may move it: an eighth of a byte in each second before it.
        #[test]
        fn a_file_carries_the_plan_of_each_frame(
            sizes in proptest::collection::vec(500u32..20_000, 20..200), fps in rates_of_frames(), ahead in any::<bool>(),
        ) {
            let pre_send = if ahead { PreSend::AtMost(Duration::from_secs(3)) } else { PreSend::Never };
            let (stored, schedule) = stored(&sizes, fps, pre_send);
            let plan = &schedule.levels()[0];
            let steps = plan.profile.steps();
            let mut first_byte = 0.0;
            for (frame, (&size, &planned)) in sizes.iter().zip(&frame_rates(plan)).enumerate() {
                let rate = stored.rates[0][frame];
                // Times are rounded, too.
                let moved = |border: &Step| 0.0..border.start / 8.0 + 0.01;
                let is_near = |pair: &[Step]| {
                    pair[0].bit_rate() == rate && moved(&pair[1]).contains(&(first_byte + 0.5 - pair[1].sent))
                };
                let allowed = rate == planned || steps.windows(2).any(is_near);
                prop_assert!(allowed, "frame {frame}: {rate}, planned {planned}");
                first_byte += f64::from(size);
            }
        }

        /// A sender that follows the plan frame by frame sends what the schedule sends when the schedule sends it: at
        /// each border between rates it differs by a frame at most, the one that is sent over the border.
        #[test]
        fn a_sender_that_follows_it_is_where_the_schedule_is(
            sizes in proptest::collection::vec(500u32..20_000, 20..200), until in 40u64..4_000,
        ) {
            let schedule = schedule(&sizes, PreSend::AtMost(Duration::from_millis(until)));
            let duration = Duration::from_millis(40 * sizes.len() as u64);
            let plan = FramePlan::new(&schedule, duration);
            let profile = &schedule.levels()[0].profile;
            let (mut time, mut sent) = (0.0, 0.0);
            let borders = profile.steps().len() as f64;
            for (frame, &size) in (0u32..).zip(&sizes) {
                let place = Duration::from_nanos(duration.as_nanos() as u64 * u64::from(frame) / sizes.len() as u64);
                let rate = plan.rate_at(0, place);
                time += f64::from(size) * 8.0 / rate.as_bps() as f64;
                sent += f64::from(size);
                let ahead = sent - profile.at(time);
                prop_assert!(ahead.abs() <= 20_000.0 * borders, "frame {frame}: {ahead} bytes");
            }
        }
    }
}
