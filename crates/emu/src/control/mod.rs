//! What all threads of a run share: how it is stopped, waited for, shown to the user, and how it fails.

mod events;
mod failure;
mod progress;
mod stop;
mod waiting;

pub use self::events::emit;
pub use self::failure::Failure;
pub use self::progress::{FlowProgress, show};
pub use self::stop::{StopDeadline, StopFlag, die_with_parent, install_signal_handlers, interruptions};
pub use self::waiting::{Interest, sharpen_timers, sleep_until, wait_for_any};
