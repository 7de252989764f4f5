//! A text of routes, and what it says.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;
use eskip::{Located, Place, Route};

use super::has_backend;
use crate::exit::{Failure, Outcome};

/// The most bytes that are read: more than a hundred thousand long routes. A device may never end.
const MAX_TEXT: u64 = 256 << 20;

/// Routes, and the text that they were read from.
#[derive(Debug)]
pub(super) struct Document {
    name: String,
    text: String,
    json: bool,
    routes: Vec<Located>,
}

// === impl Document ===

impl Document {
    /// Reads a text; `name` stands for it in messages.
    pub(super) fn new(name: &str, text: String) -> Result<Self, Failure> {
        // No route begins with a bracket.
        let json = text.trim_start().starts_with(['[', '{']);
        let routes = if json {
            let routes =
                eskip::from_json(&text).map_err(|error| Failure::Report(error.report(name, &text)))?;
            let located = |route| Located { route, span: 0..0 };
            routes.into_iter().map(located).collect()
        } else {
            eskip::parse_located(&text).map_err(|errors| Failure::Report(errors.report(name)))?
        };
        Ok(Self {
            name: name.to_owned(),
            text,
            json,
            routes,
        })
    }

    pub(super) fn of_stdin() -> Result<Self, Failure> {
        let bytes = read(io::stdin().lock()).context("cannot read standard input")?;
        Self::new(
            "stdin",
            caddy_config::text_from_bytes("stdin", &bytes)?.to_owned(),
        )
    }

    pub(super) fn of_file(path: &Path) -> Result<Self, Failure> {
        let (name, text) = read_file(path)?;
        Self::new(&name, text)
    }

    /// A file that is not there has no routes.
    pub(super) fn of_file_if_there(path: &Path) -> Result<Self, Failure> {
        match path.try_exists() {
            Ok(false) => Self::new(&path.display().to_string(), String::new()),
            Ok(true) | Err(_) => Self::of_file(path),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) const fn is_json(&self) -> bool {
        self.json
    }

    pub(super) fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter().map(|located| &located.route)
    }

    pub(super) fn into_routes(self) -> Vec<Route> {
        self.routes.into_iter().map(|located| located.route).collect()
    }

    /// Whether each route has a backend, and an id of its own; if not, all that is wrong.
    pub(super) fn check(&self) -> Outcome {
        let mut findings = Vec::new();
        let mut seen = HashSet::new();
        for located in &self.routes {
            let id = located.route.id.as_deref().unwrap_or_default();
            if !has_backend(&located.route) {
                findings.push(self.finding(located, &format!("route has empty backend: {id}")));
            }
            if !id.is_empty() && !seen.insert(id) {
                findings.push(self.finding(located, &format!("repeating route with id {id}")));
            }
        }
        if findings.is_empty() {
            Ok(())
        } else {
            Err(Failure::Report(findings.join("\n")))
        }
    }

    fn finding(&self, located: &Located, message: &str) -> String {
        let name = &self.name;
        if self.json {
            return format!("{name}: {message}");
        }
        let start = located.span.start;
        let length = located.route.id.as_deref().map_or(1, str::len);
        let place = Place::of(&self.text, start..start.saturating_add(length));
        format!("{name}:{}:{}: {message}\n{place}", place.line(), place.column())
    }
}

/// A file's name in messages, and its text.
pub(super) fn read_file(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let bytes = File::open(path)
        .and_then(read)
        .with_context(|| format!("cannot read {name}"))?;
    let text = caddy_config::text_from_bytes(&name, &bytes)?.to_owned();
    Ok((name, text))
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_TEXT) {
        let message = format!("it is longer than {} MiB", MAX_TEXT / 1024 / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
