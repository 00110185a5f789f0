//! The simulated world: virtual clock, event queue, sockets with the kernel's semantics.
//!
//! A simulation is one network and the flows that share it, driven by one thread from event to event; no clock is
//! read. The sessions, transports, TCP endpoints and link models are those of the other worlds, and the same seed gives
//! the same result to the bit, on any machine.
//!
//! - [`simulate_run`] makes the run directory of a scenario, as the emulated world does.
//! - [`simulate_cell`] keeps to what a campaign needs: summaries and the hashes of the tables.
//! - [`Simulation`] is both without files.
//! - [`lone_connection`] is a TCP connection by itself, for validation and benchmarks.
#![warn(unreachable_pub)]

mod bulk;
mod cancel;
mod check;
mod error;
mod flow;
mod group_run;
pub mod lone_connection;
mod packet_content;
mod progress;
mod rates;
mod record;
mod run;
mod simulation;
mod socket;
mod wires;

pub use cancel::Cancel;
pub use check::{check_network, check_scenario};
pub use error::SimError;
pub use framewire_session::LadderContent;
pub use framewire_world::{Content, MovieError, check_codec, load_ladder, load_sound, read_trace};
pub use progress::{FlowProgress, Reports, Watch};
pub use run::{Cell, CellOptions, RunOptions, RunReport, TableHashes, simulate_cell, simulate_run};
pub use simulation::{EarlyEnd, Options, Received, Simulated, Simulation};
