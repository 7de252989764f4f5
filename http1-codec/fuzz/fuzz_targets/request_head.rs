//! `cargo fuzz run request_head`: see the module of the same name in the library.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1_codec_fuzz::request_head::check(data));
