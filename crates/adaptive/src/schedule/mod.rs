//! When to send a stored movie: plans that are known before the first byte is sent, because every frame's size is.
//!
//! Sections, equations and figures are those of the paper (Balk et al., "Adaptive Video Streaming: Pre-encoded MPEG-4
//! with Bandwidth Scaling"). Its plan is of N segments of equal length, in each of which the rate is the mean rate of
//! the video (section 5.2); the bytes that this plan would come too late with are sent ahead during the first seconds
//! (section 5.3, after McManus and Ross's PCRTT). Beside it stand two optimal ones for a given buffer: the smoothest, and
//! the one with the fewest changes of rate.
//!
//! All of them are a [`Profile`], C(t), that is held against a [`Consumption`], V(t); U(t) is what lies between
//! ([`Occupancy`]). Bytes are bytes of video; headers of packets come on top of every rate.

mod consumption;
mod corridor;
mod error;
mod fewest;
#[cfg(test)]
mod fewest_tests;
mod occupancy;
mod pre_send;
mod profile;
mod segments;
mod smoothing;
#[cfg(test)]
mod tests;

use framewire_media::FrameRate;
use framewire_media::ladder::Ladder;
use framewire_units::{Bitrate, DataSize, Duration};

pub use consumption::Consumption;
pub use error::ScheduleError;
pub(crate) use fewest::fewest_changes;
pub use occupancy::{Extreme, Occupancy};
pub use pre_send::PreSend;
pub use profile::{Profile, Step};
pub(crate) use segments::equal_segments;
pub(crate) use smoothing::smoothed;

/// Segments of the paper's plans (section 5.2).
pub(crate) const PAPER_SEGMENTS: usize = 10;

/// t_j of the paper's plans (section 5.3).
pub(crate) const PAPER_PRE_SEND: Duration = Duration::from_secs(5);

/// How plans are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// N segments of equal length, each at the mean rate of its frames (section 5.2); one segment is the constant rate
    /// of figure 9. What would come too late is sent ahead (section 5.3).
    Segments {
        /// N.
        count: usize,
        /// How the missing bytes are sent ahead.
        pre_send: PreSend,
    },
    /// As even as the client's buffer allows.
    Smoothed {
        /// What the client can hold; each frame has to fit.
        buffer: DataSize,
    },
    /// With as few rates as the client's buffer allows.
    FewestChanges {
        /// What the client can hold; each frame has to fit.
        buffer: DataSize,
    },
}

/// What a schedule is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleSettings {
    /// How it is made.
    pub method: Method,
    /// How long after the first byte is sent the player takes the first frame. The paper leaves it to the player;
    /// without any, the first frame would be late under every plan.
    pub startup: Duration,
}

impl ScheduleSettings {
    /// Ten segments, t_j = 5 s where nothing is late before, and a player that starts after a second.
    pub const PAPER: Self = Self {
        method: Method::Segments { count: PAPER_SEGMENTS, pre_send: PreSend::AtMost(PAPER_PRE_SEND) },
        startup: Duration::from_secs(1),
    };
}

/// The plan of one level.
#[derive(Clone, Debug)]
pub struct LevelPlan {
    /// V(t).
    pub consumption: Consumption,
    /// C(t) before anything is sent ahead.
    pub base: Profile,
    /// C(t) as it is sent.
    pub profile: Profile,
    /// U(t) of the plan before anything is sent ahead.
    pub base_occupancy: Occupancy,
    /// U(t) of the plan as it is sent.
    pub occupancy: Occupancy,
    /// b_min: what a client has to be able to hold (equation 5).
    pub client_buffer: DataSize,
}

/// Plans for all levels of a movie.
#[derive(Clone, Debug)]
pub struct Schedule {
    settings: ScheduleSettings,
    pre_send_until: Option<Duration>,
    levels: Vec<LevelPlan>,
}

impl Schedule {
    /// Plans every level of a ladder.
    ///
    /// # Errors
    /// As [`of_sizes`](Self::of_sizes).
    pub fn new(ladder: &Ladder, settings: ScheduleSettings) -> Result<Self, ScheduleError> {
        let sizes = |level: &framewire_media::ladder::Level| level.frames().iter().map(|frame| frame.size).collect();
        let sizes: Vec<Vec<u32>> = ladder.levels().iter().map(sizes).collect();
        Self::of_sizes(ladder.frame_rate(), &sizes, settings)
    }

