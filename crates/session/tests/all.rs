//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod codecs;
mod content;
mod cut_off;
mod defaults;
#[path = "support/h264.rs"]
mod h264;
mod halves;
mod ladder_pictures;
mod ladder_plan;
#[path = "support/one_channel.rs"]
mod one_channel;
#[path = "support/packets.rs"]
mod packets;
mod pictures;
mod renumbered;
mod renumbered_content;
#[path = "../../media/tests/support/mod.rs"]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the tests of codecs start processes")]
mod support;
mod virtual_time;
