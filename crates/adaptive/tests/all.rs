//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod audio;
mod live;
mod peers;
mod pipe;
mod repeats;
mod session;
