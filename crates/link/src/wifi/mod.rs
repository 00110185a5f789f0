//! IEEE 802.11b: one medium shared by all stations.
//!
//! Clauses are of IEEE Std 802.11-2016 unless another edition is named. The model and its limits: `docs/links.md`.

mod phy;
mod rate_control;

pub use phy::{DataRate, Preamble};
pub use rate_control::{ArfConfig, RatePolicy};
