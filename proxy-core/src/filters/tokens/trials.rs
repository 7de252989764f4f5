//! Who issues tokens, and who is asked about them, for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::filters::trial::{Chain, Trial};
use crate::filters::witness::{Asked, Witness};

/// Signs tokens.
pub(super) struct Signer {
    pub(super) algorithm: Algorithm,
    pub(super) id: &'static str,
    key: EncodingKey,
    /// The public part.
    pub(super) jwk: Value,
}

/// A server whose pages the test writes.
pub(super) struct Authority {
    pub(super) witness: Witness,
    pages: Arc<Mutex<BTreeMap<String, String>>>,
}

// === impl Signer ===

impl Signer {
    /// With a key of its own.
    pub(super) fn new(algorithm: Algorithm, id: &'static str) -> Self {
        let kind = match algorithm {
            Algorithm::ES256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Algorithm::ES384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            Algorithm::EdDSA => &rcgen::PKCS_ED25519,
            _ => &rcgen::PKCS_RSA_SHA256,
        };
        let pair = KeyPair::generate_for(kind).unwrap();
        let (der, raw) = (pair.serialize_der(), pair.public_key_raw());
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let ec = |curve, raw: &[u8]| {
            let (x, y) = raw[1..].split_at(raw.len() / 2);
            json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)})
        };
        let (key, mut jwk) = match algorithm {
            Algorithm::ES256 => (EncodingKey::from_ec_der(&der), ec("P-256", raw)),
            Algorithm::ES384 => (EncodingKey::from_ec_der(&der), ec("P-384", raw)),
            Algorithm::EdDSA => (
                EncodingKey::from_ed_der(&der),
                json!({"kty": "OKP", "crv": "Ed25519", "x": text(raw)}),
            ),
            _ => {
                // What RSA has in PKCS #8 is behind a head of this length.
                let key = EncodingKey::from_rsa_der(&der[26..]);
                let jwk = jsonwebtoken::jwk::Jwk::from_encoding_key(&key, algorithm).unwrap();
                let mut jwk = serde_json::to_value(jwk).unwrap();
                jwk.as_object_mut().unwrap().remove("alg");
                (key, jwk)
            }
        };
        jwk["kid"] = id.into();
        Self {
            algorithm,
            id,
            key,
            jwk,
        }
    }

    pub(super) fn token(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.to_owned()).filter(|id| !id.is_empty());
        encode(&header, claims, &self.key).unwrap()
    }

    /// Signs with the same key by another algorithm.
    pub(super) fn by(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }
}

/// A JWK set.
pub(super) fn set(signers: &[&Signer]) -> String {
    let keys: Vec<&Value> = signers.iter().map(|signer| &signer.jwk).collect();
    json!({ "keys": keys }).to_string()
}

/// Seconds since 1970, so many from now.
pub(super) fn seconds(from_now: i64) -> i64 {
    let now: Duration = crate::clock::wall().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap() + from_now
}

// === impl Authority ===

impl Authority {
    /// With no page.
    pub(super) async fn new() -> Self {
        let pages = Arc::new(Mutex::new(BTreeMap::new()));
        let shown: Arc<Mutex<BTreeMap<String, String>>> = Arc::clone(&pages);
        let witness = Witness::new(move |asked: &Asked| {
            let path = asked.line.split(' ').nth(1).unwrap();
            let page = shown.lock().unwrap().get(path).cloned();
            page.unwrap_or_else(|| answer(404, ""))
        });
        Self {
            witness: witness.await,
            pages,
        }
    }

    /// One that issues tokens of which `key_set` are the keys.
    pub(super) async fn issuing(key_set: &str) -> Self {
        let this = Self::new().await;
        let url = this.url();
        let configuration = json!({
            "issuer": url,
            "jwks_uri": format!("{url}/keys"),
            "introspection_endpoint": format!("{url}/introspect"),
        });
        this.page(
            "/.well-known/openid-configuration",
            answer(200, &configuration.to_string()),
        );
        this.page("/keys", answer(200, key_set));
        this
    }

    /// Writes a page: a whole answer; an empty one never comes.
    pub(super) fn page(&self, path: &str, answer: String) {
        self.pages.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub(super) fn url(&self) -> String {
        self.witness.url()
    }

    /// How often it was asked.
    pub(super) fn asked(&mut self) -> usize {
        std::iter::from_fn(|| self.witness.was_asked().then_some(())).count()
    }
}

/// An answer with a body.
pub(super) fn answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// What becomes of a request with a token: its status, and what its backend would get.
pub(super) async fn trial(chain: &Chain, token: &str) -> (u16, Trial) {
    let mut trial = Trial::get("/").with("authorization", &format!("Bearer {token}"));
    trial.run(chain).await;
    (trial.status.as_u16(), trial)
}

/// The status of the answer to it; 200 if it passes.
pub(super) async fn status(chain: &Chain, token: &str) -> u16 {
    trial(chain, token).await.0
}

/// Time passes, and no answer comes meanwhile.
pub(super) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
