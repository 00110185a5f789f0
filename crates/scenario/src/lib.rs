//! The scenario file: keys, defaults, units, validation and the resolved form.
//!
//! [`Scenario::parse`] is the only way in: it reads TOML, lays overrides over it, fills every default and refuses
//! whatever is unknown or out of range with an error that names the key, the value and what is allowed. What it
//! returns is the resolved form, which needs no further checks. [`Scenario::to_toml`] writes it so that it reads back
//! to itself, and serde writes and reads the same form as JSON (through the same checks).
//!
//! `docs/scenario.md` describes every key.
#![warn(unreachable_pub)]

mod application;
mod clocks;
mod discipline;
mod equivalent;
mod error;
mod flow;
mod loss;
mod movie;
mod names;
mod network;
mod overrides;
mod parts;
mod picture;
mod placeholder;
mod playout;
mod scenario;
mod schema;
mod section;
mod shaping;
mod shell;
mod suggestions;
mod text;
mod transport;
mod wifi;

pub use application::{Capabilities, Input, Program, Receiver, Sender};
pub use error::ScenarioError;
pub use flow::{
    AdaptiveFlow, BulkFlow, Damaged, DatagramFlow, ExternalFlow, Flow, FlowKind, Pacing, Player, Rtcp, StreamFlow, Tcp,
    TcpOptions, Vtp, needs_ecn,
};
pub use movie::{Movie, MovieCodec};
pub use network::{Cell, GraphNetwork, Link, LinkDirection, Network, NetworkKind, PathNetwork, Wire, WiredLink};
pub use parts::Parts;
pub use picture::{FrameRate, PictureSize};
pub use placeholder::Placeholder;
pub use scenario::{Captures, Layout, Origin, Scenario, check_toml};
pub use schema::json_schema;
pub use shaping::{Policer, Shaper};
pub use suggestions::nearest;
pub use text::{Decibel, Text};
pub use transport::{Family, Transport};
pub use wifi::{Oven, Sniffer, Wifi, WifiRate};

#[cfg(test)]
mod tests;
