//! The body of the fuzz target `decode`, here so that an ordinary test can replay its corpus.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    DecodeError, TokenCipher,
    key::{Key, NONCE_LEN, TAG_LEN},
};

const SECRETS: [&str; 2] = ["MDEyMzQ1Njc4OWFiY2RlZg==", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"];

static CIPHER: LazyLock<TokenCipher> =
    LazyLock::new(|| TokenCipher::with_secrets(SECRETS).expect("the secrets above are good"));

/// Decodes `data` as a stranger's text, then seals it as a plaintext of its own and decodes that, whole and with one
/// bit flipped.
///
/// # Panics
///
/// If a promise of the format is broken.
pub fn decode(data: &[u8]) {
    if CIPHER.decode(data).is_ok() {
        // Only the corpus knows the keys. Whatever decodes is the one spelling of its bytes.
        let bytes = URL_SAFE_NO_PAD.decode(data).expect("what decodes is base64");
        assert_eq!(URL_SAFE_NO_PAD.encode(bytes).as_bytes(), data);
    }
    if let Some((nonce, plain)) = data.split_first_chunk::<NONCE_LEN>() {
        sealed(nonce, plain);
    }
}

fn sealed(nonce: &[u8; NONCE_LEN], plain: &[u8]) {
    let key = Key::parse(SECRETS[1]).expect("the secret is good");
    let mut body = plain.to_vec();
    let tag: [u8; TAG_LEN] = key.seal(nonce, &mut body);
    let mut bytes = [nonce.as_slice(), &body, &tag].concat();

    let token = URL_SAFE_NO_PAD.encode(&bytes);
    let decoded = CIPHER.decode(&token);
    match plain.len() {
        4 | 16 => assert!(decoded.is_ok()),
        _ if token.len() > crate::MAX_TOKEN_LEN => assert_eq!(decoded, Err(DecodeError::Base64)),
        _ => assert_eq!(decoded, Err(DecodeError::Address)),
    }

    let flipped = usize::from(nonce[0]) % bytes.len();
    bytes[flipped] ^= 1 << (nonce[1] % 8);
    assert!(matches!(
        CIPHER.decode(URL_SAFE_NO_PAD.encode(&bytes)),
        Err(DecodeError::Cipher | DecodeError::Base64)
    ));
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn the_corpus_breaks_no_promise() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/decode");
        let mut replayed = 0;
        for entry in fs::read_dir(corpus).unwrap() {
            super::decode(&fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0);
    }
}
