//! What stands around a queue where a live stream comes in: which frame is which, what is counted, when a group of
//! pictures is lost and its encoder asked for a key frame, what keeps its place between frames, and where a receiver that
//! connects again can go on.

mod groups;
mod interleaved_queue;
mod key_frame_requests;
mod numbering;
mod resume;
mod stream_position;
mod tally;
#[cfg(test)]
mod testing;
mod untimed;

pub use groups::{GroupWatch, LostGroup};
pub use interleaved_queue::{InterleavedQueue, Item, SerializedEvent, TooManyEvents};
pub use key_frame_requests::KeyFrameRequests;
pub use numbering::Numbering;
pub use resume::Resume;
pub use stream_position::Placed;
pub use tally::{Count, Tally};
pub use untimed::Untimed;
