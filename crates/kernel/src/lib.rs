//! The channels of a flow over this kernel's sockets: what a [setup](framewire_session::ChannelSetup) asks for is opened, and
//! driven by either end of the flow ([`FlowEnd`](framewire_session::lifecycle::FlowEnd)), whatever it is that goes on them; and how
//! late the threads that drive them were woken ([`Wakes`]).
//!
//! The emulated world opens them in its hosts, and the real one on a machine each. Both wait by themselves, for what
//! [`FlowSockets::watched`] says.
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is a world: it opens sockets and has their times"
)]

mod addresses;
mod channel;
mod options;
mod sockets;
#[cfg(test)]
mod tests;
mod wakes;

pub use addresses::FlowAddresses;
pub use options::{receiver_options, sample_connection, tcp_options};
pub use sockets::FlowSockets;
pub use wakes::{FlowLateness, Lateness, Wakes};
