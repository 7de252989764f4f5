//! `cargo fuzz run document`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| route_store::fuzzing::document(data));
