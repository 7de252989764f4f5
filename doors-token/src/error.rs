//! Why a secret or a token was refused. No text here shows a secret, a key or a token.

/// Why a secret makes no cipher.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not standard base64 (`A-Z a-z 0-9 + /`) with its padding.
    #[error("the secret is not standard base64 with padding (make one with `openssl rand -base64 32`)")]
    Base64,
    /// The text decodes, but to a number of bytes that no AES key has.
    #[error("the secret decodes to {bytes} bytes, an AES key has 16, 24 or 32")]
    Length {
        /// How many bytes the secret holds.
        bytes: usize,
    },
    /// [`TokenCipher::with_secrets`](crate::TokenCipher::with_secrets) was given none.
    #[error("there is no secret")]
    Missing,
    /// The operating system gives no random bytes, so that neither a nonce nor a secret can be made.
    #[error("the operating system gives no random bytes")]
    Randomness,
}

/// Why a token gave no address, in the order of checking.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The text is not the one URL-safe base64 form of some bytes: a character outside of `A-Z a-z 0-9 - _`, padding,
    /// white space, a last character with unused bits set, or more than
    /// [`MAX_TOKEN_LEN`](crate::MAX_TOKEN_LEN) characters.
    #[error("the token is not unpadded URL-safe base64 of a token's length")]
    Base64,
    /// The bytes were not sealed with any of the keys, or were changed since. Too few bytes, none at all included,
    /// are of this kind, too.
    #[error("the token was not made with this key")]
    Cipher,
    /// The bytes are authentic, but what they hold is neither 4 nor 16 bytes long.
    #[error("the token holds no address")]
    Address,
}
