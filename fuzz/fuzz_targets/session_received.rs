#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| framewire_fuzzing::run("session_received", data));
