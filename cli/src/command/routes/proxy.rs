//! The proxy that is asked, and what it is shown.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::api::{self, Answer, Places, Request};
use crate::args::ProxyArgs;
use crate::exit::Failure;
use crate::files::read_whole;
use crate::settings::Environment;

/// The variable that says where the admin API is.
const ADDRESS: &str = "DOORWAY_ADMIN";

/// The variable that holds the token if nothing else is said.
const TOKEN: &str = "DOORWAY_TOKEN";

/// The most bytes of a token.
const MOST: usize = 64 * 1024;

/// What a change may take beside the time that it is waited for.
const SLACK: Duration = Duration::from_secs(30);

/// A proxy whose admin API is asked.
pub(super) struct Proxy {
    places: RefCell<Places>,
    token: Option<String>,
    author: Option<String>,
}

// === impl Proxy ===

impl Proxy {
    pub(super) fn of(args: &ProxyArgs, environment: &Environment) -> Result<Self, Failure> {
        let token = token(args, environment)?;
        let plain =
            |name: &&str| (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        Ok(Self {
            places: RefCell::new(Places::find(given(args, environment), None, environment)?),
            token,
            author: environment.get("USER").filter(plain).map(str::to_owned),
        })
    }

    /// Asks, with what is to be shown.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, Failure> {
        let request = match (&self.token, &self.author) {
            (Some(token), _) => request.with("authorization", format!("Bearer {token}")),
            (None, Some(author)) => request.with("x-doorway-author", author.clone()),
            (None, None) => request,
        };
        let places = self.places.borrow().clone();
        let (answer, place) = api::ask(&places, request, |request, _| request).await?;
        // It is known now where it is.
        self.places.replace(Places::at(&place)?);
        Ok(answer)
    }

    /// Where it is, for messages, once it has answered.
    pub(super) fn place(&self) -> String {
        let places = self.places.borrow();
        places
            .iter()
            .next()
            .map(|place| place.address().to_string())
            .unwrap_or_default()
    }
}

/// Where the user says that the proxy is. What the environment says counts as that here: a change must not reach another proxy
/// because the one that is meant is away.
fn given<'a>(args: &'a ProxyArgs, environment: &'a Environment) -> Option<&'a str> {
    let set = environment
        .get(ADDRESS)
        .filter(|address| !matches!(*address, "" | "off"));
    args.address.as_deref().or(set)
}

/// The token, if one is given. Its text is nowhere but in the request.
fn token(args: &ProxyArgs, environment: &Environment) -> Result<Option<String>, Failure> {
    let text = match (&args.token_file, &args.token_env) {
        (Some(file), _) => read(file)?,
        (None, Some(name)) => match environment.get(name) {
            Some(token) => token.to_owned(),
            None => {
                return Err(Failure::Usage(format!("the environment has no variable {name}")));
            }
        },
        (None, None) => match environment.get(TOKEN) {
            Some(token) if !token.trim().is_empty() => token.to_owned(),
            _ => return Ok(None),
        },
    };
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(
            "the token is empty, or has characters that no token has".to_owned(),
        ));
    }
    Ok(Some(token.to_owned()))
}

fn read(file: &Path) -> anyhow::Result<String> {
    let bytes = if file == Path::new("-") {
        read_whole(io::stdin().lock(), MOST).context("cannot read the token from standard input")?
    } else {
        let opened = fs::File::open(file).and_then(|file| read_whole(file, MOST));
        opened.with_context(|| format!("cannot read the token file {}", file.display()))?
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A request whose answer may take as long as replicas are waited for.
pub(super) fn patient(request: Request, wait: Option<&str>) -> Request {
    match wait.and_then(caddy_config::duration) {
        Some(wait) => request.patient(wait + SLACK),
        None => request,
    }
}

/// A host in a path. One that is named like a word of the API has a dot behind it there.
pub(super) fn encoded(host: &str) -> String {
    let mut out = String::new();
    for byte in host.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' | b':' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    if matches!(out.as_str(), "status" | "documents") {
        out.push('.');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(address: Option<&str>, variable: &str) -> Vec<String> {
        let args = ProxyArgs {
            address: address.map(str::to_owned),
            token_file: None,
            token_env: None,
        };
        let environment = Environment::from([(ADDRESS, variable)]);
        let found = Places::find(given(&args, &environment), None, &environment).unwrap();
        found.iter().map(|place| place.address().to_string()).collect()
    }

    #[test]
    fn no_other_proxy_is_asked_than_the_one_that_is_named() {
        assert_eq!(places(Some("127.0.0.1:1"), "127.0.0.1:2"), ["127.0.0.1:1"]);
        assert_eq!(places(None, "127.0.0.1:2"), ["127.0.0.1:2"]);
        assert_eq!(places(Some("127.0.0.1:1"), "off"), ["127.0.0.1:1"]);
        let args = ProxyArgs {
            address: None,
            token_file: None,
            token_env: None,
        };
        for nothing in ["", "off"] {
            assert_eq!(given(&args, &Environment::from([(ADDRESS, nothing)])), None);
        }
    }
}
