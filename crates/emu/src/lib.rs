//! The emulated world: namespaces, wires, pumps and captures, in real time.
//!
//! A [`World`] has lanes. A lane is a sender's host and a receiver's host, each a network namespace with this kernel's
//! own protocol stack, joined by a link model. Packets are copied out of one host, given to the model with the
//! kernel's time stamp, and written to the other host at the moment that the model names.
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is a world: it reads the clock, owns threads and opens sockets"
)]

mod capture;
mod error;
mod kernel;
mod lane;
mod model;
mod preflight;
mod pump;
mod warm_up;
mod world;
mod writer_queue;

pub use capture::{CAPTURE_SIZE, CaptureOutcome, Kept, keep_headers};
pub use error::EmuError;
pub use framewire_endpoint::RunClock as Clock;
pub use framewire_link::BottleneckPlace;
pub use kernel::counters::DeviceCounters;
pub use kernel::gate::GateMethod;
pub use kernel::schedule::Scheduling;
pub use lane::LaneConfig;
pub use lane::distribution::Distribution;
pub use lane::headers::{Headers, Protocol};
pub use lane::live::{DirectionCounters, LaneCounters};
pub use lane::log::{Followed, LogFollower, Logged, PacketLog, PacketLogs, Release, follow_log};
pub use lane::record::{Accuracy, Evidence, Fidelity, LaneRecord, TOLERATED_LATENESS};
pub use lane::topology::{HOST_DEVICE, RECEIVER_ADDRESS, SENDER_ADDRESS};
pub use model::{FixedDelay, LinkModel, RateAndDelay};
pub use preflight::{Capability, Preflight, preflight};
pub use warm_up::WarmUp;
pub use world::{Lane, World};
