//! Where a decoder shows the pictures that reach it, when others do not.
//!
//! Of the picture order counts of H.264 and H.265 a stream has only the low bits. A decoder completes them from the
//! picture before (ITU-T H.264, 8.2.1.1; H.265, 8.3.1): it takes the count that is nearest to that one's. Where so many
//! pictures are missing that the true count is not the nearest, every picture is placed too early or too late by whole
//! turns of the low bits, until one comes that needs no other for its count. Among themselves such pictures are in
//! order; among those of before they are not, and decoders pass over them or show them at other times.

mod numbers;
mod order;
mod renumbering;

pub use numbers::{PictureNumbers, Renumbering, SliceNumbers};
pub use order::{
    COUNTS_OF_A_FRAME, Entry, OutputRule, PictureOrder, Placed, ReceivedOrder, ReferenceMarks, kept_distances,
};
pub(crate) use order::{kept_at, turn_of};
pub use renumbering::{allow_gaps, allow_gaps_in_configuration, begin_sequence, renumber};
