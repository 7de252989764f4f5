//! Who may ask the admin API for hosts.

use std::fmt;

use caddy_config::{RoutesToken, TokenAccess};
use sha2::{Digest as _, Sha256};

use crate::environment::Environment;

/// The shortest secret that a variable of the environment may hold.
const SHORTEST: usize = 16;

/// The tokens of a configuration. Of their secrets only the digests are kept.
#[derive(Default)]
pub(crate) struct Tokens(Vec<Token>);

struct Token {
    name: String,
    access: Access,
    digest: [u8; 32],
}

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Asking.
    Read,
    /// Asking and changing.
    Write,
}

// === impl Tokens ===

impl Tokens {
    /// The tokens of a configuration, those in variables looked up.
    ///
    /// # Errors
    ///
    /// Each variable that holds no secret, by its name.
    pub(crate) fn new(tokens: &[RoutesToken], environment: &Environment) -> Result<Self, Vec<String>> {
        let (mut read, mut errors) = (Vec::new(), Vec::new());
        for token in tokens {
            let secret = match token.variable() {
                None => Ok(token.secret.expose().to_owned()),
                Some(variable) => in_variable(variable, environment),
            };
            match secret {
                Ok(secret) => read.push(Token {
                    name: token.name.clone(),
                    access: token.access.into(),
                    digest: digest(secret.as_bytes()),
                }),
                Err(error) => errors.push(format!("the token `{}`: {error}", token.name)),
            }
        }
        if errors.is_empty() {
            Ok(Self(read))
        } else {
            Err(errors)
        }
    }

    /// Whether there are none, so that nobody needs to show one.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose secret this is, and what it is good for. How long that takes says nothing about the secrets.
    pub(crate) fn find(&self, secret: &[u8]) -> Option<(&str, Access)> {
        let shown = digest(secret);
        let mut found = None;
        for token in &self.0 {
            let differing = token
                .digest
                .iter()
                .zip(shown)
                .fold(0, |differing, (one, other)| differing | (one ^ other));
            if std::hint::black_box(differing) == 0 {
                found = Some((token.name.as_str(), token.access));
            }
        }
        found
    }
}

/// Names, no digests: a short secret could be found from its digest.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|token| (&token.name, token.access)))
            .finish()
    }
}

fn in_variable(name: &str, environment: &Environment) -> Result<String, String> {
    let value = environment.get(name).unwrap_or_default();
    let secret = value.trim();
    if secret.is_empty() {
        return Err(format!("the variable {name} is not set"));
    }
    if secret.len() < SHORTEST || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "what the variable {name} has is no secret of at least {SHORTEST} letters, digits and signs"
        ));
    }
    Ok(secret.to_owned())
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

// === impl Access ===

impl From<TokenAccess> for Access {
    fn from(access: TokenAccess) -> Self {
        match access {
            TokenAccess::Write => Self::Write,
            // Whatever else there may be is not more than this.
            _ => Self::Read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str, access: TokenAccess, secret: &str) -> RoutesToken {
        RoutesToken {
            name: name.to_owned(),
            access,
            secret: secret.to_owned().into(),
        }
    }

    fn environment() -> Environment {
        Environment::new(|name| match name {
            "OPS" => Some(" a-secret-of-operators\n".to_owned()),
            "SHORT" => Some("short".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_secret_is_found_whole_or_not_at_all() {
        let tokens = Tokens::new(
            &[
                token("ci", TokenAccess::Write, "a-secret-of-machines"),
                token("ops", TokenAccess::Read, "{env.OPS}"),
            ],
            &environment(),
        )
        .unwrap();
        assert_eq!(tokens.find(b"a-secret-of-machines"), Some(("ci", Access::Write)));
        assert_eq!(tokens.find(b"a-secret-of-operators"), Some(("ops", Access::Read)));
        for other in ["", "a-secret-of-machine", "a-secret-of-machines ", "{env.OPS}"] {
            assert_eq!(tokens.find(other.as_bytes()), None, "{other}");
        }
        assert_eq!(format!("{tokens:?}"), r#"[("ci", Write), ("ops", Read)]"#);
    }

    #[test]
    fn every_variable_without_a_secret_is_named() {
        let errors = Tokens::new(
            &[
                token("a", TokenAccess::Read, "{env.NONE}"),
                token("b", TokenAccess::Read, "{env.SHORT}"),
            ],
            &environment(),
        )
        .unwrap_err();
        assert_eq!(errors.len(), 2);
        assert!(errors[0].ends_with("the variable NONE is not set"), "{errors:?}");
        assert!(!errors[1].contains("short"), "{errors:?}");
    }
}
