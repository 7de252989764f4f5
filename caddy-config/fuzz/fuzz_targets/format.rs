//! `cargo fuzz run format`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| caddy_config::fuzzing::format(data));
