//! How the kernel schedules the pump: real-time priority where permitted, one processor each.

use std::fmt;

pub(crate) use framewire_sockets::{pin_to, processors};
use serde::Serialize;

/// The scheduling class of the pump threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// SCHED_FIFO: nothing but the kernel keeps the pump from running.
    RealTime,
    /// SCHED_OTHER: a busy machine delays it.
    Normal,
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RealTime => "real-time (SCHED_FIFO)",
            Self::Normal => "normal",
        })
    }
}

/// Makes the calling thread as punctual as this machine permits, and says what that is.
pub(crate) fn make_punctual() -> Scheduling {
    if framewire_sockets::make_punctual() { Scheduling::RealTime } else { Scheduling::Normal }
}
