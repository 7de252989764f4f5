//! Documents out of files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use route_store::HostDocument;
use route_store::document::{self, ReadError};
use serde_json::value::RawValue;

use crate::args::ProxyArgs;
use crate::exit::{self, Failure, Outcome};
use crate::files::read_whole;

/// The most bytes of documents.
const MOST: usize = 1024 * 1024 * 1024;

/// A document that can be served, and how it is written.
pub(super) struct Checked {
    pub(super) text: String,
    pub(super) document: HostDocument,
}

/// Both the token and a document cannot come from standard input.
pub(super) fn only_once(file: Option<&Path>, args: &ProxyArgs) -> Result<(), Failure> {
    let is_input = |path: &Path| path == Path::new("-");
    if file.is_none_or(is_input) && args.token_file.as_deref().is_some_and(is_input) {
        return Err(Failure::Usage(
            "standard input cannot hold both the token and documents".to_owned(),
        ));
    }
    Ok(())
}

/// What a file, or standard input, has.
pub(super) fn text(file: Option<&Path>) -> Result<String, Failure> {
    let bytes = match file.filter(|file| *file != Path::new("-")) {
        None => read_whole(io::stdin().lock(), MOST).context("cannot read standard input")?,
        Some(file) => {
            let read = File::open(file).and_then(|file| read_whole(file, MOST));
            read.with_context(|| format!("cannot read {}", file.display()))?
        }
    };
    String::from_utf8(bytes)
        .map_err(|_| Failure::Report(format!("error: {} is no text in UTF-8", name(file))))
}

/// Reads documents and checks them all; each host has one.
///
/// # Errors
///
/// Everything that is wrong with any of them.
pub(super) fn checked(file: Option<&Path>) -> Result<Vec<Checked>, Failure> {
    let (text, name) = (text(file)?, name(file));
    let written = split(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Failure::Report(format!("error: {name}:{line}:{column}: {error}"))
    })?;
    let (mut read, mut errors, mut hosts) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (index, text) in written.into_iter().enumerate() {
        let number = index + 1;
        match document::read(&text) {
            Ok(document) => {
                let host = document.host().to_string();
                if let Some(first) = hosts.insert(host.clone(), number) {
                    errors.push(format!(
                        "error: {name}: document {number}: document {first} is about {host}, too"
                    ));
                }
                read.push(Checked { text, document });
            }
            Err(error) => {
                errors.extend(lines(&error).map(|line| format!("error: {name}: document {number}{line}")))
            }
        }
    }
    if errors.is_empty() {
        return Ok(read);
    }
    Err(Failure::Report(errors.join("\n")))
}

/// `doorway routes validate`.
pub(super) fn validate(file: Option<&Path>) -> Outcome {
    let read = checked(file)?;
    let (count, plural) = (read.len(), if read.len() == 1 { "" } else { "s" });
    exit::say(&format!(
        "{count} document{plural}, all valid as documents; handlers, eskip and files are checked by the proxy"
    ));
    Ok(())
}

/// The documents of a text: one, several one behind the other, or an array of them.
fn split(text: &str) -> Result<Vec<String>, serde_json::Error> {
    let mut all = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>() {
        let value = value?;
        if value.get().starts_with('[') {
            let items: Vec<Box<RawValue>> = serde_json::from_str(value.get())?;
            all.extend(items.iter().map(|item| item.get().to_owned()));
        } else {
            all.push(value.get().to_owned());
        }
    }
    Ok(all)
}

/// What is wrong with a document, line by line, with its host.
fn lines(error: &ReadError) -> impl Iterator<Item = String> {
    let host = error.host().map(|host| format!(" ({host})")).unwrap_or_default();
    let messages: Vec<String> = match error {
        ReadError::Invalid { problems, .. } => problems.iter().map(ToString::to_string).collect(),
        error => vec![error.to_string()],
    };
    messages
        .into_iter()
        .map(move |message| format!("{host}: {message}"))
}

fn name(file: Option<&Path>) -> String {
    match file.filter(|file| *file != Path::new("-")) {
        None => "standard input".to_owned(),
        Some(file) => file.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn documents_are_one_or_several_or_an_array() {
        for text in [
            "{\"a\":1}\n{\"b\":2}\n",
            "[{\"a\":1}, {\"b\":2}]",
            "  {\"a\":1}{\"b\":2}",
            "[{\"a\":1}]\n[{\"b\":2}]",
        ] {
            assert_eq!(split(text).unwrap(), ["{\"a\":1}", "{\"b\":2}"], "{text}");
        }
        assert!(split("").unwrap().is_empty() && split("[]").unwrap().is_empty());
        for text in ["{", "[{]", "{} x"] {
            assert!(split(text).is_err(), "{text}");
        }
    }
}