    /// Plans levels by their frames' sizes in bytes, in decode order, lowest level first.
    ///
    /// # Errors
    /// When there is no level or no frame, more segments than frames are asked for, the pre-send interval ends after
    /// the first underflow of a level, or a frame does not fit into the buffer.
    pub fn of_sizes(
        frame_rate: FrameRate,
        sizes: &[Vec<u32>],
        settings: ScheduleSettings,
    ) -> Result<Self, ScheduleError> {
        if sizes.is_empty() {
            return Err(ScheduleError::NoLevel);
        }
        let consumptions: Result<Vec<_>, _> =
            sizes.iter().map(|sizes| Consumption::new(sizes, frame_rate, settings.startup)).collect();
        let consumptions = consumptions?;
        match settings.method {
            Method::Segments { count, pre_send } => Self::segmented(settings, consumptions, count, pre_send),
            Method::Smoothed { buffer } => Self::within(settings, consumptions, buffer, smoothed),
            Method::FewestChanges { buffer } => Self::within(settings, consumptions, buffer, fewest_changes),
        }
    }

    /// Plans of each level by itself for a client that can hold `buffer`.
    fn within(
        settings: ScheduleSettings,
        consumptions: Vec<Consumption>,
        buffer: DataSize,
        plan: impl Fn(&Consumption, DataSize) -> Result<Profile, ScheduleError>,
    ) -> Result<Self, ScheduleError> {
        let level = |(level, consumption): (usize, Consumption)| {
            let profile = plan(&consumption, buffer).map_err(|error| error.at_level(level))?;
            Ok(LevelPlan::new(consumption, profile.clone(), profile))
        };
        let levels: Result<_, _> = consumptions.into_iter().enumerate().map(level).collect();
        Ok(Self { settings, pre_send_until: None, levels: levels? })
    }

    fn segmented(
        settings: ScheduleSettings,
        consumptions: Vec<Consumption>,
        count: usize,
        pre_send: PreSend,
    ) -> Result<Self, ScheduleError> {
        let mut bases = Vec::with_capacity(consumptions.len());
        for consumption in &consumptions {
            bases.push(equal_segments(consumption, count)?);
        }
        let occupancies: Vec<_> =
            consumptions.iter().zip(&bases).map(|(consumption, base)| Occupancy::of(base, consumption)).collect();
        // One t_j for all levels, as their segments have the same borders.
        let until = pre_send.until(&occupancies)?;
        let plans = consumptions.into_iter().zip(bases).zip(occupancies).map(|((consumption, base), occupancy)| {
            let profile = match until {
                Some(until) => base.with_bytes_ahead(-occupancy.min.bytes, until),
                None => base.clone(),
            };
            LevelPlan::new(consumption, base, profile)
        });
        Ok(Self { settings, pre_send_until: until, levels: plans.collect() })
    }

    /// What it was made for.
    pub fn settings(&self) -> ScheduleSettings {
        self.settings
    }

    /// t_j, where something is sent ahead.
    pub fn pre_send_until(&self) -> Option<Duration> {
        self.pre_send_until
    }

    /// The plans, lowest level first.
    pub fn levels(&self) -> &[LevelPlan] {
        &self.levels
    }

    /// b_min for the whole movie: the largest of its levels (section 5.3).
    pub fn client_buffer(&self) -> DataSize {
        self.levels.iter().map(|level| level.client_buffer).max().unwrap_or_default()
    }

    /// The rate that the plan of a level has at a time since its start, rounded up to the next bit/s; zero when all is
    /// sent.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
        self.levels[level].profile.rate_at(at)
    }
}

impl LevelPlan {
    fn new(consumption: Consumption, base: Profile, profile: Profile) -> Self {
        let base_occupancy = Occupancy::of(&base, &consumption);
        let occupancy = Occupancy::of(&profile, &consumption);
        Self { client_buffer: base_occupancy.client_buffer(), consumption, base, profile, base_occupancy, occupancy }
    }
}
