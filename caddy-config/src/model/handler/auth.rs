//! Who may pass.

use serde::{Serialize, Serializer};

use crate::model::{Secret, is_false, sorted};

/// Lets only known users pass; others are answered with 401.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Authentication {
    /// The ways to be known; `None` lets nobody pass.
    pub providers: AuthenticationProviders,
}

/// The ways to be known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuthenticationProviders {
    /// By a name and a password, HTTP Basic.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub http_basic: Option<HttpBasic>,
}

/// HTTP Basic authentication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpBasic {
    /// How the passwords are hashed; `None` is bcrypt.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "algorithm")]
    pub hash: Option<HashAlgorithm>,
    /// Who may pass; no name occurs twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<Account>,
    /// What the browser shows as the place to log in to; `None` is `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
    /// Whether results of comparisons are kept, since hashes are slow by design; `{}` in JSON.
    #[serde(skip_serializing_if = "is_false", serialize_with = "empty")]
    pub hash_cache: bool,
}

/// How passwords are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HashAlgorithm {
    /// Argon2id, in the form `$argon2id$v=19$m=47104,t=1,p=1$SALT$HASH`.
    Argon2id,
    /// Bcrypt, in the form `$2a$14$...`.
    Bcrypt,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// The name.
    pub username: String,
    /// The hash of the password, or standard base64 of it.
    pub password: Secret,
}

// === impl HashAlgorithm ===

impl HashAlgorithm {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "argon2id" => Some(Self::Argon2id),
            "bcrypt" => Some(Self::Bcrypt),
            _ => None,
        }
    }
}

/// A module of Caddy, which its `algorithm` names.
fn algorithm<S: Serializer>(value: &Option<HashAlgorithm>, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("algorithm", value)?;
    map.end()
}

/// An object without fields.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn empty<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    serializer.serialize_map(Some(0))?.end()
}
