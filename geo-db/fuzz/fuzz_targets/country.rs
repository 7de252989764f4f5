//! `cargo fuzz run country`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| geo_db::fuzzing::country(data));
