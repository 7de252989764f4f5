//! What is known of all files, and what becomes of it when they change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use route_store::{HostDocument, HostName};
use tracing::{info, warn};

use super::contents::{Contents, Fault};
use super::deep::deep;
use super::files::{self, Look, Seen};
use super::hcl;
use super::parse::{self, ParseError};
use super::settings::{FileSettings, WhenMissing};
use crate::snapshot::{Invalid, Route, Snapshot};

/// What is known of all files.
#[derive(Debug, Default)]
pub(super) struct State {
    files: Vec<FileState>,
    /// All routes that count, in order, some of them from files that are gone.
    routes: Vec<Arc<HostDocument>>,
}

/// What is known of one file.
#[derive(Clone, Debug)]
struct FileState {
    path: PathBuf,
    seen: Seen,
    imports: BTreeMap<PathBuf, Seen>,
    documents: Vec<Arc<HostDocument>>,
    invalid: Vec<Invalid>,
    /// Settings in it that are not about routes.
    others: Vec<String>,
    /// Why its routes are not what it says now.
    stale: Option<String>,
}

/// What a file says, once it is whole.
struct Read {
    documents: Vec<HostDocument>,
    faults: Vec<Fault>,
    others: Vec<String>,
}

// === impl State ===

impl State {
    /// The files that were there at some time, in their order.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().map(|file| &file.path)
    }

    /// The files that they import.
    pub(super) fn imports(&self) -> impl Iterator<Item = &PathBuf> {
        let all: BTreeSet<&PathBuf> = self.files.iter().flat_map(|file| file.imports.keys()).collect();
        all.into_iter()
    }

    fn by_path(&self) -> BTreeMap<&Path, &FileState> {
        self.files
            .iter()
            .map(|file| (file.path.as_path(), file))
            .collect()
    }

    /// Whether anything is not as it was when it was read.
    pub(super) fn differs(&self, look: &Look) -> bool {
        let files = self.by_path();
        let listed = look.files.iter().filter_map(|(path, seen)| {
            let file = files.get(path.as_path()).copied();
            // One that is gone and forgotten is not news.
            (file.is_some() || *seen != Seen::Missing).then_some((file, seen))
        });
        let known: Vec<(Option<&FileState>, &Seen)> = listed.collect();
        let in_order = known
            .iter()
            .filter_map(|(file, _)| *file)
            .map(|file| &file.path)
            .eq(self.files());
        let is_same = |(file, seen): &(Option<&FileState>, &Seen)| {
            file.is_some_and(|file| file.seen == **seen && file.imports_are_in(look))
        };
        !(in_order && known.iter().all(is_same))
    }

    /// What is known after a look.
    pub(super) fn next(&self, look: &Look, settings: &FileSettings) -> Self {
        let before = Documents::of(&self.routes);
        let known = self.by_path();
        let mut files = Vec::with_capacity(look.files.len());
        for (path, seen) in &look.files {
            let earlier = known.get(path.as_path()).copied();
            let file = match earlier {
                Some(file) if file.seen == *seen && file.imports_are_in(look) => file.clone(),
                _ => FileState::read(path, seen, earlier, look, &before, settings),
            };
            files.push(file);
        }
        drop_what_moved(&mut files);
        let routes = files.iter().flat_map(|file| &file.documents).cloned().collect();
        Self { files, routes }
    }

    /// The whole of it.
    pub(super) fn snapshot(&self) -> Snapshot {
        let stale: Vec<&str> = self
            .files
            .iter()
            .filter_map(|file| file.stale.as_deref())
            .collect();
        let invalid = self.files.iter().flat_map(|file| &file.invalid);
        Snapshot {
            routes: self.routes.iter().cloned().map(Route::Document).collect(),
            invalid: invalid.cloned().collect(),
            revision: None,
            stale: (!stale.is_empty()).then(|| stale.join("; ")),
        }
    }

    /// Logs what is new against an earlier state.
    pub(super) fn tell(&self, earlier: &Self) {
        let earlier = earlier.by_path();
        for file in &self.files {
            let before = earlier.get(file.path.as_path()).copied();
            let path = file.path.display();
            let is_new =
                before.is_none_or(|before| before.seen != file.seen || before.imports != file.imports);
            if let Some(reason) = &file.stale {
                if before.is_none_or(|before| before.stale != file.stale) {
                    warn!(%reason, routes = file.documents.len(), "a file of routes is not taken, its earlier routes are kept");
                }
            } else if is_new {
                info!(%path, routes = file.documents.len(), invalid = file.invalid.len(), "took routes of a file");
            }
            if !file.others.is_empty() && before.is_none_or(|before| before.others != file.others) {
                let settings = file.others.join(", ");
                warn!(%path, %settings, "settings that are not about routes are left to the program's own configuration");
            }
        }
    }
}

