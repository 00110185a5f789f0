//! Adaptive streaming over pre-encoded levels, sans-IO: schedules, rate controllers, and the two halves of a session.
//!
//! A ladder holds the same movie at several levels. A schedule says how fast each level has to be sent, a controller
//! how fast the network lets it be sent and so which level, and the server and the client carry it. Time is an
//! argument everywhere; nothing here opens a socket, reads a clock or waits.
#![warn(unreachable_pub)]

pub mod binomial;
pub mod client;
pub mod controller;
pub mod datagram;
pub mod fixed;
pub mod frame_plan;
pub mod host;
pub mod hybrid;
pub mod live;
mod liveness;
mod path_reports;
pub mod rap;
pub mod rate_control;
mod requests;
#[cfg(test)]
mod rivals_tests;
pub mod schedule;
pub mod server;
pub mod source;
pub mod stored;
#[cfg(test)]
mod testing;
pub mod tfrc;
pub mod vtp;
