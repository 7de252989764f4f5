//! From a secret's text to an AES-GCM key, and the making of new secrets.

use std::fmt;

use aes::{Aes192, cipher::consts::U12};
use aes_gcm::{AeadInOut, Aes128Gcm, Aes256Gcm, AesGcm, KeyInit, Nonce, Tag, aead::inout::InOutBuf};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use crate::KeyError;

/// Bytes of the nonce at the front of a sealed address.
pub(crate) const NONCE_LEN: usize = 12;

/// Bytes of the tag at the end of a sealed address.
pub(crate) const TAG_LEN: usize = 16;

/// What the tag covers besides the address, so that a key that is also used elsewhere makes no valid token there.
const ADDITIONAL_DATA: &[u8] = b"doors-pod-ip-v1";

/// One AES-GCM key. Both the round keys and the hash key are wiped when it is dropped.
#[derive(Clone)]
pub(crate) enum Key {
    Aes128(Aes128Gcm),
    Aes192(AesGcm<Aes192, U12>),
    Aes256(Aes256Gcm),
}

/// The bytes were not sealed with this key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotSealed;

// === impl Key ===

impl Key {
    /// Reads a secret: standard base64 with padding, white space at both ends ignored.
    pub(crate) fn parse(secret: &str) -> Result<Self, KeyError> {
        let text = secret.trim();
        // Reserved before decoding, so that no reallocation leaves a copy of the key behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(base64::decoded_len_estimate(text.len())));
        STANDARD
            .decode_vec(text, &mut bytes)
            .map_err(|_| KeyError::Base64)?;
        Self::from_bytes(&bytes).ok_or(KeyError::Length { bytes: bytes.len() })
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if let Ok(key) = Aes256Gcm::new_from_slice(bytes) {
            return Some(Self::Aes256(key));
        }
        if let Ok(key) = AesGcm::new_from_slice(bytes) {
            return Some(Self::Aes192(key));
        }
        Aes128Gcm::new_from_slice(bytes).map(Self::Aes128).ok()
    }

    /// Encrypts `buffer` in place and returns its tag.
    pub(crate) fn seal(&self, nonce: &[u8; NONCE_LEN], buffer: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = Nonce::from(*nonce);
        let buffer = InOutBuf::from(buffer);
        let tag = match self {
            Self::Aes128(key) => key.encrypt_inout_detached(&nonce, ADDITIONAL_DATA, buffer),
            Self::Aes192(key) => key.encrypt_inout_detached(&nonce, ADDITIONAL_DATA, buffer),
            Self::Aes256(key) => key.encrypt_inout_detached(&nonce, ADDITIONAL_DATA, buffer),
        };
        tag.expect("an address is shorter than the 64 GiB that AES-GCM can seal")
            .into()
    }

    /// Checks the tag of `sealed` and writes the plaintext to `plain`, which has the same length.
    pub(crate) fn open(
        &self,
        nonce: &[u8; NONCE_LEN],
        sealed: &[u8],
        tag: &[u8; TAG_LEN],
        plain: &mut [u8],
    ) -> Result<(), NotSealed> {
        let (nonce, tag) = (Nonce::from(*nonce), Tag::from(*tag));
        let buffer = InOutBuf::new(sealed, plain).map_err(|_| NotSealed)?;
        match self {
            Self::Aes128(key) => key.decrypt_inout_detached(&nonce, ADDITIONAL_DATA, buffer, &tag),
            Self::Aes192(key) => key.decrypt_inout_detached(&nonce, ADDITIONAL_DATA, buffer, &tag),
            Self::Aes256(key) => key.decrypt_inout_detached(&nonce, ADDITIONAL_DATA, buffer, &tag),
        }
        .map_err(|_| NotSealed)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Aes128(_) => "Aes128",
            Self::Aes192(_) => "Aes192",
            Self::Aes256(_) => "Aes256",
        };
        f.write_str(name)
    }
}

/// Makes a new secret: 32 random bytes of the operating system (an AES-256 key) in standard base64, 44 characters.
///
/// # Errors
///
/// [`KeyError::Randomness`] if the operating system gives no random bytes.
///
/// ```
/// let secret = doors_token::generate_secret()?;
/// assert_eq!(secret.len(), 44);
/// assert!(doors_token::TokenCipher::new(&secret).is_ok());
/// # Ok::<(), doors_token::KeyError>(())
/// ```
pub fn generate_secret() -> Result<String, KeyError> {
    let key = Zeroizing::new(random::<32>()?);
    Ok(STANDARD.encode(key.as_slice()))
}

/// Random bytes of the operating system, asked for each time: a copy of the process can never repeat them.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| KeyError::Randomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use aes::{Aes128, Aes192, Aes256};
    use aes_gcm::AesGcm;
    use zeroize::ZeroizeOnDrop;

    use super::U12;

    #[test]
    fn every_kind_of_key_is_wiped_when_it_is_dropped() {
        // The proof is that this compiles: the cipher promises it for itself and for its hash.
        fn wiped<T: ZeroizeOnDrop>() {}
        wiped::<AesGcm<Aes128, U12>>();
        wiped::<AesGcm<Aes192, U12>>();
        wiped::<AesGcm<Aes256, U12>>();
    }
}
