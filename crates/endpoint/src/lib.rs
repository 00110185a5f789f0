//! The real world: servers and clients of adaptive streams over this kernel's sockets.
//!
//! [`Serving`] drives a [`Host`](framewire_adaptive::host::Host), [`ClientDriver`] a
//! [`Client`](framewire_adaptive::client::Client); both are one thread that waits for two sockets and a timer. Nothing
//! listens on more than the addresses that it was given. A caller that drives one half of a session on a clock of its
//! own takes the [`Ports`].
//!
//! A caller that must not block drives them on a thread of their own: a [`service`], a [`reception`], and the
//! [`writer`] of a live stream over TCP or RTP.
//!
//! What is received goes into [`Files`]: a [`ReceivedFile`], and its audio into an [`AudioFile`] beside that, both within
//! an [`Allowance`]. What is served comes out of one ([`FileService`]). [`SilenceWatch`] and [`SessionsWithoutFeedback`] notice what does
//! not come although it should, at the client and at the server.
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is a world: it opens sockets, reads clocks and waits"
)]

mod allowance;
mod audio_file;
mod client_driver;
mod client_outcome;
mod client_to_files;
mod clock;
mod error;
mod file_host;
mod no_feedback;
mod ports;
mod random;
mod received_file;
pub mod reception;
mod run_clock;
mod serve;
mod server_loop;
pub mod service;
mod silence;
#[cfg(test)]
mod testing;
pub mod writer;

pub use allowance::Allowance;
pub use audio_file::{AudioFile, ReceivedAudio};
pub use client_driver::ClientDriver;
pub use client_outcome::ClientOutcome;
pub use client_to_files::{ClientNotice, Files};
pub use clock::{Clock, MonotonicClock};
pub use error::EndpointError;
pub use file_host::{FileHost, FileService, NotServed};
pub use no_feedback::{SessionWithoutFeedback, SessionsWithoutFeedback};
pub use ports::Ports;
pub use random::{random_secret, random_session};
pub use received_file::ReceivedFile;
pub use run_clock::RunClock;
pub use serve::{Served, Serving};
pub use silence::{Silence, SilenceWatch};

use framewire_units::Duration;

/// Time between two looks whether the work is to end.
const TICK: Duration = Duration::from_millis(100);
