//! Levels that are encoded while they are sent, aligned frame by frame, in a window of whole groups of pictures from
//! which clients are served.
//!
//! [`Alignment`] decides whether streams that come side by side are one movie, and makes [`Row`]s of their frames;
//! [`LiveSource`] keeps what can be sent, and plans its rates. So each frame is first [pushed](Alignment::push) at its
//! level, and each row that comes of that then [into the source](LiveSource::push).

mod align;
mod interval;
#[cfg(test)]
mod session_tests;
mod window;

pub use align::{Alignment, LevelFrame, Misaligned, Names};
pub use window::{Limits, LiveSource, Row, Taken, WindowState};
