//! Adaptive streams and TCP connections that share one network, in virtual time: how they divide it, and what the
//! viewer gets.
//!
//! Every flow sends from [`Port::Sender`](framewire_link::Port::Sender) and has its way back. A [bulk
//! flow](FlowKind::Bulk) is a TCP connection whose application always has data, as iperf3 is. An [adaptive
//! flow](FlowKind::Adaptive) is a session of `framewire-adaptive`, both of its halves, with any controller.
//!
//! ```
//! use framewire_link::{LossConfig, QueueLimit};
//! use framewire_sim::experiment::bottleneck;
//! use framewire_sim::experiment::streaming::{BulkFlow, FlowConfig, StreamingExperiment, jain_index};
//! use framewire_units::{Bitrate, Duration, Seed, Timestamp};
//!
//! let rate = Bitrate::from_mbps(3);
//! let network = bottleneck(rate, Duration::from_millis(10), LossConfig::None, QueueLimit::Packets(50));
//! let mut experiment = StreamingExperiment::new(network, Seed(1));
//! experiment.flows = (0..4).map(|_| FlowConfig::at_once(BulkFlow::new("reno".parse().unwrap()))).collect();
//! experiment.stagger(Duration::from_secs(1));
//! let outcome = experiment.run()?;
//! let (from, to) = (Timestamp::from_secs(10), Timestamp::from_secs(60));
//! let rates: Vec<f64> = outcome.flows.iter().map(|flow| flow.received.throughput(from, to).as_mbps_f64()).collect();
//! assert!(rates.iter().sum::<f64>() > 2.99);
//! assert!(jain_index(&rates) > 0.8);
//! # Ok::<(), framewire_sim::SimError>(())
//! ```

mod adaptive;
mod bulk;
mod driver;
mod meter;
mod outcome;
#[cfg(test)]
mod tests;
mod viewer;
mod wires;

use std::fmt;

use framewire_link::{Network, NetworkConfig};
use framewire_tcp::TcpConfig;
use framewire_tcp::congestion::Algorithm;
use framewire_units::{Duration, Seed, Timestamp};

pub use self::adaptive::{AdaptiveFlow, AdaptiveOutcome, StreamSample};
use self::driver::Driver;
pub use self::meter::Meter;
pub use self::outcome::{BulkOutcome, FlowOutcome, KindOutcome, PacketCounts, StreamingOutcome, jain_index};
pub use self::viewer::{Fate, ViewedFrame, Viewing};
use crate::error::SimError;

/// Flows that share one network.
#[derive(Debug)]
pub struct StreamingExperiment {
    /// The network.
    pub network: NetworkConfig,
    /// Who sends over it.
    pub flows: Vec<FlowConfig>,
    /// How long, from the origin.
    pub duration: Duration,
    /// Of all draws.
    pub seed: Seed,
    /// Length of the intervals in which is counted what came, and time between two samples of a flow's state.
    pub interval: Duration,
    /// How coarse the clocks of adaptive streams are; exact unless something else is set.
    pub clocks: CoarseClocks,
}

/// Clocks as those of old systems, where timers expire and packets are seen at ticks only (10 ms, for instance, with the
/// HZ of 100 that Linux 2.4 and FreeBSD 4 had); zero for exact ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoarseClocks {
    /// A server sends when it is due, at the next multiple of this.
    pub sender: Duration,
    /// A client sees a packet at the next multiple of this, and stamps it with that time.
    pub receiver: Duration,
}

/// One flow of an experiment.
#[derive(Debug)]
pub struct FlowConfig {
    /// When it begins.
    pub start: Timestamp,
    /// What it is.
    pub kind: FlowKind,
}

/// What a flow is.
pub enum FlowKind {
    /// A TCP connection whose application always has data.
    Bulk(Box<BulkFlow>),
    /// Video at the rate and from the level that a controller decides.
    Adaptive(Box<AdaptiveFlow>),
}

impl fmt::Debug for FlowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk(flow) => f.debug_tuple("Bulk").field(flow).finish(),
            Self::Adaptive(_) => f.debug_tuple("Adaptive").finish_non_exhaustive(),
        }
    }
}

/// A TCP connection whose application always has data.
#[derive(Clone, Debug)]
pub struct BulkFlow {
    /// The sender's endpoint. Its seed is set by the run.
    pub sender: TcpConfig,
    /// The receiver's endpoint.
    pub receiver: TcpConfig,
    /// When the application ends its stream; `None` for never.
    pub stop: Option<Timestamp>,
}

impl BulkFlow {
    /// A connection between two Linux hosts that lasts as long as the experiment.
    pub fn new(congestion: Algorithm) -> Self {
        let sender = TcpConfig { congestion, no_delay: true, ..TcpConfig::default() };
        Self { sender, receiver: TcpConfig::default(), stop: None }
    }
}

impl From<BulkFlow> for FlowKind {
    fn from(flow: BulkFlow) -> Self {
        Self::Bulk(Box::new(flow))
    }
}

impl From<AdaptiveFlow> for FlowKind {
    fn from(flow: AdaptiveFlow) -> Self {
        Self::Adaptive(Box::new(flow))
    }
}

impl FlowConfig {
    /// A flow that begins at the origin.
    pub fn at_once(kind: impl Into<FlowKind>) -> Self {
        Self::at(Timestamp::ZERO, kind)
    }

    /// A flow that begins at `start`.
    pub fn at(start: Timestamp, kind: impl Into<FlowKind>) -> Self {
        Self { start, kind: kind.into() }
    }
}

impl StreamingExperiment {
    /// An experiment of 60 s without flows, looked at ten times a second.
    pub fn new(network: NetworkConfig, seed: Seed) -> Self {
        let (duration, interval) = (Duration::from_secs(60), Duration::from_millis(100));
        Self { network, flows: Vec::new(), duration, seed, interval, clocks: CoarseClocks::default() }
    }

    /// Lets the bulk flows begin at random within `within` after the origin, each at a time of its own that the seed
    /// and the flow's number decide.
    pub fn stagger(&mut self, within: Duration) {
        let starts = self.seed.domain("start of a flow");
        for (number, flow) in (0..).zip(&mut self.flows) {
            if let FlowKind::Bulk(_) = flow.kind {
                flow.start = Timestamp::ZERO + within.mul_f64(starts.stream(&[number]).next_f64());
            }
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// When the network or a session cannot be, there are more flows than packets can name (65,535), or the interval has no length.
    pub fn run(self) -> Result<StreamingOutcome, SimError> {
        if self.interval.is_zero() {
            return Err(SimError::Input("interval = 0 s: more than zero is needed".to_owned()));
        }
        if self.flows.len() > usize::from(u16::MAX) {
            return Err(SimError::Input(format!("{} flows: at most {} are allowed", self.flows.len(), u16::MAX)));
        }
        let mut network =
            Network::new(&self.network, self.seed).map_err(|error| SimError::Input(format!("network: {error}")))?;
        network.record_deliveries(false);
        Ok(Driver::new(self, network)?.run())
    }
}
