//! The encrypted pod-IP token of [Doors](https://github.com/doors-dev) apps.
//!
//! A Doors app names its system paths (`/~/<token>/…`), its session cookie and its affinity cookie after the
//! address of the pod that it runs on, encrypted with a key that only the apps and their proxy know. A proxy that
//! holds the key reads the pod's address from the token; everybody else sees noise.
//!
//! ```
//! use doors_token::TokenCipher;
//!
//! let secret = doors_token::generate_secret()?; // what `openssl rand -base64 32` prints
//! let cipher = TokenCipher::new(&secret)?;
//!
//! let token = cipher.encode("10.0.0.5".parse()?);
//! assert_eq!(cipher.decode(&token)?, "10.0.0.5".parse::<std::net::IpAddr>()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The format
//!
//! | part | form |
//! | --- | --- |
//! | secret | standard base64 with padding of 16, 24 or 32 bytes: an AES-128, -192 or -256 key |
//! | plaintext | the address's bytes in network order: 4 for IPv4, 16 for IPv6 |
//! | sealed | AES-GCM: 12 bytes of random nonce, the ciphertext, a 16-byte tag; additional data `doors-pod-ip-v1` |
//! | token | URL-safe base64 without padding: 43 characters for IPv4, 59 for IPv6 |
//!
//! An IPv4-mapped address (`::ffff:10.0.0.5`) is IPv4, whichever end of the token it comes from: a mapped one would
//! match no IPv4 network, and its token would lead nowhere.
//!
//! A token holds no time and no version. It is good for as long as its key is; [`TokenCipher::with_secrets`] changes
//! the key without cutting anybody's session.
//!
//! # What this crate promises
//!
//! - [`TokenCipher::decode`] takes input from strangers: it neither panics nor allocates, refuses overlong text
//!   before it reads it, and accepts exactly one spelling of each token.
//! - Keys are wiped from memory when the cipher goes, and no `Debug` or error text shows one.
//! - Nothing here needs an async runtime, a clock or the environment. AES and GHASH instructions of the processor
//!   (AES-NI, VAES and PCLMULQDQ on x86, the cryptographic extensions on ARM) are found at run time and used; without
//!   them a constant-time software form takes over.

#![cfg_attr(
    not(any(test, fuzzing)),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod cipher;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod key;

pub use cipher::{MAX_TOKEN_LEN, TokenCipher};
pub use error::{DecodeError, KeyError};
pub use key::generate_secret;

/// The README's snippets are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
