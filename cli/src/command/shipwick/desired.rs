//! Desired routes out of files.

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use caddy_config::Surroundings as _;
use shipwick_routes::{AdminAddress, Desired, Document};

use crate::args::DesiredFrom;
use crate::exit::Failure;
use crate::files::Files;
use crate::settings::Environment;

/// Where Shipwick's agent is told of the admin API.
const ADMIN: &str = "SHIPWICK_CADDY_ADMIN";

/// The most bytes of the documents together.
const MOST: usize = 64 * 1024 * 1024;

/// What to do where nothing says where the admin API is.
const WAY_OUT: &str = "  help: say it with --admin, in SHIPWICK_CADDY_ADMIN or in the document";

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
            let mut bytes = Vec::new();
            let most = u64::try_from(MOST).unwrap_or(u64::MAX).saturating_add(1);
            let read = io::stdin().lock().take(most).read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            let name = "standard input".to_owned();
            if bytes.len() > MOST {
                return Err(anyhow!("{name} is longer than {} MiB", MOST >> 20).into());
            }
            Ok(vec![decoded(name, bytes)?])
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
            let mut left = MOST;
            let each = names.iter().map(|name| {
                let text = text(&path.join(name), &files, left)?;
                left = left.saturating_sub(text.1.len());
                Ok(text)
            });
            each.collect()
        }
        Some(path) => Ok(vec![text(path, &files, MOST)?]),
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
    if from.admin.is_some() || !whole.has_admin() {
        let admin = admin(from.admin.as_deref(), environment)?;
        admin
            .into_iter()
            .for_each(|admin| whole.set_admin(&admin.to_string()));
    }
    let name = match texts.as_slice() {
        [(name, _)] => name.as_str(),
        _ => "routes",
    };
    whole.check().map_err(|problems| {
        let help = if whole.has_admin() {
            String::new()
        } else {
            format!("\n\n{WAY_OUT}")
        };
        Failure::Report(format!("error: invalid {name}\n\n{problems}{help}"))
    })
}

/// The admin API that the command line names, or else the environment.
///
/// # Errors
///
/// An address that is none, with who says so.
pub(super) fn admin(given: Option<&str>, environment: &Environment) -> Result<Option<AdminAddress>, Failure> {
    let usual = || environment.get(ADMIN).filter(|address| !address.is_empty());
    let named = given.map(|given| ("--admin", given));
    let Some((by, address)) = named.or_else(|| Some((ADMIN, usual()?))) else {
        return Ok(None);
    };
    let parsed = address.parse::<AdminAddress>();
    parsed
        .map(Some)
        .map_err(|error| Failure::Usage(format!("{by}: {error}")))
}

fn text(path: &Path, files: &Files, most: usize) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let bytes = files
        .read(path, most)
        .map_err(|error| anyhow!("cannot read {name}: {error}"))?;
    decoded(name, bytes)
}

fn decoded(name: String, bytes: Vec<u8>) -> Result<(String, String), Failure> {
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not UTF-8"))?;
    Ok((name, text))
}
