//! The grid: which algorithm over which network under which load.

use std::fmt;

use framewire_link::{BottleneckPlace, LossConfig, NetworkConfig, QueueLimit, WireConfig, WiredNetworkConfig};
use framewire_units::{Bitrate, DataSize, Duration, Probability};

const ALGORITHMS: [&str; 3] = ["reno", "cubic", "bbr"];
const RATES_MBPS: [u64; 2] = [5, 20];
const ROUND_TRIPS_MS: [u64; 3] = [20, 80, 200];
const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];
/// No queue is shorter than ten packets: less than a slow start's first flight measures only the queue.
const SHORTEST_QUEUE: u64 = 10 * 1_500;

/// Bytes of a frame of the stream: 7.5 Mbit/s at 25 frames per second.
pub const FRAME: u64 = 37_500;
/// Time between frames.
pub const FRAME_INTERVAL: Duration = Duration::from_millis(40);

/// The size of the bottleneck's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// One product of bandwidth and round-trip time.
    Bdp,
    /// 50 ms of the rate.
    Fixed,
}

/// What the sender's application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Always has data.
    Bulk,
    /// A frame of [`FRAME`] bytes every [`FRAME_INTERVAL`].
    Stream,
}

/// The small grid of congestion controls that few kernels have: each is loaded as a BPF program.
pub fn programs() -> Vec<Cell> {
    const ALGORITHMS: [&str; 7] = ["illinois", "vegas", "westwood", "veno", "scalable", "highspeed", "htcp"];
    let mut cells = Vec::new();
    for algorithm in ALGORITHMS {
        for rate_mbps in RATES_MBPS {
            for rtt_ms in [20, 80] {
                for loss in [0.0, 0.001] {
                    let (queue, mode) = (Queue::Bdp, Mode::Bulk);
                    cells.push(Cell { algorithm, rate_mbps, rtt_ms, loss, queue, mode });
                }
            }
        }
    }
    cells
}

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub algorithm: &'static str,
    pub rate_mbps: u64,
    pub rtt_ms: u64,
    pub loss: f64,
    pub queue: Queue,
    pub mode: Mode,
}

/// All cells.
pub fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for algorithm in ALGORITHMS {
        for rate_mbps in RATES_MBPS {
            for rtt_ms in ROUND_TRIPS_MS {
                for loss in LOSSES {
                    for queue in [Queue::Bdp, Queue::Fixed] {
                        for mode in [Mode::Bulk, Mode::Stream] {
                            cells.push(Cell { algorithm, rate_mbps, rtt_ms, loss, queue, mode });
                        }
                    }
                }
            }
        }
    }
    cells
}

impl Cell {
    /// Capacity of the bottleneck's queue in bytes of IP packets.
    pub fn queue_bytes(&self) -> u64 {
        let millis = match self.queue {
            Queue::Bdp => self.rtt_ms,
            Queue::Fixed => 50,
        };
        (self.rate_mbps * millis * 1_000 / 8).max(SHORTEST_QUEUE)
    }

    /// The network: half of the round trip in each direction, the bottleneck and the loss forward only.
    pub fn network(&self) -> NetworkConfig {
        let loss = match Probability::clamped(self.loss) {
            probability if probability == Probability::ZERO => LossConfig::None,
            probability => LossConfig::Bernoulli(probability),
        };
        let wire = WireConfig {
            rate: Some(Bitrate::from_mbps(self.rate_mbps)),
            queue: QueueLimit::Bytes(DataSize::from_bytes(self.queue_bytes())),
            delay: Duration::from_micros(self.rtt_ms * 500),
            loss,
            ..WireConfig::default()
        };
        NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote))
    }

    /// Roughly what a run will carry, to plan how many run at once: the square-root law (Mathis et al. 1997) for
    /// algorithms that are driven by loss.
    pub fn expected_mbps(&self) -> f64 {
        let offered = if self.mode == Mode::Stream { 7.5 } else { f64::INFINITY };
        let by_loss = if self.loss > 0.0 && self.algorithm != "bbr" {
            1.5 * 1.22 * 1_448.0 * 8.0 / (self.rtt_ms as f64 * 1e3 * self.loss.sqrt())
        } else {
            f64::INFINITY
        };
        offered.min(by_loss).min(self.rate_mbps as f64)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bdp => "bdp",
            Self::Fixed => "50ms",
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bulk => "bulk",
            Self::Stream => "stream",
        })
    }
}

/// The first columns of the dataset, which name a cell.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, rate_mbps, rtt_ms, loss, queue, mode } = self;
        write!(f, "{algorithm},{rate_mbps},{rtt_ms},{loss},{queue},{mode}")
    }
}
