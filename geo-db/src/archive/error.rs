//! Why an archive is refused.

use std::{fmt, io};

use super::limits::Exceeded;
use crate::TableError;

/// Why an archive is refused, and which file of it is to blame.
#[derive(Debug)]
pub struct ArchiveError {
    file: Option<String>,
    problem: Problem,
}

/// What is wrong with an archive or a file in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes are no gzip stream: a page of HTML, say.
    #[error("this is no gzip stream")]
    NotGzip,
    /// The stream ends early, its checksum is wrong, or what it holds is no tar.
    #[error("damaged: {}", printable(.0))]
    Damaged(#[source] io::Error),
    /// The bytes could not be read at all.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// More bytes, compressed or not, than [`Limits`](super::Limits) allow.
    #[error("{0}")]
    Bytes(#[source] io::Error),
    /// More entries than the limit.
    #[error("more entries than the limit")]
    Entries,
    /// A name that is too long, absolute, or leads upwards.
    #[error("the name of an entry is too long, absolute, or leads upwards")]
    Name,
    /// An extension header that changes where entries end, or is out of bounds.
    #[error("an extension header changes sizes, or is too long")]
    Extension,
    /// A country's file is larger than the limit.
    #[error("the file is larger than the limit")]
    File,
    /// A country has two files.
    #[error("the country has two files")]
    Twice,
    /// A country's file is not what it should be. The text names the line.
    #[error("{}", content(.0))]
    Content(#[source] serde_json::Error),
    /// The countries or prefixes do not fit into a table.
    #[error("{0}")]
    Table(#[source] TableError),
    /// There is not one prefix in the archive.
    #[error("there is no prefix of any country in the archive")]
    Empty,
}

// === impl ArchiveError ===

impl ArchiveError {
    pub(super) fn io(error: io::Error) -> Self {
        Problem::from_io(error).into()
    }

    /// The name is a stranger's: it is kept printable and short.
    pub(super) fn in_file(name: &[u8], problem: Problem) -> Self {
        const MOST: usize = 100;
        let mut file: String = name.escape_ascii().map(char::from).take(MOST).collect();
        if name.len() > MOST {
            file.push_str("...");
        }
        Self {
            file: Some(file),
            problem,
        }
    }

    /// The entry of the archive that is to blame, if it is a certain one. Printable and short.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl From<Problem> for ArchiveError {
    fn from(problem: Problem) -> Self {
        Self { file: None, problem }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.problem)
    }
}

// === impl Problem ===

impl Problem {
    pub(super) fn from_io(error: io::Error) -> Self {
        if error.get_ref().is_some_and(|inner| inner.is::<Exceeded>()) {
            return Self::Bytes(error);
        }
        match error.kind() {
            // What the decoder and the reader of tars say of bad bytes.
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::Other => Self::Damaged(error),
            _ => Self::Read(error),
        }
    }
}

/// An error about bytes of a stranger may quote them: what is told of it is printable and short.
fn printable(error: &impl fmt::Display) -> String {
    const MOST: usize = 200;
    let text = error.to_string();
    let shown = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { '?' } else { c });
    shown.collect()
}

/// The place stands at the end of the text, and must not be cut off with it.
fn content(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&place).unwrap_or(&text);
    printable(&text) + &place
}
