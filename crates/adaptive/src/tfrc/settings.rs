use framewire_units::{Bitrate, DataSize, Duration};

use super::equation::Equation;
use super::loss_history::Weights;

/// s: bytes of a data packet, without headers of the transport or below (RFC 5348, sections 3.1 and 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentSize {
    /// Packets have this size, or are to be counted as if they had.
    Nominal(DataSize),
    /// The mean of what was sent lately, this before anything was.
    Mean(DataSize),
}

impl SegmentSize {
    /// The size to begin with, in bytes, at least one.
    pub(super) fn initial(self) -> f64 {
        let (Self::Nominal(size) | Self::Mean(size)) = self;
        size.as_bytes().max(1) as f64
    }
}

/// What can be set of a [`Sender`](super::Sender).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSettings {
    /// s.
    pub segment: SegmentSize,
    /// The throughput equation.
    pub equation: Equation,
    /// Whether packets leave a little slower while the round-trip time is above its mean (section 4.5).
    pub oscillation_reduction: bool,
    /// t_gran: how exactly the world can keep a time of departure (section 4.6). A packet may leave earlier than its
    /// time by half of it, and one that leaves later makes the next catch up by no more than it.
    pub granularity: Duration,
    /// A rate that is never exceeded.
    pub maximum_rate: Option<Bitrate>,
}

impl Default for SenderSettings {
    /// The RFC's, for packets of 1,000 bytes.
    fn default() -> Self {
        Self {
            segment: SegmentSize::Nominal(DataSize::from_bytes(1_000)),
            equation: Equation::RFC,
            oscillation_reduction: true,
            granularity: Duration::from_millis(1),
            maximum_rate: None,
        }
    }
}

/// What can be set of a [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverSettings {
    /// Of the loss intervals.
    pub weights: Weights,
    /// Whether a long interval without loss makes older ones count less (section 5.5).
    pub history_discounting: bool,
    /// Makes up the first loss interval (section 6.3.1); the sender's.
    pub equation: Equation,
    /// Sequence number of the first packet of the flow, when it is known: only then can its loss be seen.
    pub first_sequence: Option<u32>,
}

impl Default for ReceiverSettings {
    /// The RFC's, for flows that begin with packet 0.
    fn default() -> Self {
        Self { weights: Weights::RFC, history_discounting: true, equation: Equation::RFC, first_sequence: Some(0) }
    }
}

impl ReceiverSettings {
    /// As the paper says of its TFRC (section 6.4): its weights and, as in the code of its time, history discounting.
    pub fn paper() -> Self {
        Self { weights: Weights::PAPER, equation: Equation::PAPER, ..Self::default() }
    }
}
