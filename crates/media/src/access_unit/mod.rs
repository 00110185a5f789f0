//! Access units as frame-aware dropping sees them: how important each one is, and what it refers to.
//!
//! An [`AccessUnitReader`] takes one whole access unit after the other, in decode order, and reads the headers above
//! the macroblocks. It is what a live pipeline needs, where nothing is known of the stream but what has passed.

mod fields;
pub(crate) mod mpeg_video;
mod reader;
mod unit;

pub use crate::codec::Codec;
pub use fields::{AssembledFrame, FrameAssembler};
pub use reader::AccessUnitReader;
pub use unit::{AccessUnit, AccessUnitError, FramePart, Framing, KeyKind};
