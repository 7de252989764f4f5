//! `doorway fmt`: a Caddyfile in the usual layout.

mod diff;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;

use crate::args::FmtArgs;
use crate::exit::{Failure, Outcome};
use crate::{output, replace, source};

/// The most bytes that are laid out: as many as a configuration may have.
const MAX_TEXT: u64 = 32 * 1024 * 1024;

/// Prints the file laid out, or what would change, or writes it back. Without writing, a file that is laid out
/// otherwise is a failure, so that scripts can check for it; standard input never is, so that editors can use it.
pub(crate) fn fmt(args: &FmtArgs) -> Outcome {
    let path = args.path.as_deref().or(args.config.as_deref());
    let path = path.unwrap_or_else(|| Path::new(source::DEFAULT_FILE));
    if path == Path::new("-") {
        let bytes = read(io::stdin().lock()).context("cannot read standard input")?;
        return output::print(&caddy_config::format(text("stdin", &bytes)?));
    }
    let name = path.display().to_string();
    if path.extension().is_some_and(|extension| extension == "json") {
        return Err(Failure::Usage(format!(
            "{name} is JSON, and `fmt` is for Caddyfiles"
        )));
    }
    if args.overwrite && fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Failure::Usage(format!(
            "{name} is not a regular file, so that nothing can be written back"
        )));
    }
    // A pipe, such as a shell makes of `<(command)`, is read until its writer ends.
    let bytes = File::open(path)
        .and_then(read)
        .with_context(|| format!("cannot read {name}"))?;
    let before = text(&name, &bytes)?;
    let after = caddy_config::format(before);
    if args.overwrite {
        if after != before {
            replace::replace(path, &after).with_context(|| format!("cannot write {name}"))?;
        }
        return Ok(());
    }
    if args.diff {
        output::print(&diff::lines(before, &after))?;
    } else {
        output::print(&after)?;
    }
    match caddy_config::unformatted(&name, before) {
        Some(warning) => Err(Failure::Report(format!(
            "{}: {}\n  help: `--overwrite` writes the result back, `--diff` shows what changes",
            warning.place(),
            warning.message()
        ))),
        None => Ok(()),
    }
}

/// All that is there, unless it is too long to be a Caddyfile: a device may never end.
fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_TEXT) {
        let message = format!("it is longer than {} MiB", MAX_TEXT / 1024 / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The text as it is, with a byte order mark if it has one.
fn text<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Failure> {
    caddy_config::text_from_bytes(name, bytes)?;
    Ok(std::str::from_utf8(bytes).unwrap_or_default())
}
