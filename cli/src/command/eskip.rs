//! `doorway eskip`: files of routes, checked, printed and changed. No proxy is needed, and none is asked.

mod document;
mod matching;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use eskip::filters::FilterSettings;
use eskip::routing::{InvalidRoute, RouteTable, TableOptions};
use eskip::{Backend, DefaultFilters, Layout, RewriteError, Rewritten, Route};

use proxy_core::Options;

use self::document::Document;
use crate::args::{EskipCommand, FilterArgs, InputArgs, LayoutArgs};
use crate::exit::{self, Failure, Outcome};
use crate::{output, replace};

/// Carries out one of the eskip commands.
pub(crate) fn eskip(command: &EskipCommand) -> Outcome {
    match command {
        EskipCommand::Check { input } => {
            let document = lenient(input)?;
            document.check()?;
            let count = document.routes().count();
            for warning in left_out(&document) {
                exit::say(&format!("warning: {warning}"));
            }
            output::print_line(format_args!("Valid routes: {count}"))
        }
        EskipCommand::Print {
            input,
            layout,
            output,
        } => {
            let routes: Vec<Route> = lenient(input)?.into_routes();
            write(output.as_deref(), &printed(&routes, layout))
        }
        EskipCommand::Patch {
            input,
            filters,
            layout,
            output,
        } => {
            let filters = default_filters(filters)?;
            let mut routes = lenient(input)?.into_routes();
            filters.apply(&mut routes);
            write(output.as_deref(), &printed(&routes, layout))
        }
        EskipCommand::Match(args) => matching::explain(args),
        EskipCommand::Upsert { input, target } => {
            let updates = updates(input)?;
            let put = Change {
                path: &target.into,
                text: &|text| eskip::upsert_text(text, &updates, Layout::PRETTY),
                list: &|routes| eskip::upsert(routes, updates.clone()),
            };
            put.make(
                Document::of_file_if_there(&target.into)?,
                target.written.output.as_deref(),
            )
        }
        EskipCommand::Reset { input, target } => {
            let updates = updates(input)?;
            let put = Change {
                path: &target.into,
                text: &|text| eskip::reset_text(text, &updates, Layout::PRETTY),
                list: &|routes| eskip::reset(routes, updates.clone()),
            };
            put.make(
                Document::of_file_if_there(&target.into)?,
                target.written.output.as_deref(),
            )
        }
        EskipCommand::Delete {
            input,
            ids,
            from,
            written,
        } => {
            let ids = if ids.is_empty() {
                ids_of(&others(input)?)?
            } else {
                ids.clone()
            };
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let remove = Change {
                path: from,
                text: &|text| eskip::delete_text(text, &ids),
                list: &|routes| drop(eskip::delete(routes, ids.iter().copied())),
            };
            remove.make(Document::of_file(from)?, written.output.as_deref())
        }
    }
}

/// The routes that Doorway would leave out here: with filters or predicates that it does not have, or with arguments that
/// make none. Whether files that filters read are there is a matter of the machine, so none of it is an error.
fn left_out(document: &Document) -> Vec<String> {
    let mut known = Options::default();
    // Whoever runs the routes says where; here it is enough that they may.
    let mut settings = FilterSettings::default();
    settings.tokeninfo_url = Some("https://localhost".to_owned());
    known.filters.configure(settings);
    let mut warnings: Vec<InvalidRoute> = document
        .routes()
        .filter_map(|route| filters_refused(route, &known))
        .collect();
    let routes = document.routes().map(|route| (route, ()));
    let (_, refused) = RouteTable::build(routes, &known.predicates, TableOptions::default());
    warnings.extend(refused);
    warnings.iter().map(ToString::to_string).collect()
}

/// Why a route would be left out for one of its filters; `None` if it would not.
fn filters_refused(route: &Route, known: &Options) -> Option<InvalidRoute> {
    let mut calls = route.filters.iter();
    let why = calls.find_map(|call| known.filters.create(call).err())?;
    Some(InvalidRoute {
        id: route.id.clone(),
        reason: why.into(),
    })
}

// === Input ===

/// The routes that are asked for; those of standard input, if nothing else is said and somebody sends some.
fn lenient(input: &InputArgs) -> Result<Document, Failure> {
    match (&input.file, &input.routes) {
        (None, None) if io::stdin().is_terminal() => Err(usage("no routes: name a file, or use --routes")),
        (None, None) => Document::of_stdin(),
        _ => strict(input),
    }
}

/// The routes that are asked for. Nothing is not taken for standard input: it may be empty by accident, and every
/// route of a file would go.
fn strict(input: &InputArgs) -> Result<Document, Failure> {
    match (&input.file, &input.routes) {
        (_, Some(routes)) => Document::new("routes", routes.clone()),
        (Some(path), None) if path == Path::new("-") => Document::of_stdin(),
        (Some(path), None) => Document::of_file(path),
        (None, None) => Err(usage(
            "no routes: name a file, `-` for standard input, or use --routes",
        )),
    }
}

