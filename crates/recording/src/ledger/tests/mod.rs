//! The analyser is judged on faults that were injected by hand, and on properties of random flows.

mod delays;
mod faults;
mod properties;
mod sound;
