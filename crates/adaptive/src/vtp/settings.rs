use framewire_units::{Bitrate, DataSize};

use super::estimate::Estimate;

/// Settings of VTP's rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VtpSettings {
    /// α of equation 2, at least 0 and below 1: the weight of the history.
    pub alpha: f64,
    /// How equation 1 is read.
    pub estimate: Estimate,
    /// The heuristic of section 4.2, in round-trip times: how long the rate must cover the next level before it is
    /// taken.
    pub heuristic: u32,
    /// The threshold of section 6.1: the plan is followed upwards by at most this without probing.
    pub threshold: Bitrate,
    /// The step of section 4.3: the rate rises by this much per second, at most once per round-trip time.
    pub step: DataSize,
    /// Requests in a row that may stay without an answer; after them the rate falls to the floor. `None` never does,
    /// as in the paper.
    pub silent_requests: Option<u32>,
}

impl VtpSettings {
    /// The paper's: equation 1 as section 4.1 has it, heuristic 2, threshold 1 kbit/s, packets of 1 kbyte (sections 6.1
    /// and 4.3).
    pub fn paper() -> Self {
        Self::reading(Estimate::PAPER)
    }

    /// The same with equation 1 read so, and α as calibrated for that.
    pub fn reading(estimate: Estimate) -> Self {
        Self {
            alpha: estimate.alpha(),
            estimate,
            heuristic: 2,
            threshold: Bitrate::from_kbps(1),
            step: DataSize::from_bytes(1_000),
            silent_requests: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        if !(0.0..1.0).contains(&self.alpha) {
            return Err(SettingsError { setting: "alpha", value: self.alpha.to_string(), allowed: "0 to below 1" });
        }
        if self.step.as_bytes() == 0 {
            return Err(SettingsError { setting: "step", value: self.step.to_string(), allowed: "at least 1 byte" });
        }
        Ok(())
    }
}

/// A setting that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("VTP {setting}: {value}, allowed: {allowed}")]
pub struct SettingsError {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub allowed: &'static str,
}
