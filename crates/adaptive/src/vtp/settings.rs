use framewire_units::{Bitrate, DataSize};

/// What interval a bandwidth sample is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleRule {
    /// Equation 1 to the letter: the bytes of k packets over the k - 1 gaps between them, k / (k - 1) of the rate at
    /// which evenly spaced packets arrive. Where only one packet arrived there is no gap, and the interval reaches
    /// back to the packet that asked before: with k = 1 both packets count (two packets over one gap, as with k = 2),
    /// with k > 1, where the others were lost, the one that arrived.
    Paper,
    /// The bytes since the last control packet over the time since then: k packets over k gaps.
    Unbiased,
}

/// Settings of VTP's rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VtpSettings {
    /// α of equation 2, at least 0 and below 1: the weight of the history.
    pub alpha: f64,
    /// What interval a sample is taken over.
    pub sample_rule: SampleRule,
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
    /// The paper's: heuristic 2, threshold 1 kbit/s, packets of 1 kbyte (sections 6.1 and 4.3).
    ///
    /// α is "a constant close to 1" (section 4.2). 0.93 is the value at which the climb of figure 15 takes its about
    /// 7 s on a movie of the same rates with made-up sizes of frames (on encoded ones, about 6 s); a larger one makes the
    /// estimate lag further behind a growing rate, and the climb longer (`docs/vtp.md`).
    pub fn paper() -> Self {
        Self {
            alpha: 0.93,
            sample_rule: SampleRule::Paper,
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
