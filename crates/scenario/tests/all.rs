//! All tests of this crate's public side in one program, which is linked once. A new file is named here.

mod application;
mod captures;
mod flows;
mod rivals;
mod transports;
mod wifi;
