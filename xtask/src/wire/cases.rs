//! The requests of the tests of `proxy-core`, read from the files that those read.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Below the root of the workspace.
const DIRECTORY: &str = "proxy-core/tests/requests";

/// What stands for the right Host line.
const HOST_MARK: &[u8] = b"<H>";

/// Requests of one kind.
#[derive(Debug)]
pub(super) struct Table {
    /// What they have in common, as a sentence of words.
    pub(super) title: String,
    pub(super) cases: Vec<Case>,
}

/// The bytes of one connection.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) bytes: Vec<u8>,
    /// As they stand in the file.
    pub(super) written: String,
}

// === impl Table ===

impl Table {
    /// All of them, in the order of their titles.
    pub(super) fn all(root: &Path) -> Result<Vec<Self>> {
        let directory = root.join(DIRECTORY);
        let mut files = fs::read_dir(&directory)
            .with_context(|| directory.display().to_string())?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
        files.sort();
        let tables = files.iter().map(|file| Self::read(file));
        let tables = tables.collect::<Result<Vec<_>>>()?;
        ensure!(!tables.is_empty(), "no cases in {}", directory.display());
        Ok(tables)
    }

    fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file)?;
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#'));
        let case = |(line, number): (&str, u32)| {
            Case::parse(line).with_context(|| format!("{}:{number}", file.display()))
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            title: stem.replace('_', " "),
            cases: lines.map(case).collect::<Result<_>>()?,
        })
    }
}

// === impl Case ===

impl Case {
    fn parse(line: &str) -> Result<Self> {
        let mut parts = line.splitn(3, " | ");
        let (id, _, written) = (parts.next(), parts.next(), parts.next());
        let (id, written) = id.zip(written).context("no case")?;
        let bytes = filled_in(&unescaped(written)?);
        Ok(Self {
            id: id.to_owned(),
            bytes,
            written: written.to_owned(),
        })
    }
}

/// The bytes that `text` stands for.
fn unescaped(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'\\' => match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'\\') => b'\\',
                Some(b'x') => {
                    let digits: Vec<u8> = rest.by_ref().take(2).collect();
                    u8::from_str_radix(std::str::from_utf8(&digits)?, 16)?
                }
                other => anyhow::bail!("an escape {other:?}"),
            },
            other => other,
        };
        bytes.push(byte);
    }
    Ok(bytes)
}

fn filled_in(bytes: &[u8]) -> Vec<u8> {
    let mut filled = Vec::new();
    let mut rest = bytes;
    while let Some(at) = super::find(rest, HOST_MARK) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(b"Host: app.test\r\n");
        rest = &rest[at + HOST_MARK.len()..];
    }
    filled.extend_from_slice(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_an_expectation_and_bytes() {
        let case =
            Case::parse(r"HD-06 two | refused 400 | GET / HTTP/1.1\r\n<H>X: a | b\\\x00\r\n\r\n").unwrap();
        assert_eq!(case.id, "HD-06 two");
        assert_eq!(
            case.bytes,
            b"GET / HTTP/1.1\r\nHost: app.test\r\nX: a | b\\\0\r\n\r\n"
        );
        assert!(Case::parse("HD-06 | refused 400").is_err());
        assert!(Case::parse(r"HD-06 | refused 400 | \q").is_err());
    }
}
