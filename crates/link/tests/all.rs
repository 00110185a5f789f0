//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

#[path = "common/blocking_udp.rs"]
mod blocking_udp;
mod codel_reference;
mod common;
mod dualpi2_reference;
mod exchange;
mod fallback;
mod ns3_queues;
#[path = "common/ns3_queues.rs"]
mod ns3_traffic;
mod oven;
mod properties;
mod snapshots;
mod stations;
mod wifi_reference;
mod wired;
