//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod common;
mod decisions;
mod documents;
mod events;
#[path = "common/fields.rs"]
mod field_pictures;
mod fields;
#[path = "common/held.rs"]
mod held;
mod ifdsink;
mod live;
mod mpegstat;
mod pictures;
#[path = "common/pushed.rs"]
mod pushed;
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world wait for its threads")]
#[path = "common/receiver.rs"]
mod receiver;
mod receivers;
mod refusals;
mod restart;
#[path = "common/sending.rs"]
mod sending;
mod statistics;
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world wait for its threads")]
#[path = "common/streaming.rs"]
mod streaming;
mod teardown;
mod times;
mod vtp;
mod vtp_audio;
mod vtp_ladders;
mod vtp_live;
mod vtp_place;
mod vtp_refusals;
