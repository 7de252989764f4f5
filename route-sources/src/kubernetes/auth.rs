//! Accounts of those who may pass.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};
use thiserror::Error;

/// The key of a Secret that holds accounts.
const AUTH: &str = "auth";

/// Why accounts cannot be read. No name and no hash is shown.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) enum AuthError {
    #[error("the Secret has no key `auth`")]
    NoKey,
    #[error("the key `auth` is no text")]
    NoText,
    #[error(
        "line {line} of `auth` is not a name, a colon and a bcrypt hash of a cost up to {MOST_COST}; `htpasswd -nB USER` makes one"
    )]
    Line { line: usize },
    #[error("line {line} of `auth` names somebody for the second time")]
    Twice { line: usize },
    #[error("`auth` has no accounts")]
    Empty,
}

/// The handler that lets pass who is in a Secret. One line that cannot be read makes all of it unreadable: half of the
/// accounts are not what the owner asked for.
pub(super) fn handler(secret: &Secret) -> Result<Value, AuthError> {
    let data = secret.data.as_ref().and_then(|data| data.get(AUTH));
    let text = str::from_utf8(&data.ok_or(AuthError::NoKey)?.0).map_err(|_| AuthError::NoText)?;
    let mut names = BTreeSet::new();
    let mut accounts = Vec::new();
    for (line, account) in (1..).zip(text.lines().map(str::trim)) {
        if account.is_empty() || account.starts_with('#') {
            continue;
        }
        let (name, hash) = account.split_once(':').ok_or(AuthError::Line { line })?;
        if name.is_empty() || name.contains(char::is_control) || !is_bcrypt(hash) {
            return Err(AuthError::Line { line });
        }
        if !names.insert(name) {
            return Err(AuthError::Twice { line });
        }
        accounts.push(json!({ "username": name, "password": hash }));
    }
    if accounts.is_empty() {
        return Err(AuthError::Empty);
    }
    Ok(json!({
        "handler": "authentication",
        "providers": { "http_basic": { "accounts": accounts } },
    }))
}

/// Each step doubles the work of a login, which all hosts of the proxy share: this one takes seconds, and 31 a day.
const MOST_COST: u8 = 16;

/// `$2y$COST$` and 53 characters, where `y` may be another letter.
fn is_bcrypt(hash: &str) -> bool {
    let mut parts = hash.split('$');
    let (before, version, cost, digest) = (parts.next(), parts.next(), parts.next(), parts.next());
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"./".contains(&byte);
    before == Some("")
        && version.is_some_and(|version| matches!(version, "2" | "2a" | "2b" | "2x" | "2y"))
        && cost
            .and_then(|cost| cost.parse::<u8>().ok())
            .is_some_and(|cost| (4..=MOST_COST).contains(&cost))
        && digest.is_some_and(|digest| digest.len() == 53 && digest.bytes().all(is_digit))
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    const HASH: &str = "$2y$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG";

    fn read(text: &[u8]) -> Result<Value, AuthError> {
        let data = [(AUTH.to_owned(), ByteString(text.to_vec()))];
        handler(&Secret {
            data: Some(data.into()),
            ..Secret::default()
        })
    }

    #[test]
    fn accounts_become_a_handler() {
        let handler = read(format!("# staff\nanna:{HASH}\n\nberta:{HASH}\r\n").as_bytes()).unwrap();
        let accounts = &handler["providers"]["http_basic"]["accounts"];
        assert_eq!(accounts[1], json!({ "username": "berta", "password": HASH }));
        assert_eq!(handler["handler"], "authentication");
    }

    #[test]
    fn accounts_that_cannot_be_read_are_an_error_as_a_whole() {
        let good = format!("anna:{HASH}");
        for (text, error) in [
            (String::new(), AuthError::Empty),
            ("# nobody".to_owned(), AuthError::Empty),
            (format!("{good}\nberta"), AuthError::Line { line: 2 }),
            (format!("{good}\nberta:{{SHA}}x"), AuthError::Line { line: 2 }),
            ("anna:$apr1$x$y".to_owned(), AuthError::Line { line: 1 }),
            ("anna:plain".to_owned(), AuthError::Line { line: 1 }),
            (good.replace("$14$", "$31$"), AuthError::Line { line: 1 }),
            (format!(":{HASH}"), AuthError::Line { line: 1 }),
            (format!("anna:{HASH}x"), AuthError::Line { line: 1 }),
            (format!("{good}\n{good}"), AuthError::Twice { line: 2 }),
        ] {
            assert_eq!(read(text.as_bytes()), Err(error), "{text}");
        }
        assert_eq!(read(&[0xff]), Err(AuthError::NoText));
        assert_eq!(handler(&Secret::default()), Err(AuthError::NoKey));
    }
}
