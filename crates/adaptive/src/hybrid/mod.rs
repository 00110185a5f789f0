//! A rate control for the sender of VTP that goes beyond the paper's, and can be chosen in its place.
//!
//! Four parts that know nothing of each other decide one after the other:
//! - [`Queue`] and [`Losses`] read the path from control packets: how much waits in it, and which losses are
//!   congestion.
//! - [`Rivals`] infers from the queue what kind of flows fill it.
//! - [`Allowance`] makes of that the rate that the network allows: as much as a TCP flow would have, and no more than
//!   empties a queue that no other flow fills.
//! - [`Levels`] makes of the rate, the plan ahead and the viewer's playout buffer level the level of the ladder.
//!
//! [`HybridController`] joins them. `docs/vtp-hybrid.md` has the reasons and the measurements.

mod allowance;
mod controller;
mod delivery;
mod levels;
mod live;
#[cfg(test)]
mod live_tests;
mod losses;
mod queue;
mod rivals;
mod settings;
#[cfg(test)]
mod tests;

pub use controller::HybridController;
pub use settings::{HybridError, HybridSettings};
