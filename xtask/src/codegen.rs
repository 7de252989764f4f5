//! `cargo xtask codegen`: the parts of the documents that code knows better than whoever writes them.
//!
//! A document marks such a part with `<!-- generated: NAME -->` and `<!-- end: NAME -->`; what stands between is what
//! an example program of the crate prints, or the command's own help. `--check` changes nothing and fails if
//! something is not as it would be written.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::metadata::{Metadata, cargo};
use crate::process::Cargo;

/// What to do.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Options {
    /// Fail if a document is stale, instead of writing it.
    #[arg(long)]
    check: bool,
}

/// One generated part of a document.
#[derive(Clone, Copy, Debug)]
struct Part {
    document: &'static str,
    name: &'static str,
    author: Author,
}

/// Who prints it.
#[derive(Clone, Copy, Debug)]
enum Author {
    /// An example program of a crate.
    Example(&'static str, &'static str),
    /// The example program that prints the tables of Skipper's routes: the one of the part's name.
    Skipper,
    /// The help of the binary and of each of its commands.
    Help,
}

const SKIPPER: &str = "proxy-core/src/manual/skipper.md";

const PARTS: [Part; 5] = [
    Part {
        document: "proxy-core/src/manual/configuration.md",
        name: "support",
        author: Author::Example("caddy-config", "support"),
    },
    Part {
        document: SKIPPER,
        name: "predicates",
        author: Author::Skipper,
    },
    Part {
        document: SKIPPER,
        name: "filters",
        author: Author::Skipper,
    },
    Part {
        document: SKIPPER,
        name: "unsupported",
        author: Author::Skipper,
    },
    Part {
        document: "cli/COMMANDS.md",
        name: "commands",
        author: Author::Help,
    },
];

/// The width that help texts are wrapped to.
const COLUMNS: &str = "100";

/// Writes every part, or checks it.
pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    if options.check {
        check(&metadata)?;
    } else {
        for (path, fresh) in stale(&metadata)? {
            fs::write(metadata.workspace_root.join(path), fresh).with_context(|| path.to_owned())?;
            println!("codegen: wrote {path}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// An error if a document is not as it would be written.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    let stale = stale(metadata)?;
    for (path, _) in &stale {
        eprintln!("{path}: a generated part is stale");
    }
    if !stale.is_empty() {
        bail!("codegen: run `cargo xtask codegen`");
    }
    println!("codegen: {} parts, all as code has it", PARTS.len());
    Ok(())
}

/// The documents that would change, and what they would be.
fn stale(metadata: &Metadata) -> Result<Vec<(&'static str, String)>> {
    let mut stale: Vec<(&str, String)> = Vec::new();
    for part in PARTS {
        let path = metadata.workspace_root.join(part.document);
        // Several parts may stand in one document.
        let pending = stale.iter().position(|(document, _)| *document == part.document);
        let before = match pending {
            Some(at) => stale.swap_remove(at).1,
            None => fs::read_to_string(&path).with_context(|| part.document.to_owned())?,
        };
        let after =
            spliced(&before, part.name, &part.text(metadata)?).with_context(|| part.document.to_owned())?;
        if pending.is_some() || after != before {
            stale.push((part.document, after));
        }
    }
    Ok(stale)
}

// === impl Part ===

impl Part {
    fn text(&self, metadata: &Metadata) -> Result<String> {
        let root = &metadata.workspace_root;
        match self.author {
            Author::Example(package, example) => output(
                Command::new(cargo())
                    .args(["run", "--quiet", "--locked", "-p", package, "--example", example])
                    .current_dir(root),
            ),
            Author::Skipper => output(
                Command::new(cargo())
                    .args(["run", "--quiet", "--locked", "-p", "proxy-core"])
                    .args(["--example", "skipper_tables", self.name])
                    .current_dir(root),
            ),
            Author::Help => {
                Cargo::new("build --quiet --locked -p doorway").run(root)?;
                help(&metadata.target_directory.join("debug/doorway"))
            }
        }
    }
}

/// The help of every command, each under a heading of its own.
fn help(binary: &Path) -> Result<String> {
    let mut pages = String::new();
    let mut pending = vec![Vec::<String>::new()];
    while let Some(command) = pending.pop() {
        let page = output(
            Command::new(binary)
                .args(&command)
                .arg("--help")
                .env("COLUMNS", COLUMNS),
        )?;
        let below = commands(&page).into_iter().rev();
        pending.extend(below.map(|name| [command.clone(), vec![name]].concat()));
        let title = [vec!["doorway".to_owned()], command].concat().join(" ");
        pages.push_str(&format!("## `{title}`\n\n```text\n{}\n```\n\n", page.trim_end()));
    }
    Ok(pages.trim_end().to_owned() + "\n")
}

/// The commands that a help text lists.
fn commands(page: &str) -> Vec<String> {
    let Some((_, list)) = page.split_once("Commands:\n") else {
        return Vec::new();
    };
    let rows = list.lines().take_while(|line| !line.is_empty());
    let names = rows.filter_map(|row| row.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// `document` with `text` between the marks of this name.
pub(crate) fn spliced(document: &str, name: &str, text: &str) -> Result<String> {
    let (open, close) = (
        format!("<!-- generated: {name} -->\n"),
        format!("<!-- end: {name} -->\n"),
    );
    let (before, rest) = document
        .split_once(&open)
        .with_context(|| format!("no `{}`", open.trim()))?;
    let (_, after) = rest
        .split_once(&close)
        .with_context(|| format!("no `{}`", close.trim()))?;
    Ok(format!("{before}{open}\n{}\n\n{close}{after}", text.trim()))
}

fn output(command: &mut Command) -> Result<String> {
    let said = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| said.clone())?;
    ensure!(output.status.success(), "{said} failed ({})", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "a\n<!-- generated: x -->\nold\n<!-- end: x -->\nb\n";

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let new = spliced(DOCUMENT, "x", "| new |\n").unwrap();
        assert_eq!(new, "a\n<!-- generated: x -->\n\n| new |\n\n<!-- end: x -->\nb\n");
        assert_eq!(
            spliced(&new, "x", "| new |").unwrap(),
            new,
            "once more changes nothing"
        );
    }

    #[test]
    fn a_mark_that_is_missing_is_an_error() {
        assert!(spliced(DOCUMENT, "y", "").is_err());
        assert!(spliced("<!-- generated: x -->\n", "x", "").is_err());
    }

    #[test]
    fn the_commands_of_a_help_text_are_found() {
        let page = "About.\n\nUsage: d\n\nCommands:\n  run     Run\n  token   Make\n            more of it\n  help    Print\n\nOptions:\n  -h  Help\n";
        assert_eq!(commands(page), ["run", "token"]);
        assert!(commands("Usage: d\n\nOptions:\n").is_empty());
    }
}