/// A file that is gone and all of whose hosts others define was renamed or split: it is forgotten. Of another that is gone
/// the routes that others define are.
fn drop_what_moved(files: &mut Vec<FileState>) {
    let is_gone = |file: &FileState| file.seen == Seen::Missing;
    if !files.iter().any(is_gone) {
        return;
    }
    let defined = files
        .iter()
        .filter(|file| !is_gone(file))
        .flat_map(|file| &file.documents);
    let defined: BTreeSet<HostName> = defined.map(|document| document.host().clone()).collect();
    files.retain_mut(|file| {
        if !is_gone(file) {
            return true;
        }
        let had_any = !file.documents.is_empty();
        file.documents
            .retain(|document| !defined.contains(document.host()));
        let is_wanted = !had_any && file.stale.is_some();
        is_wanted || !file.documents.is_empty()
    });
}

// === impl FileState ===

impl FileState {
    fn imports_are_in(&self, look: &Look) -> bool {
        let is_same = |(path, seen): (&PathBuf, &Seen)| look.imports.get(path).is_none_or(|now| now == seen);
        self.imports.iter().all(is_same)
    }

    fn read(
        path: &Path,
        seen: &Seen,
        earlier: Option<&Self>,
        look: &Look,
        before: &Documents<'_>,
        settings: &FileSettings,
    ) -> Self {
        let load = |path: &Path| {
            look.imports
                .get(path)
                .cloned()
                .unwrap_or_else(|| files::read(path))
        };
        let read = deep(|| Read::of(path, seen, &load, settings));
        let (read, imports) = read.unwrap_or_else(|| (failed("it could not be read"), BTreeMap::new()));
        let mut file = Self {
            path: path.to_owned(),
            seen: seen.clone(),
            imports,
            documents: Vec::new(),
            invalid: Vec::new(),
            others: Vec::new(),
            stale: None,
        };
        match read {
            Ok(read) => file.take(read, earlier, before),
            Err(error) => file.keep(&error, earlier),
        }
        file
    }

    /// Takes what the file says. What cannot be served is served as before, if there was something before.
    fn take(&mut self, read: Read, earlier: Option<&Self>, before: &Documents<'_>) {
        self.documents = read
            .documents
            .into_iter()
            .map(|document| before.same(document))
            .collect();
        self.others = read.others;
        if read.faults.is_empty() {
            return;
        }
        let earlier = Documents::of(earlier.map_or(&[], |file| &file.documents));
        let mut defined: BTreeSet<HostName> = self
            .documents
            .iter()
            .map(|document| document.host().clone())
            .collect();
        for fault in read.faults {
            let host = fault
                .host
                .as_deref()
                .and_then(|host| host.parse::<HostName>().ok());
            // Of two that are wrong for one host, the first stands for what was there before.
            let host = host.filter(|host| defined.insert(host.clone()));
            let kept = host.and_then(|host| earlier.first(&host));
            self.invalid.push(Invalid {
                host: fault.host,
                place: place(&self.path, fault.line),
                reason: fault.reason,
                kept: kept.is_some(),
            });
            self.documents.extend(kept.cloned());
        }
    }

