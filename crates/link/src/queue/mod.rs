//! Queue disciplines: what waits for a transmitter, and what is dropped of it.
//!
//! They see logical times only: when a packet arrived and when its service begins, by the model.
//!
//! A discipline is a file here that implements [`QueueDiscipline`], and a line in [`registry`]: scenarios, wires and
//! the stations of an 802.11 medium take it from there by its name.

mod codel;
mod discipline;
mod drop_tail;
mod dualpi2;
mod fifo;
mod fq_codel;
mod head_drop;
mod pie;
mod red;
mod registry;
mod settings;

pub use discipline::QueueLimit;
pub(crate) use discipline::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
pub use registry::Discipline;
pub use settings::{Setting, SettingValue};

/// The numbers of each discipline that has some.
pub mod of {
    pub use super::codel::CodelSettings;
    pub use super::dualpi2::DualPi2Settings;
    pub use super::fq_codel::FqCodelSettings;
    pub use super::pie::PieSettings;
    pub use super::red::RedSettings;
}
