//! Addresses to tokens and back.

use std::{fmt, net::IpAddr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    DecodeError, KeyError,
    key::{Key, NONCE_LEN, TAG_LEN, random},
};

/// The longest text that [`TokenCipher::decode`] looks at, in bytes. Real tokens have 43 or 59; the rest is room to
/// tell an authentic token without an address ([`DecodeError::Address`]) from a text that was never a token.
pub const MAX_TOKEN_LEN: usize = 128;

/// What [`MAX_TOKEN_LEN`] characters decode to at most.
const MAX_SEALED_LEN: usize = MAX_TOKEN_LEN / 4 * 3;

/// Turns addresses into tokens and tokens into addresses.
///
/// One value serves any number of threads, and a clone shares the keys. `Debug` shows the number and size of the
/// keys, nothing else of them.
#[derive(Clone)]
pub struct TokenCipher {
    /// Never empty. The first key encodes, each of them may decode.
    keys: Arc<[Key]>,
}

// === impl TokenCipher ===

impl TokenCipher {
    /// A cipher with one key from `secret`: standard base64 with padding of 16, 24 or 32 bytes. White space at both
    /// ends is ignored, so that a secret may be read from a file that ends in a line break.
    ///
    /// # Errors
    ///
    /// [`KeyError::Base64`] and [`KeyError::Length`] for a bad secret; [`KeyError::Randomness`] if the operating
    /// system gives no random bytes, which [`encode`](Self::encode) will need.
    pub fn new(secret: &str) -> Result<Self, KeyError> {
        Self::with_secrets([secret])
    }

    /// A cipher for changing the key: it encodes with the first secret and decodes with any.
    ///
    /// To change a key without ending a session, first give every proxy the new secret as its *second* one, then let
    /// the apps use it, and drop the old one when the last pod that used it is gone. Each further key makes a token
    /// of a stranger cost one more try (see `benches/token.rs`), so keep the list short.
    ///
    /// # Errors
    ///
    /// [`KeyError::Missing`] without any secret, else as [`new`](Self::new) for the first bad one.
    pub fn with_secrets<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Result<Self, KeyError> {
        let keys = secrets
            .into_iter()
            .map(Key::parse)
            .collect::<Result<Arc<[Key]>, _>>()?;
        if keys.is_empty() {
            return Err(KeyError::Missing);
        }
        // Found out here, where the caller expects errors, rather than by the first `encode`.
        random::<NONCE_LEN>()?;
        Ok(Self { keys })
    }

    /// The token of `address`, sealed with the first key. Two tokens of one address differ, since each has its own
    /// random nonce. An IPv4-mapped IPv6 address is encoded as IPv4.
    ///
    /// # Panics
    ///
    /// If the operating system gives no random bytes although it did so when this cipher was built. There is nothing
    /// safe to return then: a repeated nonce would give the key away.
    #[must_use]
    pub fn encode(&self, address: IpAddr) -> String {
        let nonce = random().expect("the system gave random bytes when this cipher was built");
        self.encode_with_nonce(address, nonce)
    }

    /// The token of `address` under a given nonce, for known-answer tests. **Never use one nonce for two addresses**:
    /// whoever sees both tokens can then forge others.
    #[doc(hidden)]
    #[must_use]
    pub fn encode_with_nonce(&self, address: IpAddr, nonce: [u8; NONCE_LEN]) -> String {
        match address.to_canonical() {
            IpAddr::V4(address) => self.seal(nonce, address.octets()),
            IpAddr::V6(address) => self.seal(nonce, address.octets()),
        }
    }

    fn seal<const N: usize>(&self, nonce: [u8; NONCE_LEN], mut address: [u8; N]) -> String {
        let key = self.keys.first().expect("a cipher has at least one key");
        let tag = key.seal(&nonce, &mut address);
        URL_SAFE_NO_PAD.encode([nonce.as_slice(), address.as_slice(), tag.as_slice()].concat())
    }

    /// The address in `token`. An IPv4-mapped IPv6 address comes out as IPv4.
    ///
    /// Made for input from strangers: no allocation, no panic, and a text of more than [`MAX_TOKEN_LEN`] bytes is
    /// refused unread. Takes a `&str` or, as header fields come, bytes.
    ///
    /// # Errors
    ///
    /// The first check that fails: [`DecodeError::Base64`] for a text that is not the one spelling of a token,
    /// [`DecodeError::Cipher`] if none of the keys sealed it, [`DecodeError::Address`] if it holds no address.
    pub fn decode(&self, token: impl AsRef<[u8]>) -> Result<IpAddr, DecodeError> {
        self.decode_bytes(token.as_ref())
    }

    fn decode_bytes(&self, token: &[u8]) -> Result<IpAddr, DecodeError> {
        if token.len() > MAX_TOKEN_LEN {
            return Err(DecodeError::Base64);
        }
        let mut bytes = [0; MAX_SEALED_LEN];
        let len = URL_SAFE_NO_PAD
            .decode_slice(token, &mut bytes)
            .map_err(|_| DecodeError::Base64)?;
        let bytes = bytes.get(..len).ok_or(DecodeError::Base64)?;

        let (nonce, rest) = bytes.split_first_chunk().ok_or(DecodeError::Cipher)?;
        let (sealed, tag) = rest.split_last_chunk().ok_or(DecodeError::Cipher)?;
        let mut plain = [0; MAX_SEALED_LEN - NONCE_LEN - TAG_LEN];
        let plain = plain.get_mut(..sealed.len()).ok_or(DecodeError::Cipher)?;
        if !self
            .keys
            .iter()
            .any(|key| key.open(nonce, sealed, tag, plain).is_ok())
        {
            return Err(DecodeError::Cipher);
        }
        address(plain)
    }
}

impl fmt::Debug for TokenCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCipher").field("keys", &self.keys).finish()
    }
}

fn address(plain: &[u8]) -> Result<IpAddr, DecodeError> {
    let address = match *plain {
        [a, b, c, d] => IpAddr::from([a, b, c, d]),
        _ => IpAddr::from(<[u8; 16]>::try_from(plain).map_err(|_| DecodeError::Address)?),
    };
    Ok(address.to_canonical())
}
