//! How much may wait.

use framewire_units::{DataSize, Duration};

use crate::queue::Level;

/// How much may wait in a queue; `None`: any amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Frames.
    pub frames: Option<u32>,
    /// Bytes of all frames.
    pub bytes: Option<DataSize>,
    /// [`Level::time`].
    pub time: Option<Duration>,
}

impl Limits {
    /// A limit in time only.
    pub const fn of_time(time: Duration) -> Self {
        Self { frames: None, bytes: None, time: Some(time) }
    }

    /// True when more waits than one of them allows.
    pub(crate) fn exceeded_by(&self, level: Level) -> bool {
        self.share_exceeded_by(level, Share { numerator: 1, denominator: 1 })
    }

    /// True when what waits has waited longer than allowed.
    pub(crate) fn time_exceeded_by(&self, level: Level) -> bool {
        self.time.is_some_and(|limit| level.time > limit)
    }

    /// True when more waits than a share of one of them.
    pub(crate) fn share_exceeded_by(&self, level: Level, share: Share) -> bool {
        let exceeds = |level: u128, limit: u128| level * share.denominator > limit * share.numerator;
        self.frames.is_some_and(|limit| exceeds(level.frames.into(), limit.into()))
            || self.bytes.is_some_and(|limit| exceeds(level.bytes.as_bytes().into(), limit.as_bytes().into()))
            || self.time.is_some_and(|limit| exceeds(level.time.as_nanos(), limit.as_nanos()))
    }

    /// True when one of them is used up.
    pub(crate) fn reached_by(&self, level: Level) -> bool {
        self.frames.is_some_and(|limit| level.frames >= limit)
            || self.bytes.is_some_and(|limit| level.bytes >= limit)
            || self.time.is_some_and(|limit| level.time >= limit)
    }
}

/// A part of a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) numerator: u128,
    pub(crate) denominator: u128,
}
