//! HTTP Basic authentication: who a request says it is, and whether the password is right.

mod hash;
mod queue;
mod results;
mod verifier;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, InvalidHeaderValue};
use zeroize::Zeroizing;

pub(crate) use self::hash::PasswordHash;
pub use self::hash::{HashError, HashPasswordError, PasswordAlgorithm, hash_password};
pub(crate) use self::verifier::Verifier;
use self::verifier::Waiting;

/// The realm, unless the configuration names one.
pub(crate) const REALM: &str = "restricted";

/// Seconds after which it makes sense to ask again where too many passwords were being compared: by then those of one
/// client are done, at a usual cost.
pub(crate) const RETRY_AFTER: u8 = 5;

/// As browsers and scripts write it, with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The users of one place, and who compares their passwords.
#[derive(Debug)]
pub(crate) struct BasicAuth {
    accounts: HashMap<Arc<str>, Arc<PasswordHash>>,
    /// For users that do not exist: comparing takes as long, and never succeeds.
    fake: Arc<PasswordHash>,
    challenge: HeaderValue,
    keeps_results: bool,
    verifier: Arc<Verifier>,
}

/// Whether a request may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may, as this user.
    Passed(Arc<str>),
    /// It may not: 401, with [`BasicAuth::challenge`].
    Refused,
    /// Too many passwords are being compared: 503.
    Busy,
}

/// What is known at once.
#[derive(Debug)]
pub(crate) enum Check {
    Known(Verdict),
    /// The password is being compared, which takes its time.
    Comparing(Comparison),
}

/// A comparison under way. Dropping it gives it up.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// `None`: there is no such user.
    user: Option<Arc<str>>,
    waiting: Waiting,
}

/// A user name and a password.
struct Credentials {
    user: String,
    password: Zeroizing<Vec<u8>>,
}

// === impl BasicAuth ===

impl BasicAuth {
    /// The users `accounts`. If `keeps_results`, a comparison is made once for each password, as far as there is
    /// room to remember it.
    ///
    /// # Errors
    ///
    /// If the realm cannot stand in a header field.
    pub(crate) fn try_new(
        accounts: impl IntoIterator<Item = (String, PasswordHash)>,
        algorithm: PasswordAlgorithm,
        realm: &str,
        keeps_results: bool,
        verifier: Arc<Verifier>,
    ) -> Result<Self, InvalidHeaderValue> {
        let accounts: HashMap<Arc<str>, _> = accounts
            .into_iter()
            .map(|(user, hash)| (user.into(), Arc::new(hash)))
            .collect();
        let costliest = accounts.values().max_by_key(|hash| hash.cost());
        Ok(Self {
            fake: Arc::new(PasswordHash::fake(costliest.map(|hash| &**hash), algorithm)),
            accounts,
            challenge: challenge(realm)?,
            keeps_results,
            verifier,
        })
    }

    /// Looks at `Authorization`, and begins to compare if that has to be. Of many comparisons those of one `client` wait
    /// for each other, and only a few of them.
    pub(crate) fn check(&self, headers: &HeaderMap, client: Option<IpAddr>) -> Check {
        let Some(Credentials { user, password }) = credentials(headers) else {
            return Check::Known(Verdict::Refused);
        };
        let (user, hash) = match self.accounts.get_key_value(user.as_str()) {
            Some((user, hash)) => (Some(Arc::clone(user)), hash),
            None => (None, &self.fake),
        };
        match self
            .verifier
            .begin(hash, password, self.keeps_results, client.into())
        {
            verifier::Begun::Known(is_right) => Check::Known(verdict(user, is_right)),
            verifier::Begun::Comparing(waiting) => Check::Comparing(Comparison { user, waiting }),
            verifier::Begun::Busy => Check::Known(Verdict::Busy),
        }
    }

    /// The value of `WWW-Authenticate` for who is refused.
    pub(crate) fn challenge(&self) -> HeaderValue {
        self.challenge.clone()
    }
}

// === impl Comparison ===

impl Comparison {
    /// Waits for the result.
    pub(crate) async fn verdict(self) -> Verdict {
        match self.waiting.result().await {
            Some(is_right) => verdict(self.user, is_right),
            None => Verdict::Busy,
        }
    }
}

fn verdict(user: Option<Arc<str>>, is_right: bool) -> Verdict {
    match user {
        Some(user) if is_right => Verdict::Passed(user),
        _ => Verdict::Refused,
    }
}

// === the fields ===

fn credentials(headers: &HeaderMap) -> Option<Credentials> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let pair = Zeroizing::new(LENIENT.decode(rest.trim_ascii()).ok()?);
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let (user, password) = pair.split_at(colon);
    Some(Credentials {
        user: String::from_utf8(user.to_vec()).ok()?,
        password: Zeroizing::new(password.get(1..)?.to_vec()),
    })
}

/// The realm is a quoted string, whatever it holds.
fn challenge(realm: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let quoted = realm.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_str(&format!("Basic realm=\"{quoted}\""))
}

#[cfg(test)]
mod tests;
