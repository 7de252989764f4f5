//! Password hashes in the forms that Caddy writes: bcrypt and Argon2id.

use std::fmt;

use argon2::password_hash::phc;
use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version};
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD, STANDARD_NO_PAD};

/// With what Caddy hashes passwords, for bcrypt.
const BCRYPT_COST: u32 = 14;

/// The same for Argon2id: KiB of memory, passes, lanes, and the length of the result in bytes.
const ARGON2: (u32, u32, u32, usize) = (47_104, 1, 1, 32);

/// What bcrypt takes of a password, in bytes.
const BCRYPT_LIMIT: usize = 72;

/// The most memory for one comparison, in KiB: 1 GiB.
const MEMORY_LIMIT: u32 = 1024 * 1024;

/// The most passes over that memory.
const PASSES_LIMIT: u32 = 1000;

/// The base64 of bcrypt, which has an alphabet of its own.
const BCRYPT: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::BCRYPT, NO_PAD);

/// How passwords are hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PasswordAlgorithm {
    /// `$argon2id$v=19$m=47104,t=1,p=1$SALT$HASH`.
    Argon2id,
    /// `$2a$14$SALTHASH`, the default.
    #[default]
    Bcrypt,
}

/// The hash of a password.
pub(crate) struct PasswordHash {
    text: String,
    kind: Kind,
}

enum Kind {
    Argon2id(Box<phc::PasswordHash>),
    Bcrypt {
        cost: u32,
    },
    /// Takes as long as a test wants, and is of every password that is not empty.
    #[cfg(test)]
    Held(std::sync::Arc<std::sync::RwLock<()>>),
}

/// A text is no hash of the algorithm that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HashError {
    /// It begins with no `$`, and is no base64 either.
    #[error("neither a hash, which begins with `$`, nor the base64 of one")]
    Encoding,
    /// It is no bcrypt hash.
    #[error("not a bcrypt hash such as `$2a$14$...`; `doorway hash-password` makes one")]
    Bcrypt,
    /// It is no Argon2id hash.
    #[error(
        "not an Argon2id hash such as `$argon2id$v=19$m=47104,t=1,p=1$...`; `doorway hash-password --algorithm argon2id` makes one"
    )]
    Argon2id,
    /// Comparing with it would take too much.
    #[error("more memory than 1 GiB, or more than 1000 passes, for each comparison")]
    Costs,
}

/// Why a password could not be hashed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HashPasswordError {
    /// There is none.
    #[error("the password is empty")]
    Empty,
    /// bcrypt would leave out what is behind that.
    #[error("bcrypt takes passwords of up to 72 bytes; this one is longer")]
    TooLong,
    /// The algorithm failed, such as for lack of memory or randomness.
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

/// Hashes a password with a random salt, at the cost that Caddy takes: 14 for bcrypt, 46 MiB for Argon2id.
/// It takes about a second.
///
/// # Errors
///
/// If there is no password, or one that the algorithm does not take as a whole.
pub fn hash_password(algorithm: PasswordAlgorithm, password: &[u8]) -> Result<String, HashPasswordError> {
    if password.is_empty() {
        return Err(HashPasswordError::Empty);
    }
    match algorithm {
        PasswordAlgorithm::Bcrypt => bcrypt(password, BCRYPT_COST),
        PasswordAlgorithm::Argon2id => argon2id(password, ARGON2),
    }
}

fn bcrypt(password: &[u8], cost: u32) -> Result<String, HashPasswordError> {
    if password.len() > BCRYPT_LIMIT {
        return Err(HashPasswordError::TooLong);
    }
    let parts = bcrypt::hash_with_result(password, cost).map_err(failed)?;
    Ok(parts.format_for_version(bcrypt::Version::TwoA))
}

fn argon2id(
    password: &[u8],
    (memory, passes, lanes, length): (u32, u32, u32, usize),
) -> Result<String, HashPasswordError> {
    let params = Params::new(memory, passes, lanes, Some(length)).map_err(failed)?;
    let salt: [u8; 16] = random().map_err(failed)?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash: phc::PasswordHash = argon2.hash_password_with_salt(password, &salt).map_err(failed)?;
    Ok(hash.to_string())
}

fn failed(error: impl fmt::Display) -> HashPasswordError {
    HashPasswordError::Failed(error.to_string())
}

// === impl PasswordHash ===

