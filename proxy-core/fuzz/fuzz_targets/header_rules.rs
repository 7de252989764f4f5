//! `cargo fuzz run header_rules`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proxy_core::fuzzing::header_rules(data));
