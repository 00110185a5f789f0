//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

#[path = "common/blocking_udp.rs"]
mod blocking_udp;
mod codel_reference;
mod common;
mod exchange;
mod fallback;
mod oven;
mod properties;
mod snapshots;
mod stations;
mod wifi_reference;
mod wired;
