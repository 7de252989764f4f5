//! Rules about users and their passwords.

use crate::model::HashAlgorithm;

/// What stands in the place of a password, and where to get it.
pub(crate) const HASH_HELP: &str = "write the hash of the password, not the password; `doorway hash-password` and \
    `htpasswd -nB USER` make one";

/// A name of HTTP Basic authentication: no colon, which ends it.
pub(crate) fn user_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.chars().any(|c| c.is_control() || c == ':') {
        Err("this cannot be the name of a user: it is empty, or has a colon or a control character")
    } else {
        Ok(())
    }
}

/// The form of a hash, or of standard base64 of one; a placeholder such as `{env.HASH}` may stand for it. The error
/// does not show it.
pub(crate) fn password_hash(algorithm: HashAlgorithm, hash: &str) -> Result<(), &'static str> {
    if hash.contains('{') {
        return super::template(hash).map_err(|_| "the placeholder in the place of a hash is not supported");
    }
    if !hash.starts_with('$') {
        let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        return if hash.len() > 40 && hash.bytes().all(base64) {
            Ok(())
        } else {
            Err("this is not the hash of a password")
        };
    }
    let fits = match algorithm {
        HashAlgorithm::Argon2id => hash.starts_with("$argon2id$") && hash.split('$').count() == 6,
        HashAlgorithm::Bcrypt => is_bcrypt(hash),
    };
    fits.then_some(()).ok_or(match algorithm {
        HashAlgorithm::Argon2id => {
            "this is not a hash of argon2id, such as `$argon2id$v=19$m=47104,t=1,p=1$...`"
        }
        HashAlgorithm::Bcrypt => "this is not a hash of bcrypt, such as `$2a$14$...`",
    })
}

/// `$2a$COST$` and 53 characters, where `a` may be another letter.
fn is_bcrypt(hash: &str) -> bool {
    let mut parts = hash.split('$').skip(1);
    let version = parts
        .next()
        .is_some_and(|version| matches!(version, "2" | "2a" | "2b" | "2x" | "2y"));
    let cost = parts.next().and_then(|cost| cost.parse::<u8>().ok());
    let digest = parts.next().is_some_and(|digest| digest.len() == 53);
    version && cost.is_some_and(|cost| (4..=31).contains(&cost)) && digest && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::{HashAlgorithm, password_hash, user_name};

    const BCRYPT: &str = "$2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG";
    const ARGON2ID: &str = "$argon2id$v=19$m=47104,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaA";

    #[test]
    fn hashes_are_known_by_their_form() {
        for hash in [
            BCRYPT,
            "{env.HASH}",
            "JDJhJDE0JFpreDE5WExpVzZWWW91TEhSNU5tZk9GVTB6MkdUTm1wa1QvNXFxUjc=",
        ] {
            assert_eq!(password_hash(HashAlgorithm::Bcrypt, hash), Ok(()), "{hash}");
        }
        assert_eq!(password_hash(HashAlgorithm::Argon2id, ARGON2ID), Ok(()));
        for (algorithm, hash) in [
            (HashAlgorithm::Bcrypt, "hunter2"),
            (HashAlgorithm::Bcrypt, ""),
            (HashAlgorithm::Bcrypt, ARGON2ID),
            (
                HashAlgorithm::Bcrypt,
                "$2a$99$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG",
            ),
            (HashAlgorithm::Bcrypt, "{http.request.body}"),
            (HashAlgorithm::Argon2id, BCRYPT),
        ] {
            assert!(password_hash(algorithm, hash).is_err(), "{hash}");
        }
    }

    #[test]
    fn a_colon_ends_a_name() {
        assert!(user_name("Bob B.").is_ok());
        for name in ["", "a:b", "a\n"] {
            assert!(user_name(name).is_err(), "{name:?}");
        }
    }
}
