//! `import`: tokens of a snippet or of files, put in the place of a line.
//!
//! An import brings tokens, not a tree, so it may bring anything that can stand in its place: addresses, directives,
//! whole sites. What it brings is read on, and may import in turn; what an import leads to within itself is an error.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    env, glob,
    import_args::{Given, Replacement},
    lexer,
    token::Token,
};
use crate::{
    source::{ImportId, ImportLine, MAX_TEXT, Report, Sources, Span, short},
    surroundings::{FileError, Surroundings},
    text::{not_utf8, valid_text},
};

/// Imports deeper within imports are refused.
const MAX_DEPTH: usize = 100;

/// All imports together bring no more tokens than this: ten for each of ten thousand sites.
const MAX_TOKENS: usize = 100_000;

/// Nor more bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Carries out imports.
pub(super) struct Imports<'p, 't> {
    sources: &'p mut Sources<'t>,
    surroundings: &'p dyn Surroundings,
    pub(super) report: &'p mut Report,
    snippets: HashMap<String, Snippet>,
    files: HashMap<PathBuf, Found>,
    /// The names of snippets and files by number. The first is the file that everything begins with.
    origins: Vec<String>,
    /// How many more tokens the texts may have.
    words_left: usize,
    /// How many more tokens imports may bring.
    tokens_left: usize,
    /// How many more bytes their texts may have.
    bytes_left: usize,
}

/// An `import` line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) word: Token,
    /// The name of a snippet or file.
    pub(super) target: Option<Token>,
    pub(super) given: Given,
}

/// `(name) { ... }`.
#[derive(Debug)]
struct Snippet {
    place: Span,
    found: Found,
}

/// Something to import.
#[derive(Clone, Debug)]
struct Found {
    /// Its number.
    origin: usize,
    tokens: Rc<[Token]>,
}

/// No more can be imported; that was reported.
#[derive(Debug)]
pub(super) struct Exhausted;

// === impl Imports ===

impl<'p, 't> Imports<'p, 't> {
    pub(super) fn new(
        sources: &'p mut Sources<'t>,
        surroundings: &'p dyn Surroundings,
        report: &'p mut Report,
    ) -> Self {
        let first = glob::clean(sources.path_of(Span::default()));
        let origins = vec![first.display().to_string()];
        let found = Found {
            origin: 0,
            tokens: Rc::new([]),
        };
        Self {
            sources,
            surroundings,
            report,
            snippets: HashMap::new(),
            files: HashMap::from([(first, found)]),
            origins,
            words_left: lexer::MAX_TOKENS,
            tokens_left: MAX_TOKENS,
            bytes_left: MAX_BYTES,
        }
    }

    /// The tokens of the text that everything begins with.
    pub(super) fn first_tokens(&mut self) -> Vec<Token> {
        self.lex_last(ImportId::default())
    }

    /// Defines a snippet. `key` is its name in parentheses.
    pub(super) fn define(&mut self, key: &Token, tokens: Vec<Token>) {
        let name = key.text.trim_start_matches('(').trim_end_matches(')');
        let origin = self.origins.len();
        self.origins.push(key.text.clone());
        match self.snippets.entry(name.to_owned()) {
            Entry::Occupied(first) => {
                let line = self.sources.line_of(first.get().place);
                let message = format!(
                    "the snippet `{}` has a definition already, on line {line}",
                    key.text
                );
                self.report
                    .error(key.span, message, "give one of them another name".to_owned());
            }
            Entry::Vacant(entry) => {
                let tokens = tokens.into();
                let found = Found { origin, tokens };
                entry.insert(Snippet {
                    place: key.span,
                    found,
                });
            }
        }
    }

    /// What an import brings. `at_top` says that it stands where a site may.
    pub(super) fn carry_out(&mut self, line: &Line, at_top: bool) -> Result<Vec<Token>, Exhausted> {
        let Some(target) = line.target.as_ref().filter(|target| !target.text.is_empty()) else {
            let help = "write it behind the word: `import name` or `import path/to/file`".to_owned();
            let message = "`import` needs the name of a snippet or file";
            self.report.error(line.word.span, message, help);
            return Ok(Vec::new());
        };
        let end = line
            .given
            .args
            .last()
            .map_or(target.span.end, |last| last.span.end);
        let mut out = Vec::new();
        for found in self.found(target) {
            if self.is_refused(target.span, found.origin) {
                continue;
            }
            let import = self.sources.add_import(ImportLine {
                target: target.span,
                args: Span::new(target.span.start, end).by(target.span.import),
                written: target.span.import,
                origin: Some(found.origin),
            });
            let start = out.len();
            self.bring(&found.tokens, import, line, at_top, &mut out)?;
            lexer::mask_secrets(out.get(start..).unwrap_or_default(), self.report);
        }
        Ok(out)
    }

