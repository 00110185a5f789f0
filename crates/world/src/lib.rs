//! What the worlds share: scenario to link model, packet log to tables, results of a run.
//!
//! A world makes time pass and moves packets. Everything around it is the same everywhere, and stands here: which
//! flows share a network and what that network is ([`groups`], [`network_model`]), how the flows of a scenario are
//! set up ([`Content`]), how what the network said of a packet becomes rows of the packet table
//! ([`FlowPackets`]), what a run says while it goes on ([`Event`]), and how
//! it becomes a run directory ([`flow_log`], [`RunDescription`], [`write_documents`]).
#![warn(unreachable_pub)]

mod content;
mod description;
mod events;
mod groups;
mod hops;
mod movie;
mod network;
mod outcome;
mod packets;
mod settings;
mod utc;

pub use content::{Content, check_codec, load_ladder};
pub use description::{RunDescription, write_description, write_documents, write_scenario};
pub use events::{Counts, Event, FlowReport, FlowState, Throughput};
pub use groups::{group_name, groups, port, session_seed, start_of};
pub use hops::HopNames;
pub use movie::{MovieError, load_movie, load_sound};
pub use network::{NetworkError, network_model, read_trace};
pub use outcome::{contradiction, failures, flow_log, is_complete};
pub use packets::{FlowPackets, PacketDescription, Sequence};
pub use settings::{received_file, received_sound};
pub use utc::utc;