/// Routes whose ids are those to remove. An id is easily taken for one of them.
fn others(input: &InputArgs) -> Result<Document, Failure> {
    let missing = input
        .file
        .as_deref()
        .filter(|path| *path != Path::new("-") && matches!(path.try_exists(), Ok(false)));
    if let Some(name) = missing.map(Path::display) {
        return Err(Failure::Report(format!(
            "error: cannot read {name}: there is no such file\n  help: the id of a route is written `--ids {name}`"
        )));
    }
    strict(input)
}

/// Routes to be put into a file: with ids, and not two of the same.
fn updates(input: &InputArgs) -> Result<Vec<Route>, Failure> {
    let document = strict(input)?;
    document.check()?;
    ids_of(&document)?;
    Ok(document.into_routes())
}

fn ids_of(document: &Document) -> Result<Vec<String>, Failure> {
    let id = |route: &Route| route.id.as_ref().map(ToString::to_string);
    let ids: Option<Vec<String>> = document.routes().map(id).collect();
    ids.ok_or_else(|| Failure::Report(format!("{}: {}", document.name(), RewriteError::Unnamed)))
}

fn default_filters(args: &FilterArgs) -> Result<DefaultFilters, Failure> {
    let read = |name: &str, inline: Option<&String>, file: Option<&PathBuf>| {
        let (name, text) = match (inline, file) {
            (Some(text), _) => (name.to_owned(), text.clone()),
            (None, Some(path)) => document::read_file(path)?,
            (None, None) => return Ok(Vec::new()),
        };
        eskip::parse_filters(&text).map_err(|errors| Failure::Report(errors.report(&name)))
    };
    Ok(DefaultFilters {
        prepend: read("prepend", args.prepend.as_ref(), args.prepend_file.as_ref())?,
        append: read("append", args.append.as_ref(), args.append_file.as_ref())?,
    })
}

fn usage(text: &str) -> Failure {
    Failure::Usage(text.to_owned())
}

// === Output ===

fn printed(routes: &[Route], args: &LayoutArgs) -> String {
    let text = match (args.json, args.pretty) {
        (true, false) => eskip::to_json(routes),
        (true, true) => eskip::to_json_pretty(routes),
        (false, false) => eskip::print(routes, Layout::Plain),
        (false, true) => eskip::print(
            routes,
            args.indent.as_deref().map_or(Layout::PRETTY, Layout::Pretty),
        ),
    };
    if text.is_empty() {
        text
    } else {
        format!("{text}\n")
    }
}

/// Writes to a file, or prints.
fn write(path: Option<&Path>, text: &str) -> Outcome {
    match path {
        Some(path) if path != Path::new("-") => {
            replace::replace(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            Ok(())
        }
        _ => output::print(text),
    }
}

// === Changes ===

/// A change of a file: of its text, or of its routes if it is JSON.
struct Change<'c> {
    path: &'c Path,
    text: &'c dyn Fn(&str) -> Result<Rewritten, RewriteError>,
    list: &'c dyn Fn(&mut Vec<Route>),
}

// === impl Change ===

impl Change<'_> {
    /// Makes it, and says on standard output what was changed, unless the result is printed there.
    fn make(&self, document: Document, output: Option<&Path>) -> Outcome {
        let (text, summary) = if document.is_json() {
            self.of_list(document)
        } else {
            self.of_text(&document)?
        };
        let path = output.unwrap_or(self.path);
        if path == Path::new("-") {
            return output::print(&text);
        }
        // Without a change, the file is not touched.
        if output.is_some() || summary.is_some() {
            write(Some(path), &text)?;
        }
        let summary = summary.unwrap_or_else(|| "nothing to change".to_owned());
        output::print_line(format_args!("{}: {summary}", path.display()))
    }

    fn of_text(&self, document: &Document) -> Result<(String, Option<String>), Failure> {
        let rewritten = (self.text)(document.text());
        let Rewritten {
            text,
            added,
            changed,
            removed,
        } = rewritten.map_err(|error| Failure::Report(format!("{}: {error}", document.name())))?;
        let any = added + changed + removed > 0;
        let summary = any.then(|| format!("{added} added, {changed} changed, {removed} removed"));
        Ok((text, summary))
    }

    fn of_list(&self, document: Document) -> (String, Option<String>) {
        let text = document.text().to_owned();
        let before = document.into_routes();
        let mut after = before.clone();
        (self.list)(&mut after);
        if after == before {
            return (text, None);
        }
        let summary = format!("{} routes, {} before", after.len(), before.len());
        (format!("{}\n", eskip::to_json_pretty(&after)), Some(summary))
    }
}

/// Whether the requests of a route could go somewhere.
fn has_backend(route: &Route) -> bool {
    !matches!(&route.backend, Backend::Network(address) if address.is_empty())
}
