//! `cargo fuzz run eskip`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| eskip::fuzzing::eskip(data));
