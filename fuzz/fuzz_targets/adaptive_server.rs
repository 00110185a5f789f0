#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| framewire_fuzzing::run("adaptive_server", data));
