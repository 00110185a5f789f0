//! IEEE 802.11b, g and a: one medium shared by all stations.
//!
//! Clauses are of IEEE Std 802.11-2016 unless another edition is named. The model and its limits: `docs/links.md`.

mod agenda;
mod bit_errors;
mod bss;
mod error_model;
mod exchange;
mod medium;
mod ofdm_errors;
mod oven;
mod phy;
mod rate_control;
mod station;
pub mod timing;

pub use bss::{Bss, Protection, Standard};
pub use medium::{DEFAULT_RETRY, Medium, MediumEvent, StationId};
pub use phy::{DataRate, Preamble};
pub use rate_control::{ArfConfig, Fallback, PacketFallbackConfig, RatePolicy};
pub(crate) use station::StationCounters;
pub use station::{StationConfig, StationVerdict};
