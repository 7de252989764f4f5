//! What is wrong with a text: every finding with its place, its line and a way out.

use std::{error::Error, fmt, sync::Arc};

use crate::surroundings::Inputs;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The configuration works, but perhaps not as meant.
    Warning,
    /// There is no configuration.
    Error,
}

/// One finding.
///
/// Its [`Display`](fmt::Display) form is for people: `file:line:column: message`, the source line with a mark
/// below the place, and the way out. Secrets in that line are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub(crate) severity: Severity,
    pub(crate) place: Place,
    pub(crate) imports: Vec<Place>,
    pub(crate) path: Option<String>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// Where something stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) excerpt: Excerpt,
}

/// A source line, cut to what fits a screen, with secrets masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Characters of `text` before the mark.
    pub(crate) before: usize,
    /// Characters to mark; at least one.
    pub(crate) marked: usize,
}

/// Why a text is no configuration: all that was found, in the order of the text. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    pub(crate) items: Vec<Diagnostic>,
    /// Findings beyond the limit, counted but not kept.
    pub(crate) left_out: usize,
    pub(crate) inputs: Inputs,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// How bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// Where it is.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// For a place in a snippet or an imported file, the places of the imports that led there, the nearest first.
    #[must_use]
    pub fn imports(&self) -> &[Place] {
        &self.imports
    }

    /// For JSON, the path to the value, such as `apps.http.servers.srv0.routes[0]`; empty for the document itself.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// What is wrong, in one sentence without a full stop.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            place,
            imports,
            path,
            message,
            help,
        } = self;
        let kind = if *severity == Severity::Warning {
            "warning: "
        } else {
            ""
        };
        write!(f, "{place}: {kind}")?;
        if let Some(path) = path.as_deref().filter(|path| !path.is_empty()) {
            write!(f, "{path}: ")?;
        }
        write!(f, "{message}")?;
        place.write_excerpt(f)?;
        for import in imports {
            write!(f, "\n  imported at {import}: {}", import.excerpt.text.trim())?;
        }
        help.as_ref().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
    }
}

// === impl Place ===

impl Place {
    /// The name that the caller gave the text.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, from 1.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.column
    }

    fn write_excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excerpt { text, before, marked } = &self.excerpt;
        let line = self.line;
        let gutter = line.to_string().len();
        // A tab before the mark stays one, so that the mark stands below its place at every tab width.
        let lead: String = text
            .chars()
            .take(*before)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let mark = "^".repeat(*marked);
        write!(f, "\n  {line} | {text}\n  {:gutter$} | {lead}{mark}", "")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file, line, column, ..
        } = self;
        write!(f, "{file}:{line}:{column}")
    }
}

// === impl Diagnostics ===

impl Diagnostics {
    /// The findings, in the order of the text. At most a hundred are kept; see [`Diagnostics::left_out`].
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter()
    }

    /// How many more there were.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// The files that were read on the way, beside the configuration's own.
    #[must_use]
    pub const fn inputs(&self) -> &Inputs {
        &self.inputs
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            item.fmt(f)?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl Error for Diagnostics {}
