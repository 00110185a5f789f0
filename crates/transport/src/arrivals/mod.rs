//! What a receiver can say of the frames that came: one row for each frame and each group of pictures, with the time at which
//! it was expected, its latency and the jitter, and the sums of them.

mod analysis;
mod row;
mod summary;
#[cfg(test)]
mod tests;

pub use analysis::{Analysis, Arrival};
pub use row::{COLUMNS, Column, FrameRow, GroupRow, Row, Value};
pub use summary::{Faults, Summary};
