//! GStreamer elements over the frame-aware transports: a stream that falls behind loses the frames that matter least,
//! what is left of it can be decoded, and the application is notified which frames went and why. Streams with intra
//! refresh show damaged pictures until a refresh has ended (`docs/decoders.md`).
//!
//! | element | what it does |
//! |---|---|
//! | [`ifdqueue`] | a queue that never makes its upstream wait: it drops frames by importance and decodability |
//! | [`ifdsink`] | sends over TCP or UDP, with the dropping queue directly before the socket |
//! | [`mpegstat`] | passes buffers through and reports every frame and every group of pictures |
//! | [`vtpsink`] | serves a streaming file to any number of clients, each at the level that its network can take |
//! | [`vtpsrc`] | is such a client: any player can be one |
//!
//! Elements are thin shells: `framewire-media` says what an access unit is and what it refers to, `framewire-transport`
//! decides what is dropped, and `framewire-adaptive` what is streamed. What elements share stands in modules of its own:
//! `codec` (what caps state), `frames` (a buffer as a frame), `settings`, `stats`.
//!
//! The library is a plugin (`make plugin`, then `GST_PLUGIN_PATH`); a Rust application can link it instead:
//!
//! ```
//! use gst::prelude::*;
//!
//! gst::init()?;
//! gstframewire::plugin_register_static()?;
//! let queue = gst::ElementFactory::make("ifdqueue").property_from_str("mode", "ifd-optimised").build()?;
//! assert!(queue.has_property("max-size-time"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(unreachable_pub)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "elements are a world: GStreamer's threads and clocks drive them"
)]

mod codec;
mod frames;
mod groups;
pub mod ifdqueue;
pub mod ifdsink;
mod lock;
pub mod mpegstat;
mod properties;
mod settings;
mod stats;
pub mod vtpsink;
pub mod vtpsrc;

#[allow(missing_docs, reason = "a macro writes it")]
mod plugin;

/// Registers every element in this process, for an application that links this library instead of loading the plugin.
pub use plugin::plugin_register_static;