    /// The snippet or the files that `target` names.
    fn found(&mut self, target: &Token) -> Vec<Found> {
        if let Some(snippet) = self.snippets.get(&target.text) {
            return vec![snippet.found.clone()];
        }
        let directory = self
            .sources
            .path_of(target.span)
            .parent()
            .unwrap_or_else(|| Path::new(""));
        let path = glob::clean(&directory.join(&target.text));
        if !glob::is_pattern(&target.text) {
            return vec![self.file(&path, target)];
        }
        if target.text.matches('*').count() > 1 || target.text.matches('?').count() > 1 {
            let help = "import from each directory on a line of its own".to_owned();
            let message = "a pattern may have only one `*` and one `?`";
            self.report.error(target.span, message, help);
            return Vec::new();
        }
        let paths = glob::files(&path, self.surroundings, &mut self.sources.inputs.directories);
        if paths.is_empty() {
            let message = format!("no file is like `{}`, so nothing is imported", path.display());
            self.report.warn(target.span, message, None);
        }
        paths.iter().map(|path| self.file(path, target)).collect()
    }

    /// A file, read and taken apart once. One that cannot be read is as good as empty, and reported.
    fn file(&mut self, path: &Path, target: &Token) -> Found {
        if let Some(found) = self.files.get(path) {
            return found.clone();
        }
        let origin = self.origins.len();
        self.origins.push(path.display().to_string());
        self.sources.inputs.files.insert(path.to_owned());
        let found = Found {
            origin,
            tokens: self.read(path, target).into(),
        };
        self.files.insert(path.to_owned(), found.clone());
        found
    }

    fn read(&mut self, path: &Path, target: &Token) -> Vec<Token> {
        if self.files.len() > glob::MAX_FILES {
            let message = format!("more than {} files are imported", glob::MAX_FILES);
            self.report
                .error(target.span, message, "put some together".to_owned());
            return Vec::new();
        }
        let limit = MAX_TEXT.saturating_sub(self.sources.length());
        let bytes = match self.surroundings.read(path, limit) {
            Ok(bytes) if bytes.len() > limit => Err(FileError::TooLong),
            other => other,
        };
        match bytes {
            Ok(bytes) => self.take_apart(path, &bytes, target),
            Err(error) => {
                let (message, help) = unreadable(path, target, &error);
                self.report.error(target.span, message, help);
                Vec::new()
            }
        }
    }

    fn take_apart(&mut self, path: &Path, bytes: &[u8], target: &Token) -> Vec<Token> {
        let import = self.sources.add_import(ImportLine {
            target: target.span,
            args: target.span,
            written: target.span.import,
            origin: None,
        });
        let (text, whole) = valid_text(bytes);
        self.sources.add(&path.display().to_string(), text.to_owned());
        if !whole {
            let end = self.sources.last().base().saturating_add(text.len());
            not_utf8(Span::new(end, end).by(import), self.report);
            return Vec::new();
        }
        if text.trim().is_empty() {
            let message = format!("the file `{}` is empty, so nothing is imported", path.display());
            self.report.warn(target.span, message, None);
        }
        self.lex_last(import)
    }

    /// The tokens of the text that was added last.
    fn lex_last(&mut self, import: ImportId) -> Vec<Token> {
        let source = self.sources.last();
        let at = Span::new(source.base(), source.base()).by(import);
        let variable = |name: &str| self.surroundings.variable(name);
        let text = env::expand(source.text(), at, &variable, self.report);
        let tokens = lexer::tokens(&text, self.words_left, self.report);
        self.words_left = self.words_left.saturating_sub(tokens.len());
        tokens
    }

    /// Whether what `target` names must not be imported there; that is reported.
    fn is_refused(&mut self, target: Span, origin: usize) -> bool {
        let around: Vec<usize> = self
            .sources
            .origins(target.import)
            .map(|(origin, _)| origin)
            .collect();
        let circle = around.iter().position(|outer| *outer == origin);
        let names = match (circle, origin) {
            (Some(last), _) => around.get(..=last).unwrap_or_default(),
            (None, 0) => around.as_slice(),
            (None, _) if around.len() > MAX_DEPTH => {
                let message = format!("imports within imports, more than {MAX_DEPTH} deep");
                self.report.error(target, message, None);
                return true;
            }
            (None, _) => return false,
        };
        let name = |origin: &usize| self.origins.get(*origin).map_or("", String::as_str);
        let first = circle.is_none().then_some(&0);
        let mut path: Vec<&str> = first.into_iter().chain(names.iter().rev()).map(name).collect();
        path.push(name(&origin));
        let message = format!("this import leads back to itself: {}", path.join(" -> "));
        self.report
            .error(target, message, "remove one of these imports".to_owned());
        true
    }

