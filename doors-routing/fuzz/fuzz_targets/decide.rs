//! `cargo fuzz run decide`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| doors_routing::fuzzing::decide(data));
