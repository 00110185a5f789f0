//! TCP Friendly Rate Control (RFC 5348), sans-IO: the rate that a TCP flow would have on the same path, without its
//! saw teeth.
//!
//! - [`Sender`] and [`Receiver`] are the two ends, usable apart from everything else of this crate;
//!   `framewire_wire::tfrc` has their packets.
//! - [`Equation`] is the throughput equation and its inverse, [`LossHistory`] the average loss interval.
//! - [`TfrcController`] is the sender as a [`Controller`](crate::controller::Controller) of a stream of levels.
//!
//! `docs/tfrc.md` says what of the RFC is here, what was decided where it leaves a choice, and what was measured.

mod arrivals;
mod controller;
mod data_limits;
mod equation;
mod loss_detector;
mod loss_history;
mod receive_limit;
mod receiver;
mod sender;
mod settings;

#[cfg(test)]
mod tests;

pub use controller::TfrcController;
pub use equation::{Equation, RetransmissionTimeout};
pub(crate) use loss_history::{LossHistory, Weights};
pub use receiver::{DataPacket, Receiver};
pub use sender::{Limit, Sender};
pub use settings::{ReceiverSettings, SegmentSize, SenderSettings};
