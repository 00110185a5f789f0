//! What an end says while it goes on.

use std::net::SocketAddr;

use framewire_units::Timestamp;
use serde_json::{Value, json};

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A receiver waits there.
    Listening(SocketAddr),
    /// The sender asks whether its peer is one of framewire's.
    Asking(SocketAddr),
    /// It is, and the clocks are known to so many seconds.
    Aligned(f64),
    /// Nobody answers: the peer may be any other program.
    NotAligned,
    /// The receiver's host has said for the first time that nothing receives at the port of the stream.
    Unreachable(Timestamp),
    /// The sender takes reports of the receiver at this port.
    TakingReports(u16),
    /// Something comes at a receiver that nobody has announced, and is thrown away.
    Unannounced,
    /// A stream has begun; of a receiver, what is announced of it.
    Started(String),
    /// Where it is.
    Progress {
        /// Since the first frame was due, or the first bytes came.
        at: Timestamp,
        /// Frames given to the transport; `None` at the receiver.
        offered: Option<u32>,
        /// Frames of the movie; `None` at the receiver, which does not know it.
        frames: Option<u32>,
        /// Frames given up at the sender, or that came with something missing.
        dropped: u32,
        /// Frames that came whole; `None` at the sender.
        whole: Option<u32>,
        /// Bytes that came; at the sender, of the frames given to the transport.
        bytes: u64,
    },
    /// All is sent, and leaves the host.
    Draining,
    /// A server waits for clients there, and has these paths.
    Serving(SocketAddr, Vec<String>),
    /// A movie is not served in this form, for this reason.
    LeftOut {
        /// Its name.
        name: String,
        /// How it would have been carried.
        transport: String,
        /// Why not.
        reason: String,
    },
    /// A movie is sent or received without its sound, for this reason.
    SoundLeftOut {
        /// Its name, where there are several.
        name: String,
        /// How it is carried.
        transport: String,
        /// Why not.
        reason: String,
    },
    /// So many tracks of sound besides the one that is received, or is not with the reason that was told.
    OtherSound(usize),
    /// A client was sent something, or not; as it stands in the server's journal.
    Client(Value),
    /// What a server does.
    Clients {
        /// Since it began.
        at: Timestamp,
        /// Connections that are open.
        open: usize,
        /// Bytes that were written to clients since it began.
        bytes: u64,
    },
}

/// Who is told.
pub type Listener<'a> = dyn FnMut(&Event) + Send + 'a;

impl Event {
    /// As JSON, with the kind in `event`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Listening(address) => json!({ "event": "listening", "address": address.to_string() }),
            Self::Asking(address) => json!({ "event": "asking", "address": address.to_string() }),
            Self::Aligned(error_s) => json!({ "event": "aligned", "error_s": error_s }),
            Self::Unreachable(at) => json!({ "event": "unreachable", "elapsed_s": at.as_secs_f64() }),
            Self::TakingReports(port) => json!({ "event": "taking reports", "port": port }),
            Self::Unannounced => json!({ "event": "unannounced" }),
            Self::NotAligned => json!({ "event": "not aligned" }),
            Self::Started(stream) => json!({ "event": "started", "stream": stream }),
            Self::Serving(address, paths) => {
                json!({ "event": "serving", "address": address.to_string(), "paths": paths })
            }
            Self::LeftOut { name, transport, reason } => {
                json!({ "event": "left out", "name": name, "transport": transport, "reason": reason })
            }
            Self::SoundLeftOut { name, transport, reason } => {
                json!({ "event": "sound left out", "name": name, "transport": transport, "reason": reason })
            }
            Self::OtherSound(tracks) => json!({ "event": "other sound", "tracks": tracks }),
            Self::Client(entry) => json!({ "event": "client", "client": entry }),
            Self::Clients { at, open, bytes } => {
                json!({ "event": "clients", "elapsed_s": at.as_secs_f64(), "open": open, "bytes": bytes })
            }
            Self::Draining => json!({ "event": "draining" }),
            Self::Progress { at, offered, frames, dropped, whole, bytes } => json!({
                "event": "progress",
                "elapsed_s": at.as_secs_f64(),
                "offered": offered,
                "frames": frames,
                "dropped": dropped,
                "whole": whole,
                "bytes": bytes,
            }),
        }
    }
}
