//! What fuzzers ask of everything that reads bytes from a network or a file.
//!
//! A target takes any bytes and panics where a property does not hold. `make fuzz` gives each of them to libFuzzer, which
//! looks for such bytes (`fuzz/`, a workspace of its own); the tests here replay the corpora in `fuzz/corpus`, so that
//! what a fuzzer once reached stays reached. A new target is a module and a line in [`TARGETS`].
#![warn(unreachable_pub)]

use arbitrary::{Arbitrary, Unstructured};

mod movie;
mod sent_bytes;

/// A function over any bytes, by the name of its corpus.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Panics where a property does not hold.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// Every target, in alphabetical order.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), run: $name::run }),*];
    };
}

targets! {
    adaptive_client
    adaptive_host
    adaptive_rivals
    adaptive_server
    adaptive_tfrc
    emulator_headers
    link_queues
    link_trace
    media_access_units
    media_audio
    media_avi
    media_ladder
    media_movie
    media_scanner
    media_streaming_file
    recording_tables
    scenario_file
    session_content
    session_received
    session_rtsp
    session_served
    wire_depacketizer
    wire_exchange
    wire_http
    wire_mp4
    wire_mpeg_ts
    wire_nal_depacketizer
    wire_nal_round_trip
    wire_rfc4571
    wire_round_trip
    wire_rtcp
    wire_rtsp
    wire_sound_depacketizer
    wire_tfrc
    wire_vtp
}

/// Gives bytes to the target of this name.
///
/// # Panics
/// When there is no such target, or a property of it does not hold.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target {name}"));
    (target.run)(data);
}

/// Bytes as a value of a type, as libFuzzer's own macro makes it; `None` where they do not suffice.
fn decoded<'a, T: Arbitrary<'a>>(data: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(data)).ok()
}
