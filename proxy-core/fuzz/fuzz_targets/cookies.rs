//! `cargo fuzz run cookies`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proxy_core::fuzzing::cookies(data));
