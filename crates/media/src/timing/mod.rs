//! Which times the frames of a stream have in transport order, derived from what each states.

mod group_order;
mod pace;
mod transport_clock;

pub use group_order::{GroupOrder, GroupPlace};
pub use pace::Pace;
pub use transport_clock::{Times, TransportClock};