    /// Keeps what an earlier file said.
    fn keep(&mut self, error: &ParseError, earlier: Option<&Self>) {
        if let Some(earlier) = earlier {
            self.documents.clone_from(&earlier.documents);
            // A file may become whole by a change of what it imported before.
            for (path, seen) in &earlier.imports {
                self.imports.entry(path.clone()).or_insert_with(|| seen.clone());
            }
        }
        let place = place(&self.path, error.line);
        self.stale = Some(format!("{place}: {}", error.message));
        self.invalid.push(Invalid {
            host: None,
            place,
            reason: error.message.clone(),
            kept: !self.documents.is_empty(),
        });
    }
}

fn place(path: &Path, line: usize) -> String {
    match line {
        0 => path.display().to_string(),
        line => format!("{}:{line}", path.display()),
    }
}

// === impl Read ===

impl Read {
    fn of(
        path: &Path,
        seen: &Seen,
        load: &(dyn Fn(&Path) -> Seen + Sync),
        settings: &FileSettings,
    ) -> (Result<Self, ParseError>, BTreeMap<PathBuf, Seen>) {
        let text = match seen {
            Seen::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => return (failed("it is no UTF-8"), BTreeMap::new()),
            },
            Seen::Missing => return (empty("it is not there", settings), BTreeMap::new()),
            Seen::Unreadable(reason) => return (failed(reason), BTreeMap::new()),
        };
        let env = |name: &str| (settings.env)(name);
        let mut surroundings = hcl::Surroundings::new(path, &env, load);
        let contents = match path.extension().and_then(|extension| extension.to_str()) {
            Some("hcl") => hcl::read(text, &mut surroundings),
            Some("json") => parse::json(text).and_then(Contents::of),
            _ => parse::yaml(text).and_then(Contents::of),
        };
        let read = contents.and_then(|contents| Self::all(contents, settings));
        (read, surroundings.into_imported())
    }

    fn all(mut contents: Contents, settings: &FileSettings) -> Result<Self, ParseError> {
        let others = std::mem::take(&mut contents.others);
        let Some(items) = contents.into_items() else {
            let mut read = empty(
                "it has no `routes`; removing all of them is written as `routes: []`",
                settings,
            )?;
            read.others = others;
            return Ok(read);
        };
        let mut read = Self {
            documents: Vec::with_capacity(items.len()),
            faults: Vec::new(),
            others,
        };
        for item in items {
            match item.into_document() {
                Ok(document) => read.documents.push(document),
                Err(fault) => read.faults.push(fault),
            }
        }
        Ok(read)
    }
}

fn failed(reason: &str) -> Result<Read, ParseError> {
    Err(ParseError {
        line: 0,
        message: reason.to_owned(),
    })
}

/// A file that says nothing, which is an error unless the settings take it at its word.
fn empty(reason: &str, settings: &FileSettings) -> Result<Read, ParseError> {
    match settings.when_missing {
        WhenMissing::Keep => failed(reason),
        WhenMissing::Clear => Ok(Read {
            documents: Vec::new(),
            faults: Vec::new(),
            others: Vec::new(),
        }),
    }
}

/// The documents of an earlier state by their host.
struct Documents<'d>(BTreeMap<&'d HostName, Vec<&'d Arc<HostDocument>>>);

// === impl Documents ===

impl<'d> Documents<'d> {
    fn of(documents: &'d [Arc<HostDocument>]) -> Self {
        let mut by_host: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for document in documents {
            by_host.entry(document.host()).or_default().push(document);
        }
        Self(by_host)
    }

    fn first(&self, host: &HostName) -> Option<&'d Arc<HostDocument>> {
        self.0.get(host)?.first().copied()
    }

    /// The earlier one if it says the same: then nobody needs to compare it again.
    fn same(&self, document: HostDocument) -> Arc<HostDocument> {
        let mut earlier = self.0.get(document.host()).into_iter().flatten();
        match earlier.find(|earlier| ****earlier == document) {
            Some(earlier) => Arc::clone(earlier),
            None => Arc::new(document),
        }
    }
}

#[cfg(test)]
mod tests;
