//! Configurations in the bodies of requests: what they are written in, and what they say as JSON.

use bytes::Bytes;
use caddy_config::{Config, Diagnostic, Diagnostics, Surroundings};
use serde_json::{Value, json};
use thiserror::Error;

use super::document::{self, print};

/// The name that a Caddyfile in a request has in findings.
const FILE: &str = "Caddyfile";

/// A configuration that came in a body.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) content: Content,
    /// What works, but perhaps not as meant: an array, `null` for none.
    pub(super) warnings: Value,
}

/// What a body holds.
#[derive(Debug)]
pub(super) enum Content {
    /// JSON, or anything at all. Empty stands for `null`.
    Json(Bytes),
    /// A whole configuration, whose JSON is printed from this: to read that again would take long.
    Model(Box<Config>),
}

/// Why there is no JSON. The words are Caddy's.
#[derive(Debug, Error)]
pub(super) enum AdaptError {
    #[error("invalid Content-Type: mime: no media type")]
    NoType,
    #[error("malformed Content-Type")]
    NoSubtype,
    #[error("unrecognized config adapter '{0}'")]
    Adapter(String),
    #[error("adapting config using caddyfile adapter: {0}")]
    Caddyfile(String),
    #[error("decoding request body: {0}")]
    Json(String),
}

/// The configuration in `body`, which `content_type` says the form of: JSON if it is empty or ends with `/json`, a
/// Caddyfile if it ends with `/caddyfile`.
pub(super) fn read(
    content_type: &str,
    body: &Bytes,
    surroundings: &dyn Surroundings,
) -> Result<Received, AdaptError> {
    let as_it_is = || Received {
        content: Content::Json(body.clone()),
        warnings: Value::Null,
    };
    if content_type.is_empty() {
        return Ok(as_it_is());
    }
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let media = media.to_ascii_lowercase();
    if media.is_empty() {
        return Err(AdaptError::NoType);
    }
    match media.split_once('/') {
        None => Err(AdaptError::NoSubtype),
        Some((_, "json")) => Ok(as_it_is()),
        Some((_, "caddyfile")) => caddyfile(body, surroundings),
        Some((_, other)) => Err(AdaptError::Adapter(other.to_owned())),
    }
}

/// What adapting gives as an answer: the warnings, and the configuration.
pub(super) fn result(received: &Received) -> Result<String, AdaptError> {
    let result = match &received.content {
        Content::Json(text) => {
            document::read::value(text).map_err(AdaptError::Json)?;
            print::compact(&String::from_utf8_lossy(text))
        }
        Content::Model(config) => print::compact(&config.to_json()),
    };
    let warnings = match &received.warnings {
        Value::Null => String::new(),
        warnings => format!("\"warnings\":{},", print::line(warnings)),
    };
    Ok(format!("{{{warnings}\"result\":{result}}}\n"))
}

fn caddyfile(body: &[u8], surroundings: &dyn Surroundings) -> Result<Received, AdaptError> {
    let wrong = |found: Diagnostics| AdaptError::Caddyfile(summary(&found));
    let text = caddy_config::text_from_bytes(FILE, body).map_err(wrong)?;
    let adapted = caddy_config::from_caddyfile_in(FILE, text, surroundings).map_err(wrong)?;
    let warnings: Vec<Value> = adapted.warnings.iter().map(warning).collect();
    Ok(Received {
        content: Content::Model(Box::new(adapted.config)),
        warnings: Some(warnings)
            .filter(|list| !list.is_empty())
            .map_or(Value::Null, Value::from),
    })
}

fn warning(found: &Diagnostic) -> Value {
    let place = found.place();
    json!({"file": place.file(), "line": place.line(), "message": with_help(found)})
}

/// All findings in one line. Places are lines and columns of a Caddyfile, paths of a document.
pub(super) fn summary(found: &Diagnostics) -> String {
    let one = |found: &Diagnostic| {
        let text = with_help(found);
        match found.path() {
            Some("") => text,
            Some(path) => format!("{path}: {text}"),
            None => {
                let place = found.place();
                format!("{}:{}:{}: {text}", place.file(), place.line(), place.column())
            }
        }
    };
    let all: Vec<String> = found.iter().map(one).collect();
    all.join("; ")
}

fn with_help(found: &Diagnostic) -> String {
    match found.help() {
        Some(help) => format!("{} ({help})", found.message()),
        None => found.message().to_owned(),
    }
}
