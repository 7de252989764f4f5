//! Who may pass, and secrets that requests get on their way to a backend.

mod webhook;

use std::sync::Arc;

use eskip::Arg;
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{StatusCode, header};
use tracing::debug;

use super::Means;
use super::bodies::bare;
use super::watched::Watched;
use crate::auth::{self, Check, PasswordAlgorithm, PasswordHash, Verdict, Verifier};

/// The realm, unless the filter has one.
const REALM: &str = "Basic Realm";

/// Lets users with a password pass.
#[derive(Debug)]
struct BasicAuth(Watched<auth::BasicAuth>);

/// Sets a field to what is in a file.
#[derive(Debug)]
struct Secret {
    name: HeaderName,
    value: Watched<HeaderValue>,
}

pub(super) fn add(all: &mut Filters, means: &Means) {
    let passwords = Arc::clone(&means.passwords);
    all.add(
        "basicAuth",
        (
            "lets users of an htpasswd file pass, whose passwords are hashed with bcrypt or Argon2id",
            r#"basicAuth("/etc/doorway/htpasswd", "My Website")"#,
        ),
        move |args| BasicAuth::create(args, &passwords),
    );
    all.add(
        "setRequestHeaderFromSecret",
        (
            "sets a field of the request to what is in a file, with a text before and behind it",
            r#"setRequestHeaderFromSecret("X-Secret", "/secrets/token", "before-", "-behind")"#,
        ),
        Secret::create,
    );
    all.add(
        "bearerinjector",
        (
            "gives the request the bearer token that is in a file",
            r#"bearerinjector("/secrets/token")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let file = args.text("the path of a file")?;
            args.end()?;
            Secret::new(AUTHORIZATION, file, "Bearer ", "")
        },
    );
    webhook::add(all, means);
}

// === impl BasicAuth ===

impl BasicAuth {
    fn create(args: &[Arg], passwords: &Arc<Verifier>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let file = args.text("the path of a file")?;
        let realm = if args.has_more() {
            args.text("a realm")?
        } else {
            REALM
        };
        args.end()?;
        let (realm, passwords) = (realm.to_owned(), Arc::clone(passwords));
        let make = move |content: &[u8]| {
            let users = users(content)?;
            let passwords = Arc::clone(&passwords);
            auth::BasicAuth::try_new(users, PasswordAlgorithm::Bcrypt, &realm, true, passwords)
                .map_err(|_| "the realm cannot stand in a field".to_owned())
        };
        Watched::try_new(file, make).map(Self).map_err(ArgsError)
    }
}

impl Filter for BasicAuth {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let users = self.0.current(cx.env.now());
        match users.check(&cx.request.headers, cx.exchange.peer_ip()) {
            Check::Known(verdict) => follow(&verdict, &users, cx),
            Check::Comparing(comparison) => Flow::after(comparison.verdict(), move |verdict, cx| {
                follow(&verdict, &users, cx)
            }),
        }
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

fn follow(verdict: &Verdict, users: &auth::BasicAuth, cx: &mut FilterContext<'_>) -> Flow {
    match verdict {
        Verdict::Passed(user) => {
            // What filters behind know the user by.
            cx.exchange.bag.set("auth-user", &**user);
            Flow::Next
        }
        Verdict::Refused => {
            let mut response = bare(StatusCode::UNAUTHORIZED);
            let challenge = users.challenge();
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            Flow::serve(response)
        }
        Verdict::Busy => {
            debug!("too many passwords are being compared");
            let mut response = bare(StatusCode::SERVICE_UNAVAILABLE);
            let seconds = HeaderValue::from(u16::from(auth::RETRY_AFTER));
            response.headers_mut().insert(RETRY_AFTER, seconds);
            Flow::serve(response)
        }
    }
}

/// The users of an htpasswd file: a line for each, `name:hash`. Lines that begin with `#` are comments.
fn users(content: &[u8]) -> Result<Vec<(String, PasswordHash)>, String> {
    let text = std::str::from_utf8(content).map_err(|_| "it is no text".to_owned())?;
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()));
    let users = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    users
        .map(|(number, line)| {
            let (name, hash) = line
                .split_once(':')
                .ok_or_else(|| format!("line {number}: expected a name, a colon and a hash"))?;
            let algorithm = if hash.starts_with("$argon2") {
                PasswordAlgorithm::Argon2id
            } else {
                PasswordAlgorithm::Bcrypt
            };
            let hash = PasswordHash::parse(hash, algorithm);
            let hash = hash.map_err(|error| format!("line {number}: {error}"))?;
            Ok((name.to_owned(), hash))
        })
        .collect()
}

// === impl Secret ===

impl Secret {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, file) = (args.field_name()?, args.text("the path of a file")?);
        let mut text = |what| if args.has_more() { args.text(what) } else { Ok("") };
        let (prefix, suffix) = (text("a text before it")?, text("a text behind it")?);
        args.end()?;
        Self::new(name, file, prefix, suffix)
    }

    fn new(name: HeaderName, file: &str, prefix: &str, suffix: &str) -> Result<Self, ArgsError> {
        if name == header::CONTENT_LENGTH || name == header::TRANSFER_ENCODING {
            return Err(ArgsError(format!("{name} cannot be set")));
        }
        let (prefix, suffix) = (prefix.to_owned(), suffix.to_owned());
        let make = move |content: &[u8]| {
            let content = content.trim_ascii();
            let value = zeroize::Zeroizing::new([prefix.as_bytes(), content, suffix.as_bytes()].concat());
            let value = HeaderValue::from_bytes(&value);
            let mut value = value.map_err(|_| "what is in it cannot stand in a field".to_owned())?;
            value.set_sensitive(true);
            Ok(value)
        };
        let value = Watched::try_new(file, make).map_err(ArgsError)?;
        Ok(Self { name, value })
    }
}

impl Filter for Secret {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let value = self.value.current(cx.env.now());
        cx.request.headers.insert(self.name.clone(), (*value).clone());
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

#[cfg(test)]
mod tests;
