//! `cargo fuzz run expression`: see the body in the crate.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| caddy_config::fuzzing::expression(data));
