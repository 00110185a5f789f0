//! What came of an experiment.

use framewire_tcp::TcpInfo;
use framewire_units::{Duration, Timestamp};

use super::adaptive::AdaptiveOutcome;
use super::meter::Meter;

/// What came of an experiment.
#[derive(Debug)]
pub struct StreamingOutcome {
    /// The flows, in the order in which they were given.
    pub flows: Vec<FlowOutcome>,
    /// When it ended.
    pub end: Timestamp,
}

/// What came of a flow.
#[derive(Debug)]
pub struct FlowOutcome {
    /// When it began.
    pub start: Timestamp,
    /// IP bytes that came out at the receiver, headers counted: what flows that share a link divide.
    pub received: Meter,
    /// Bytes that the receiving application got: a stream's in order, or the movie's.
    pub goodput: Meter,
    /// Its packets on the way to the receiver.
    pub packets: PacketCounts,
    /// Mean time of a packet to the receiver, queueing included.
    pub forward_delay: Duration,
    /// What only its kind has.
    pub kind: KindOutcome,
}

/// What only a kind of flow has.
#[derive(Debug)]
pub enum KindOutcome {
    /// A bulk flow.
    Bulk(Box<BulkOutcome>),
    /// An adaptive stream.
    Adaptive(Box<AdaptiveOutcome>),
}

/// What came of a bulk flow.
#[derive(Clone, Copy, Debug)]
pub struct BulkOutcome {
    /// The sender's endpoint at the end.
    pub last: TcpInfo,
}

/// Where the packets of a flow went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Sent to the receiver.
    pub sent: u64,
    /// Came out there.
    pub delivered: u64,
    /// The bottleneck's queue had no room for them.
    pub queue_drops: u64,
    /// Lost at random.
    pub random_losses: u64,
    /// Lost otherwise: an outage, or the retry limit of a wireless hop.
    pub other_losses: u64,
    /// Lost on the way back; not among the others.
    pub dropped_backward: u64,
}

impl PacketCounts {
    /// Packets to the receiver that are still under way.
    pub fn under_way(&self) -> u64 {
        self.sent - self.delivered - self.queue_drops - self.random_losses - self.other_losses
    }
}

/// The fairness index of Jain, Chiu and Hawe ("A quantitative measure of fairness and discrimination", 1984): 1 when all
/// have the same, 1/n when one of n has all. 1 when there is nothing to divide.
pub fn jain_index(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}
