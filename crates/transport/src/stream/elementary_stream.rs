//! The frames as they are.

use super::format::{Piece, StreamFormat};
use crate::frame::OutgoingFrame;

/// The frames as they are, one behind the other.
#[derive(Debug)]
pub(super) struct ElementaryStream;

impl StreamFormat for ElementaryStream {
    fn of_frame(&mut self, frame: &OutgoingFrame) -> Option<Piece> {
        Some(Piece::whole(frame.bytes.clone()))
    }
}
