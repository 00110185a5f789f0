use std::fmt;

use framewire_units::DataSize;
use framewire_units::vtp_estimates::{BYTES_OVER_GAPS, K_OVER_K_MINUS_1, NAMES};
use framewire_wire::vtp::VIDEO_HEADER_LENGTH;

/// How equation 1 is read: which bytes a bandwidth sample counts, and over which time.
///
/// The paper gives both readings; `docs/vtp.md` says why the first is its protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// Section 4.1: SIZE, the bytes received since the last control packet, over the time between the arrivals of the two
    /// packets that asked: k packets over k gaps.
    BytesOverGaps {
        /// Bytes of header that SIZE counts of each packet, beside its video.
        header: DataSize,
    },
    /// The indices of equation 1: the bytes of video of k packets over the k - 1 gaps between them, k / (k - 1) of the
    /// rate at which evenly spaced packets arrive. Where only one packet arrived there is no gap, and the interval reaches
    /// back to the packet that asked before: with k = 1 both packets count (two packets over one gap, as with k = 2), with
    /// k > 1, where the others were lost, the one that arrived.
    KOverKMinus1,
}

impl Estimate {
    /// What a packet of video has beside its video, and SIZE with it, being "the number of bytes received" (section 4.1):
    /// the fields of figures 5 and 7. In the widths that figure 7 prints, seven fields of 4 bytes and a record of 30, the
    /// paper's had 58.
    pub const PAPER_HEADER: DataSize = DataSize::from_bytes(VIDEO_HEADER_LENGTH as u64);

    /// The protocol of section 4.1: what the paper's packets can carry.
    pub const PAPER: Self = Self::BytesOverGaps { header: Self::PAPER_HEADER };

    /// The names, the paper's protocol first.
    pub const NAMES: [&'static str; 2] = NAMES;

    /// Its name, as files and command lines have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BytesOverGaps { .. } => BYTES_OVER_GAPS,
            Self::KOverKMinus1 => K_OVER_K_MINUS_1,
        }
    }

    /// The reading of this name, with the bytes of header that it counts where that is given.
    ///
    /// # Errors
    /// When no reading has the name, or the one that has it counts no headers.
    pub fn named(name: &str, header: Option<DataSize>) -> Result<Self, EstimateError> {
        match (name, header) {
            (BYTES_OVER_GAPS, header) => Ok(Self::BytesOverGaps { header: header.unwrap_or(Self::PAPER_HEADER) }),
            (K_OVER_K_MINUS_1, None) => Ok(Self::KOverKMinus1),
            (K_OVER_K_MINUS_1, Some(_)) => Err(EstimateError::NoHeader),
            _ => Err(EstimateError::Unknown { name: name.to_owned() }),
        }
    }

    /// α of equation 2: "a constant close to 1" (section 4.2). It is calibrated: with these values the climb of figure 15
    /// takes its about 7 s on a movie of the same rates with made-up sizes of frames, by either reading. A larger one makes
    /// the estimate lag further behind a growing rate, and the climb longer (`docs/vtp.md`).
    pub const fn alpha(self) -> f64 {
        match self {
            Self::BytesOverGaps { .. } => 0.83,
            Self::KOverKMinus1 => 0.93,
        }
    }
}

impl Default for Estimate {
    fn default() -> Self {
        Self::PAPER
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No reading of equation 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EstimateError {
    /// No reading has the name.
    #[error("estimate \"{name}\" does not exist; {} do", Estimate::NAMES.map(|name| format!("\"{name}\"")).join(" and "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// Bytes of header for the reading that counts none.
    #[error("bytes of header mean nothing for estimate \"{K_OVER_K_MINUS_1}\"; they are of \"{BYTES_OVER_GAPS}\"")]
    NoHeader,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Estimate::NAMES {
            assert_eq!(Estimate::named(name, None).unwrap().to_string(), name);
        }
        assert_eq!(Estimate::named("bytes over gaps", None), Ok(Estimate::PAPER));
        let header = DataSize::from_bytes(28);
        let counted = Estimate::named("bytes over gaps", Some(header));
        assert_eq!(counted, Ok(Estimate::BytesOverGaps { header }));
    }

    #[test]
    fn what_is_no_reading_is_refused_in_words() {
        let refused = |name, header| Estimate::named(name, header).unwrap_err().to_string();
        let unknown = "estimate \"unbiased\" does not exist; \"bytes over gaps\" and \"k over k - 1\" do";
        assert_eq!(refused("unbiased", None), unknown);
        assert!(refused("k over k - 1", Some(DataSize::ZERO)).contains("mean nothing"));
    }
}
