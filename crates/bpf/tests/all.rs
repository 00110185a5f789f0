//! All tests of this crate's public side in one program, which is linked once. A new file is named here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "sockets and threads of a world")]

mod building;
mod loading;
