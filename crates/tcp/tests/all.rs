//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod bbr;
mod common;
mod ecn;
mod receiving;
mod slow_start;
mod transfer;
