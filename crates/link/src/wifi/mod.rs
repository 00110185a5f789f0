//! IEEE 802.11b: one medium shared by all stations.
//!
//! Clauses are of IEEE Std 802.11-2016 unless another edition is named. The model and its limits: `docs/links.md`.

mod bit_errors;
mod error_model;
mod medium;
mod oven;
pub mod phy;
mod rate_control;
mod station;
pub mod timing;

pub use medium::{DEFAULT_RETRY, Medium, MediumEvent, StationId};
pub use phy::{DataRate, Preamble};
pub use rate_control::{ArfConfig, RateControl, RatePolicy};
pub use station::{StationConfig, StationCounters, StationVerdict};
