//! Desired routes out of files.

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use caddy_config::Surroundings as _;
use shipwick_routes::{AdminAddressError, Desired, Document};

use crate::args::DesiredFrom;
use crate::exit::Failure;
use crate::files::Files;
use crate::settings::Environment;

/// Where Shipwick's agent is told of the admin API.
const ADMIN: &str = "SHIPWICK_CADDY_ADMIN";

/// The most bytes of a document.
const MOST: usize = 64 * 1024 * 1024;

/// Texts of documents, each with the name of its file.
pub(super) type Texts = Vec<(String, String)>;

/// Reads and checks what `from` names.
pub(super) fn read(from: &DesiredFrom, environment: &Environment) -> Result<Desired, Failure> {
    check(&texts(from, environment)?, from, environment)
}

/// Reads what `from` names: one text, or those of a directory in the order of their names.
pub(super) fn texts(from: &DesiredFrom, environment: &Environment) -> Result<Texts, Failure> {
    let files = Files(environment.clone());
    match from.file.as_deref().filter(|path| *path != Path::new("-")) {
        None => {
            let mut text = String::new();
            let most = u64::try_from(MOST).unwrap_or(u64::MAX);
            let read = io::stdin().lock().take(most).read_to_string(&mut text);
            read.context("cannot read standard input")?;
            Ok(vec![("standard input".to_owned(), text)])
        }
        Some(path) if path.is_dir() => {
            let shown = path.display();
            let mut names = files
                .list(path)
                .map_err(|error| anyhow!("cannot read {shown}: {error}"))?;
            names.retain(|name| name.ends_with(".json") && !name.starts_with('.'));
            names.sort_unstable();
            if names.is_empty() {
                return Err(anyhow!("{shown} has no *.json").into());
            }
            names.iter().map(|name| text(&path.join(name), &files)).collect()
        }
        Some(path) => Ok(vec![text(path, &files)?]),
    }
}

/// What the texts say together.
pub(super) fn check(
    texts: &Texts,
    from: &DesiredFrom,
    environment: &Environment,
) -> Result<Desired, Failure> {
    let mut whole = Document::default();
    let several = texts.len() > 1;
    for (name, text) in texts {
        let document = Document::parse(text);
        let document = document.map_err(|error| {
            let (line, column) = (error.line, error.column);
            Failure::Report(format!("error: {name}:{line}:{column}: {}", error.message))
        })?;
        let document = if several { document.named(name) } else { document };
        whole.add(document).map_err(|field| {
            Failure::Report(format!(
                "error: {name}: {field}: another file has it already; leave it to one"
            ))
        })?;
    }
    match (&from.admin, admin_of(environment)) {
        (Some(given), _) => whole.set_admin(given),
        (None, Some(usual)) if !whole.has_admin() => whole.set_admin(usual),
        _ => {}
    }
    let name = match texts.as_slice() {
        [(name, _)] => name.as_str(),
        _ => "routes",
    };
    whole
        .check()
        .map_err(|problems| Failure::Report(format!("error: invalid {name}\n\n{problems}")))
}

/// The admin API of this environment.
pub(super) fn admin_of(environment: &Environment) -> Option<&str> {
    environment.get(ADMIN).filter(|address| !address.is_empty())
}

/// An address on the command line or in the environment that is none.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn bad_admin(error: AdminAddressError) -> Failure {
    Failure::Usage(format!("the admin address: {error}"))
}

fn text(path: &Path, files: &Files) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let bytes = files
        .read(path, MOST)
        .map_err(|error| anyhow!("cannot read {name}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not UTF-8"))?;
    Ok((name, text))
}
