//! Movies: elementary-stream scanners and the frame index.

mod index;

pub use index::{Frame, FrameIndex, FrameRate, GopHeader, PictureStructure, PictureType, SequenceHeader, TimeCode};
