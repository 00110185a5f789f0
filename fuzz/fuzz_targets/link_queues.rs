#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| framewire_fuzzing::run("link_queues", data));