impl PasswordHash {
    /// Reads a hash, or the base64 of one.
    pub(crate) fn parse(text: &str, algorithm: PasswordAlgorithm) -> Result<Self, HashError> {
        let text = if text.starts_with('$') {
            text.to_owned()
        } else {
            let bytes = STANDARD.decode(text).map_err(|_| HashError::Encoding)?;
            String::from_utf8(bytes).map_err(|_| HashError::Encoding)?
        };
        let kind = match algorithm {
            PasswordAlgorithm::Bcrypt => {
                let parts: bcrypt::HashParts = text.parse().map_err(|_| HashError::Bcrypt)?;
                let cost = parts.get_cost();
                if !(4..=31).contains(&cost) {
                    return Err(HashError::Bcrypt);
                }
                Kind::Bcrypt { cost }
            }
            PasswordAlgorithm::Argon2id => Kind::Argon2id(Box::new(read_argon2id(&text)?)),
        };
        Ok(Self { text, kind })
    }

    /// A hash that no password has, as costly to compare with as `like`.
    pub(super) fn fake(like: Option<&Self>, algorithm: PasswordAlgorithm) -> Self {
        // Without randomness it is still a hash, of a password that nobody knows.
        let salt: [u8; 16] = random().unwrap_or_default();
        let hash: [u8; 32] = random().unwrap_or_default();
        let text = match (like.map(|like| &like.kind), algorithm) {
            (Some(Kind::Argon2id(like)), _) => fake_argon2id(&like.params.to_string(), &salt, &hash),
            (None, PasswordAlgorithm::Argon2id) => {
                let (memory, passes, lanes, _) = ARGON2;
                fake_argon2id(&format!("m={memory},t={passes},p={lanes}"), &salt, &hash)
            }
            #[cfg(test)]
            (Some(Kind::Held(_)), _) => fake_bcrypt(4, &salt, &hash),
            (Some(Kind::Bcrypt { cost }), _) => fake_bcrypt(*cost, &salt, &hash),
            (None, PasswordAlgorithm::Bcrypt) => fake_bcrypt(BCRYPT_COST, &salt, &hash),
        };
        Self::parse(&text, algorithm).unwrap_or(Self {
            text,
            kind: Kind::Bcrypt { cost: BCRYPT_COST },
        })
    }

    /// Compares, in constant time once the password is hashed, which takes up to seconds. `None` if that failed,
    /// such as for lack of memory.
    pub(super) fn is_of(&self, password: &[u8]) -> Option<bool> {
        match &self.kind {
            Kind::Bcrypt { .. } => bcrypt::verify(password, &self.text).ok(),
            #[cfg(test)]
            Kind::Held(until) => until.read().ok().map(|_| !password.is_empty()),
            Kind::Argon2id(hash) => match Argon2::default().verify_password(password, &**hash) {
                Ok(()) => Some(true),
                Err(argon2::password_hash::Error::PasswordInvalid) => Some(false),
                Err(_) => None,
            },
        }
    }

    /// What orders hashes of one algorithm by the time that it takes to compare with them.
    pub(super) fn cost(&self) -> u64 {
        match &self.kind {
            Kind::Bcrypt { cost } => u64::from(*cost),
            #[cfg(test)]
            Kind::Held(_) => 0,
            Kind::Argon2id(hash) => Params::try_from(&**hash).map_or(0, |params| {
                u64::from(params.m_cost()).saturating_mul(u64::from(params.t_cost()))
            }),
        }
    }

    /// Takes as long as `until` is locked for writing.
    #[cfg(test)]
    pub(super) fn held(until: &std::sync::Arc<std::sync::RwLock<()>>) -> Self {
        Self {
            text: "held".to_owned(),
            kind: Kind::Held(std::sync::Arc::clone(until)),
        }
    }

    /// What tells it from other hashes.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

fn read_argon2id(text: &str) -> Result<phc::PasswordHash, HashError> {
    let hash = phc::PasswordHash::new(text).map_err(|_| HashError::Argon2id)?;
    let is_whole = hash.salt.is_some() && hash.hash.is_some();
    if hash.algorithm.as_str() != "argon2id" || hash.version != Some(19) || !is_whole {
        return Err(HashError::Argon2id);
    }
    let params = Params::try_from(&hash).map_err(|_| HashError::Argon2id)?;
    if params.m_cost() > MEMORY_LIMIT || params.t_cost() > PASSES_LIMIT {
        return Err(HashError::Costs);
    }
    Ok(hash)
}

fn fake_argon2id(params: &str, salt: &[u8], hash: &[u8]) -> String {
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19${params}${salt}${hash}")
}

fn fake_bcrypt(cost: u32, salt: &[u8; 16], hash: &[u8; 32]) -> String {
    let hash = hash.first_chunk::<23>().map(|hash| BCRYPT.encode(hash));
    format!(
        "$2a${cost:02}${}{}",
        BCRYPT.encode(salt),
        hash.unwrap_or_default()
    )
}

fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Caddy: `caddy hash-password -p secret`, with little cost.
    const OF_CADDY: [(PasswordAlgorithm, &str); 2] = [
        (
            PasswordAlgorithm::Bcrypt,
            "$2a$04$edJKGmufMbVkhr1oINDkbuwdmmMwcIQarMrCV2Hgdm9CFg8kMcm5W",
        ),
        (
            PasswordAlgorithm::Argon2id,
            "$argon2id$v=19$m=64,t=1,p=1$WIFHs8r0YeXji3IOEXWOFw$b9QuGeqxYjIGDrnCCgFZRnbgvfB8CvAcyxCG/lTmpCs",
        ),
    ];

