//! The public keys of who issues tokens, and what a token that they have signed says.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

use super::Claims;

/// Keys of a set that are used; no issuer has as many.
const MOST: usize = 100;

/// How far the clocks of an issuer and of this machine may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// The keys of an issuer.
#[derive(Debug)]
pub(super) struct KeySet(Vec<Key>);

struct Key {
    /// What tokens call it, if it has a name.
    id: Option<String>,
    /// The only algorithm that it is for, if it says one.
    algorithm: Option<Algorithm>,
    key: DecodingKey,
}

/// Why a token is worth nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Worthless {
    #[error("it is no token that is signed with a public key")]
    Malformed,
    /// There may be newer keys.
    #[error("nobody knows the key that it is signed with")]
    UnknownKey,
    #[error("its signature is wrong")]
    Signature,
    #[error("it has expired, or does not say when it does")]
    Expired,
    #[error("it is not valid yet")]
    TooEarly,
    #[error("somebody else has issued it")]
    Issuer,
    #[error("it does not say whom it is for")]
    Subject,
}

/// What a token must say beside the time.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    /// Who has issued it. Default: whoever has the keys.
    pub(super) issuer: Option<String>,
    /// Whether it says whom it is of.
    pub(super) subject: bool,
}

// === impl KeySet ===

impl KeySet {
    /// Reads a JWK set; what is no public key to verify with is left out. `None`: nothing is left.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_slice(text).ok()?;
        let keys: Vec<Key> = set.keys.into_iter().filter_map(Key::read).take(MOST).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// What a token says that one of the keys has signed.
    pub(super) fn open(&self, token: &str) -> Result<Claims, Worthless> {
        // Whoever names another algorithm, such as none, or one whose key is a secret, names none that is known here.
        let header = decode_header(token).map_err(|_| Worthless::Malformed)?;
        let algorithm = header.alg;
        if family(algorithm) == AlgorithmFamily::Hmac {
            return Err(Worthless::Malformed);
        }
        let mut validation = Validation::new(algorithm);
        // What it says is judged later, by the time that whoever runs the filter has.
        (validation.validate_exp, validation.validate_aud) = (false, false);
        validation.required_spec_claims.clear();
        let mut is_named = false;
        for key in self.0.iter().filter(|key| key.suits(algorithm)) {
            match (&header.kid, &key.id) {
                (Some(named), Some(id)) if named != id => continue,
                (Some(_), Some(_)) => is_named = true,
                _ => {}
            }
            if let Ok(data) = decode::<Claims>(token, &key.key, &validation) {
                return Ok(data.claims);
            }
        }
        Err(if is_named {
            Worthless::Signature
        } else {
            Worthless::UnknownKey
        })
    }
}

// === impl Key ===

impl Key {
    fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let is_public = matches!(
            jwk.algorithm,
            AlgorithmParameters::RSA(_)
                | AlgorithmParameters::EllipticCurve(_)
                | AlgorithmParameters::OctetKeyPair(_)
        );
        let verifies = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
        if !is_public || !verifies {
            return None;
        }
        let algorithm = match jwk.common.key_algorithm {
            None => None,
            Some(algorithm) => Some(algorithm.to_string().parse().ok()?),
        };
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self {
            id: jwk.common.key_id,
            algorithm,
            key,
        })
    }

    fn suits(&self, algorithm: Algorithm) -> bool {
        self.key.family() == family(algorithm) && self.algorithm.is_none_or(|only| only == algorithm)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

fn family(algorithm: Algorithm) -> AlgorithmFamily {
    match algorithm {
        Algorithm::RS256
        | Algorithm::RS384
        | Algorithm::RS512
        | Algorithm::PS256
        | Algorithm::PS384
        | Algorithm::PS512 => AlgorithmFamily::Rsa,
        Algorithm::ES256 | Algorithm::ES384 => AlgorithmFamily::Ec,
        Algorithm::EdDSA => AlgorithmFamily::Ed,
        // And whatever else there may be one day.
        _ => AlgorithmFamily::Hmac,
    }
}

// === impl Terms ===

impl Terms {
    /// Whether a token that says this is good at a time.
    pub(super) fn judge(&self, claims: &Claims, now: SystemTime) -> Result<(), Worthless> {
        let now = seconds(now.duration_since(UNIX_EPOCH).unwrap_or_default());
        let leeway = seconds(LEEWAY);
        let expires = claims.get("exp").and_then(Value::as_f64);
        if expires.is_none_or(|expires| now >= expires + leeway) {
            return Err(Worthless::Expired);
        }
        if let Some(begins) = claims.get("nbf")
            && begins.as_f64().is_none_or(|begins| now + leeway < begins)
        {
            return Err(Worthless::TooEarly);
        }
        let text = |name| claims.get(name).and_then(Value::as_str);
        if let Some(issuer) = &self.issuer
            && text("iss").is_none_or(|given| !is_same(given, issuer))
        {
            return Err(Worthless::Issuer);
        }
        if self.subject && text("sub").is_none_or(str::is_empty) {
            return Err(Worthless::Subject);
        }
        Ok(())
    }
}

/// Whether two URLs of issuers are one. Some write it with a slash at its end and some without.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[cfg(test)]
mod tests;
