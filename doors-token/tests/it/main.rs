//! The integration tests, one binary.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod keys;
mod pod;
mod roundtrip;
mod tamper;
mod vectors;

use std::net::IpAddr;

use doors_token::TokenCipher;

/// A secret of each key size: the ASCII digits and letters of the known answers.
const SECRETS: [&str; 3] = [
    "MDEyMzQ1Njc4OWFiY2RlZg==",
    "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
    "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
];

fn cipher(secret: &str) -> TokenCipher {
    TokenCipher::new(secret).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
