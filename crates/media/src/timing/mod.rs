//! Which times the frames of a stream have in transport order, told from what each says of itself.

mod group_order;
mod pace;
mod transport_clock;

pub use group_order::{GroupOrder, GroupPlace};
pub use pace::Pace;
pub use transport_clock::{Times, TransportClock};