    /// Adds what was found, with what was given in the place of references to it.
    fn bring(
        &mut self,
        tokens: &[Token],
        import: ImportId,
        line: &Line,
        at_top: bool,
        out: &mut Vec<Token>,
    ) -> Result<(), Exhausted> {
        let mut definition = Definition::default();
        let mut before: Option<&Token> = None;
        for token in tokens {
            // What a snippet is defined with is given when that snippet is imported.
            let inside = at_top && definition.goes_on_with(token, before);
            before = Some(token);
            let mut complaints = Vec::new();
            let replacement = if inside {
                None
            } else {
                line.given.replacement(&token.text, &mut complaints)
            };
            let span = token.span.by(import);
            for complaint in complaints.into_iter().take(1) {
                self.report.warn(span, complaint, None);
            }
            match replacement {
                None => self.push(token.text.clone(), token, span, line, out)?,
                Some(Replacement::Text(text)) => self.push(text, token, span, line, out)?,
                Some(Replacement::Arguments(args)) => {
                    for arg in args {
                        self.push(arg.text.clone(), token, span, line, out)?;
                    }
                }
                Some(Replacement::Block(block)) => self.put(block, span, line, out)?,
            }
        }
        Ok(())
    }

    /// Adds the tokens of a block, which stand on no line with what is around them.
    fn put(&mut self, block: &[Token], at: Span, line: &Line, out: &mut Vec<Token>) -> Result<(), Exhausted> {
        let mut ids: HashMap<ImportId, ImportId> = HashMap::new();
        for token in block {
            let written = token.span.import;
            let import = *ids.entry(written).or_insert_with(|| {
                self.sources.add_import(ImportLine {
                    target: at,
                    args: at,
                    written,
                    origin: None,
                })
            });
            self.push(token.text.clone(), token, token.span.by(import), line, out)?;
        }
        Ok(())
    }

    /// Adds one token like `like`.
    fn push(
        &mut self,
        text: String,
        like: &Token,
        span: Span,
        line: &Line,
        out: &mut Vec<Token>,
    ) -> Result<(), Exhausted> {
        let left = self
            .tokens_left
            .checked_sub(1)
            .zip(self.bytes_left.checked_sub(text.len()));
        let Some((tokens, bytes)) = left else {
            let message = format!("imports bring more than {MAX_TOKENS} words or {MAX_BYTES} bytes");
            let help = "do snippets import others twice, again and again?".to_owned();
            let target = line.target.as_ref().unwrap_or(&line.word);
            self.report.error(target.span, message, help);
            return Err(Exhausted);
        };
        (self.tokens_left, self.bytes_left) = (tokens, bytes);
        // An argument is never structure.
        let quoted = like.quoted || (text != like.text && matches!(text.as_str(), "{" | "}"));
        out.push(Token {
            text,
            span,
            quoted,
            line: like.line,
            last_line: like.last_line,
        });
        Ok(())
    }
}

/// Finds the definitions of snippets among tokens.
#[derive(Debug, Default)]
struct Definition {
    inside: bool,
    depth: usize,
    /// The number of the token in its line, outside of blocks.
    in_line: usize,
    named: bool,
}

// === impl Definition ===

impl Definition {
    /// Whether the next token is inside of a definition.
    fn goes_on_with(&mut self, token: &Token, before: Option<&Token>) -> bool {
        if self.depth == 0 {
            if before.is_none_or(|before| token.is_on_new_line_after(before)) {
                self.in_line = 0;
                self.named = token.text.starts_with('(') && token.text.ends_with(')');
            } else {
                self.in_line = self.in_line.saturating_add(1);
            }
        }
        if token.opens() {
            self.depth = self.depth.saturating_add(1);
            self.inside |= self.depth == 1 && self.in_line == 1 && self.named;
        } else if token.closes() {
            self.depth = self.depth.saturating_sub(1);
            self.inside &= self.depth > 0;
        }
        self.inside
    }
}

/// Why a file cannot be imported, and what to do.
fn unreadable(path: &Path, target: &Token, error: &FileError) -> (String, String) {
    let (name, path) = (short(&target.text), path.display());
    match error {
        FileError::Directory => (
            format!("`{path}` is a directory"),
            format!("to import the files in it, write `{name}/*`"),
        ),
        FileError::NoFiles => (
            format!("there is no snippet `({name})` above, and no file can be imported here"),
            "define the snippet above its import, or write its lines in this place".to_owned(),
        ),
        FileError::NotFound => (
            format!("there is no snippet `({name})` above, and no file `{path}`"),
            "define the snippet above its import; a file is looked for in the directory of the file that imports it"
                .to_owned(),
        ),
        FileError::Other(reason) => (format!("`{path}` cannot be read: {reason}"), "may this user read it?".to_owned()),
        FileError::TooLong => (
            format!("with `{path}` the configuration is longer than {MAX_TEXT} bytes"),
            "is this file a configuration?".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests;
