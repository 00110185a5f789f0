//! The real world: a movie from one machine to another, by every transport of the registry.
//!
//! The halves of a session, their queues, pacing and records are those of the lab; here they have this kernel's sockets,
//! and a machine each. [`send`] and [`receive`] are the two ends, a thread each. Every end writes a directory of what it
//! recorded, and [`join`] makes a run of both: the ledger, with all times on the sender's clock.
//!
//! The two ends find each other by an [exchange](framewire_wire::exchange) at the port above the stream's: the sender says
//! there what it sends, and both compare their clocks. Without a peer that answers there, the stream is sent all the same,
//! as other programs receive it; then the clocks are not aligned.
//!
//! [`serve`] is a sender with many receivers, which open connections and ask for what they want.
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is a world: it opens sockets, reads clocks and waits"
)]

mod client;
mod clocks;
mod directory;
mod error;
mod events;
mod exchange;
mod join;
mod receiving;
mod recorded;
mod sending;
mod serving;
mod session_description;

pub use client::{ClientOptions, receive_from_server};
pub use clocks::{Alignment, Sample};
pub use error::RealError;
pub use events::{Event, Listener};
pub use framewire_session::served::ServingPolicy;
pub use join::{Joined, join};
pub use receiving::{ReceiveOptions, Received, receive};
pub use sending::{SendOptions, Sent, send};
pub use serving::{MOST_CLIENTS, Scheme, ServeOptions, Served, ServedMovie, serve};
pub use session_description::{DescribedStreams, described_streams};

use framewire_units::Duration;

/// Time between two looks whether the work is to end.
const TICK: Duration = Duration::from_millis(50);

/// Time between two reports of what happens.
const BETWEEN_REPORTS: Duration = Duration::from_millis(200);
