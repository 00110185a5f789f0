//! A TCP connection by itself, two endpoints and a network: the simulated side of what `docs/validation.md` compares with the
//! kernel and with ns-3, whose sides have neither sessions nor a ledger either. It has what no scenario says: Nagle's algorithm,
//! the endpoint of each host, and an application that writes. What connections and streams make of one network, scenarios say;
//! it shares the queue of events with a [`Simulation`](crate::Simulation).
//!
//! ```
//! use framewire_sim::lone_connection::{LoneConnection, Traffic, bottleneck};
//! use framewire_link::{LossConfig, QueueLimit};
//! use framewire_units::{Bitrate, DataSize, Duration, Seed};
//!
//! let queue = QueueLimit::Bytes(DataSize::from_bytes(50_000));
//! let network = bottleneck(Bitrate::from_mbps(5), Duration::from_millis(80), LossConfig::None, queue);
//! let connection = LoneConnection { seed: Seed(1), ..LoneConnection::new("cubic".parse()?, network) };
//! let outcome = connection.run()?;
//! assert!(outcome.goodput().as_mbps_f64() > 4.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod driver;

use framewire_link::{BottleneckPlace, LossConfig, Network, NetworkConfig, QueueLimit, WireConfig, WiredNetworkConfig};
use framewire_tcp::congestion::Algorithm;
use framewire_tcp::{TcpConfig, TcpInfo};
use framewire_units::{Bitrate, DataSize, Duration, Seed, Timestamp};

use self::driver::Driver;
use crate::error::SimError;

/// What the sender's application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// It always has data.
    Bulk,
    /// It has a frame of so many bytes each interval, and writes what did not fit as soon as it does.
    Paced {
        /// Bytes of a frame.
        frame: DataSize,
        /// Time between frames.
        interval: Duration,
    },
}

/// A connection over a network.
#[derive(Clone, Debug)]
pub struct LoneConnection {
    /// The sender's endpoint. Its seed is set by the run.
    pub sender: TcpConfig,
    /// The receiver's endpoint.
    pub receiver: TcpConfig,
    /// The network.
    pub network: NetworkConfig,
    /// What is sent.
    pub traffic: Traffic,
    /// How long, from the moment when the sender connects.
    pub duration: Duration,
    /// Of all draws: those of the network are the same as in the emulated world.
    pub seed: Seed,
    /// How often the sender's state is sampled.
    pub sample_interval: Duration,
}

impl LoneConnection {
    /// A bulk transfer of 60 s between two Linux hosts without Nagle's algorithm, sampled ten times a second.
    pub fn new(congestion: Algorithm, network: NetworkConfig) -> Self {
        Self {
            sender: TcpConfig { congestion, no_delay: true, ..TcpConfig::default() },
            receiver: TcpConfig::default(),
            network,
            traffic: Traffic::Bulk,
            duration: Duration::from_secs(60),
            seed: Seed(1),
            sample_interval: Duration::from_millis(100),
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// When the network cannot be, or a rhythm has no length.
    pub fn run(&self) -> Result<TcpOutcome, SimError> {
        let zero = |name: &str| SimError::Input(format!("{name} = 0 s: more than zero is needed"));
        if self.sample_interval.is_zero() {
            return Err(zero("sample_interval"));
        }
        if matches!(self.traffic, Traffic::Paced { interval, .. } if interval.is_zero()) {
            return Err(zero("interval"));
        }
        let mut network =
            Network::new(&self.network, self.seed).map_err(|error| SimError::Input(format!("network: {error}")))?;
        network.record_deliveries(false);
        Ok(Driver::new(self, network).run())
    }
}

/// A network of one remote bottleneck: half of the round trip in each direction, rate, queue and loss forward only.
pub fn bottleneck(rate: Bitrate, round_trip: Duration, loss: LossConfig, queue: QueueLimit) -> NetworkConfig {
    let wire = WireConfig { rate: Some(rate), queue, delay: round_trip / 2, loss, ..WireConfig::default() };
    NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote))
}

/// The sender's state at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSample {
    /// When.
    pub at: Timestamp,
    /// What the endpoint says.
    pub info: TcpInfo,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOutcome {
    /// How long it was.
    pub duration: Duration,
    /// Bytes that the receiving application read.
    pub received: DataSize,
    /// Segments with payload that were sent, with retransmissions.
    pub segments: u64,
    /// Segments without payload that the receiver sent.
    pub acknowledgements: u64,
    /// Packets that the bottleneck's queue had no room for.
    pub queue_drops: u64,
    /// Packets that were lost at random.
    pub random_losses: u64,
    /// Mean time of a segment with payload from its endpoint to the other, queueing included.
    pub forward_delay: Duration,
    /// The same of what the receiver sent.
    pub backward_delay: Duration,
    /// The sender at the end.
    pub last: TcpInfo,
    /// The sender over time, from one sampling interval after the start.
    pub samples: Vec<TcpSample>,
}

impl TcpOutcome {
    /// Payload that was read, over the duration.
    pub fn goodput(&self) -> Bitrate {
        let nanos = self.duration.as_nanos().max(1);
        Bitrate::from_bps(
            u64::try_from(u128::from(self.received.as_bits()) * 1_000_000_000 / nanos).unwrap_or(u64::MAX),
        )
    }

    /// Mean of the smoothed round-trip time over the samples that have one, as `tcpi_rtt` sampled; `None` without any.
    pub fn mean_srtt(&self) -> Option<Duration> {
        let measured = || self.samples.iter().map(|sample| sample.info.srtt).filter(|srtt| !srtt.is_zero());
        let count = u32::try_from(measured().count()).ok().filter(|&count| count > 0)?;
        Some(measured().sum::<Duration>() / count)
    }
}
