//! Sans-IO link models: wired links, IEEE 802.11 as one shared medium, interference, and the network made of them.
//!
//! A link gives every packet exactly one verdict. Packets are enqueued, verdicts are polled: on a shared medium a
//! verdict depends on later arrivals, so it is settled only when the model's clock has passed it.
//!
//! [`Network`] is the whole way between two hosts; its documentation says how to drive it.
#![warn(unreachable_pub)]

mod bottleneck;
mod config;
mod events;
mod framing;
mod graph;
mod loss;
mod network;
mod path;
mod queue;
mod rates;
mod server;
mod token_bucket;
mod trace;
mod validate;
mod verdict;
pub mod wifi;
mod wire;

pub use config::{
    BottleneckPlace, ConfigError, ContenderConfig, GilbertElliott, Interval, LossConfig, Mains, NetworkConfig,
    OvenConfig, SnifferConfig, WifiConfig, WifiNetworkConfig, WireConfig, WiredNetworkConfig,
};
pub use events::NetworkEvent;
pub use framing::{Framing, LineKind};
pub use graph::{CellConfig, CellStationConfig, DirectionConfig, GraphConfig, LinkConfig, MAX_NODES, RouteConfig};
pub use network::Network;
pub use queue::{Discipline, QueueLimit, Setting, SettingValue, of as disciplines};
pub use rates::Rates;
pub use token_bucket::{Exceeding, PolicerConfig, TokenBucket};
pub use trace::{DeliveryTrace, TraceError};
pub use verdict::{DropCause, Hop, HopRecord, NodeId, Outcome, Packet, PacketId, SniffedFrame, Timeout, TimeoutReason};
