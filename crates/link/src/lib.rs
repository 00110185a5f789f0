//! Sans-IO link models: wired links, IEEE 802.11 as one shared medium, interference, and the network made of them.
//!
//! A link gives every packet exactly one verdict. Packets are enqueued, verdicts are polled: on a shared medium a
//! verdict depends on later arrivals, so it is settled only when the model's clock has passed it.

mod verdict;

pub use verdict::{DropCause, Hop, HopRecord, Outcome, Packet, PacketId, Port, SniffedFrame, Timeout, TimeoutReason};
