//! As whom a server is asked: an id and a secret.

use std::fmt;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use eskip::filters::Args;
use eskip::routing::ArgsError;
use http::HeaderValue;
use zeroize::Zeroizing;

use crate::filters::watched::Watched;

/// What stands before the path of a file that has a value.
const FILE: &str = "secretRef:";

/// An id and a secret.
#[derive(Debug)]
pub(super) struct Credentials {
    id: Text,
    secret: Text,
}

/// A text that is not shown.
enum Text {
    Given(Zeroizing<String>),
    /// It counts as it is now.
    File(Watched<Zeroizing<String>>),
}

// === impl Credentials ===

impl Credentials {
    /// Reads two arguments. An empty one stands for the variable of the environment that Skipper has for it, and
    /// `secretRef:` before a path for what is in the file.
    pub(super) fn read(
        args: &mut Args<'_>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ArgsError> {
        let mut text = |what: &str, variable: &str| {
            let given = args.text(what)?;
            if let Some(path) = given.strip_prefix(FILE) {
                return Watched::try_new(path, content).map(Text::File).map_err(ArgsError);
            }
            let value = match given {
                "" => environment(variable).filter(|value| !value.is_empty()),
                given => Some(given.to_owned()),
            };
            value
                .map(|value| Text::Given(Zeroizing::new(value)))
                .ok_or_else(|| ArgsError(format!("{what} is empty, and so is the environment's {variable}")))
        };
        Ok(Self {
            id: text("the id of a client", "OAUTH_CLIENT_ID")?,
            secret: text("the secret of a client", "OAUTH_CLIENT_SECRET")?,
        })
    }

    /// The field by which whoever asks says who it is. `None` cannot be: what is encoded can stand in a field.
    pub(super) fn field(&self, now: Instant) -> Option<HeaderValue> {
        let both = Zeroizing::new(format!("{}:{}", *self.id.now(now), *self.secret.now(now)));
        let encoded = Zeroizing::new(format!("Basic {}", STANDARD.encode(both.as_bytes())));
        let mut value = HeaderValue::from_str(&encoded).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The id, by which answers to one client are not those to another.
    pub(super) fn id(&self, now: Instant) -> Zeroizing<String> {
        self.id.now(now)
    }
}

// === impl Text ===

impl Text {
    fn now(&self, now: Instant) -> Zeroizing<String> {
        match self {
            Self::Given(text) => text.clone(),
            Self::File(file) => (*file.current(now)).clone(),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text")
    }
}

fn content(content: &[u8]) -> Result<Zeroizing<String>, String> {
    let text = std::str::from_utf8(content).map_err(|_| "it is no text".to_owned())?;
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use eskip::Arg;

    use super::*;

    fn read(id: &str, secret: &str) -> Result<Credentials, ArgsError> {
        let args = [id, secret].map(|text| Arg::Text(text.to_owned()));
        let environment = |name: &str| (name == "OAUTH_CLIENT_ID").then(|| "of-env".to_owned());
        Credentials::read(&mut Args::new(&args), environment)
    }

    fn shown(credentials: &Credentials) -> String {
        let field = credentials.field(tokio::time::Instant::now().into_std()).unwrap();
        assert!(field.is_sensitive());
        let encoded = field.to_str().unwrap().strip_prefix("Basic ").unwrap();
        String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
    }

    #[test]
    fn they_are_given_or_in_the_environment_or_in_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "of-file\n").unwrap();
        let file = format!("secretRef:{}", path.display());
        for (id, secret, expected) in [
            ("ann", "s3cret", "ann:s3cret"),
            ("", "s3cret", "of-env:s3cret"),
            ("ann", &file, "ann:of-file"),
        ] {
            let credentials = read(id, secret).unwrap();
            assert_eq!(shown(&credentials), expected);
            let debug = format!("{credentials:?}");
            assert!(!debug.contains("s3cret") && !debug.contains("of-file"), "{debug}");
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "\n").unwrap();
        for secret in [
            String::new(),
            "secretRef:/nowhere/at/all".to_owned(),
            format!("secretRef:{}", path.display()),
        ] {
            assert!(read("ann", &secret).is_err(), "{secret}");
        }
    }
}
