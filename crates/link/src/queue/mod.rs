//! Queue disciplines: what waits for a transmitter, and what is dropped of it.
//!
//! They see logical times only: when a packet arrived and when its service begins, by the model.
//!
//! A discipline is a file here that implements [`QueueDiscipline`], and a line in [`registry`]: scenarios, wires and
//! the stations of an 802.11 medium take it from there by its name.

mod codel;
mod discipline;
mod drop_tail;
mod fifo;
mod registry;

pub use discipline::QueueLimit;
pub(crate) use discipline::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
pub use registry::Discipline;
