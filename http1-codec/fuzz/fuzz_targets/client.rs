//! `cargo fuzz run client`: see the module of the same name in the library.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1_codec_fuzz::client::check(data));
