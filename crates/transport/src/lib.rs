//! Sans-IO sender and receiver halves of every transport, over two small socket traits.
//!
//! A sending half is a [frame queue](queue::FrameQueue) that decides which frame goes next, and a writer that
//! decides how a frame's bytes enter the socket. Time is an argument everywhere; nothing here opens a socket.

pub mod event;
pub mod socket;
