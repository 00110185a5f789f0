//! Time, rate, size, probability and seeded randomness: the units everything else is written in.
//!
//! Every quantity is a type, so that `Bitrate * Duration` is a [`DataSize`] and nothing else is.
//! Each type parses from text with a unit (`"11 Mbit/s"`, `"40 ms"`, `"1500 B"`, `"2 %"`) and displays
//! in the same notation. Nothing here reads a clock or an unseeded source of randomness.
#![warn(unreachable_pub)]

mod calendar;
mod carrier_sense;
mod data;
mod ecn;
mod jitter;
mod keywords;
mod lateness;
mod opus;
mod parse;
mod playout;
mod probability;
mod random;
mod time;
mod unit_suggestions;
pub mod vtp_estimates;

pub use calendar::civil_date;
pub use carrier_sense::SenseTimes;
pub use data::{Bitrate, DataSize};
pub use ecn::Ecn;
pub use jitter::JitterEstimator;
pub use keywords::{Keyword, UnknownKeyword};
pub use lateness::Lateness;
pub use opus::{NoOpusPacket, OPUS_CLOCK_RATE, OpusPacket};
pub use parse::{UnitError, format_duration, parse_duration};
pub use playout::{BufferMarks, Playout, PlayoutPolicy, Timing};
pub use probability::Probability;
pub use random::{Domain, RandomStream, Seed};
pub use std::time::Duration;
pub use time::Timestamp;