    #[test]
    fn hashes_that_caddy_made_are_those_of_their_password() {
        for (algorithm, text) in OF_CADDY {
            let wrapped = STANDARD.encode(text);
            for text in [text, &wrapped] {
                let hash = PasswordHash::parse(text, algorithm).unwrap();
                assert_eq!(hash.is_of(b"secret"), Some(true), "{algorithm:?}");
                assert_eq!(hash.is_of(b"Secret"), Some(false), "{algorithm:?}");
                assert_eq!(hash.is_of(b""), Some(false), "{algorithm:?}");
            }
        }
    }

    #[test]
    fn what_is_hashed_here_is_read_here() {
        let bcrypt = bcrypt(b"secret", 4).unwrap();
        assert!(bcrypt.starts_with("$2a$04$"), "{bcrypt}");
        assert!(
            PasswordHash::parse(&bcrypt, PasswordAlgorithm::Bcrypt)
                .unwrap()
                .is_of(b"secret")
                == Some(true)
        );
        let argon2id = argon2id(b"secret", (64, 1, 1, 32)).unwrap();
        assert!(argon2id.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{argon2id}");
        assert!(
            PasswordHash::parse(&argon2id, PasswordAlgorithm::Argon2id)
                .unwrap()
                .is_of(b"secret")
                == Some(true)
        );
    }

    #[test]
    fn other_texts_are_refused() {
        use PasswordAlgorithm::{Argon2id, Bcrypt};
        let [(_, bcrypt), (_, argon2id)] = OF_CADDY;
        for (text, algorithm, expected) in [
            ("", Bcrypt, HashError::Bcrypt),
            ("secret", Bcrypt, HashError::Encoding),
            ("c2VjcmV0", Bcrypt, HashError::Bcrypt),
            ("$2a$", Bcrypt, HashError::Bcrypt),
            (&bcrypt.replacen("$04$", "$03$", 1), Bcrypt, HashError::Bcrypt),
            (argon2id, Bcrypt, HashError::Bcrypt),
            (bcrypt, Argon2id, HashError::Argon2id),
            (
                "$argon2i$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
                Argon2id,
                HashError::Argon2id,
            ),
            (
                "$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA",
                Argon2id,
                HashError::Argon2id,
            ),
            (
                "$argon2id$v=19$m=4194304,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
                Argon2id,
                HashError::Costs,
            ),
        ] {
            assert_eq!(
                PasswordHash::parse(text, algorithm).unwrap_err(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn passwords_that_cannot_be_hashed_as_a_whole_are_refused() {
        for algorithm in [PasswordAlgorithm::Bcrypt, PasswordAlgorithm::Argon2id] {
            assert!(matches!(
                hash_password(algorithm, b""),
                Err(HashPasswordError::Empty)
            ));
        }
        assert!(matches!(bcrypt(&[b'x'; 73], 4), Err(HashPasswordError::TooLong)));
        assert!(bcrypt(&[b'x'; 72], 4).is_ok());
    }

    #[test]
    fn a_fake_hash_costs_the_same_and_is_of_no_password() {
        for (algorithm, text) in OF_CADDY {
            let real = PasswordHash::parse(text, algorithm).unwrap();
            let fake = PasswordHash::fake(Some(&real), algorithm);
            assert_eq!(fake.is_of(b"secret"), Some(false));
            let fake = PasswordHash::parse(fake.as_str(), algorithm).unwrap();
            assert_eq!(fake.cost(), real.cost(), "{algorithm:?}");
            assert_ne!(fake.as_str(), PasswordHash::fake(Some(&real), algorithm).as_str());
        }
        for algorithm in [PasswordAlgorithm::Bcrypt, PasswordAlgorithm::Argon2id] {
            let fake = PasswordHash::fake(None, algorithm);
            assert!(
                PasswordHash::parse(fake.as_str(), algorithm).is_ok(),
                "{algorithm:?}"
            );
        }
    }

    #[test]
    fn a_hash_is_not_shown() {
        let (algorithm, text) = OF_CADDY[0];
        let hash = PasswordHash::parse(text, algorithm).unwrap();
        assert_eq!(format!("{hash:?}"), "PasswordHash(..)");
    }
}
