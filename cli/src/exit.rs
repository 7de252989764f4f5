//! How a command ends: what is said about it on standard error, and the exit code.

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use caddy_config::Diagnostics;
use proxy_core::{AdminError, BuildErrors};

use crate::{args, output};

/// What every command returns.
pub(crate) type Outcome = Result<(), Failure>;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or the environment cannot be carried out as written. Exit code 2.
    Usage(String),
    /// A report that is complete as it stands, such as the diagnostics of a configuration. Exit code 1.
    Report(String),
    /// A signal ended what was under way. Exit code 2, as Caddy's.
    Forced(String),
    /// Anything else that went wrong. Exit code 1.
    Error(anyhow::Error),
    /// Nobody reads standard output any more (`doorway adapt | head`). That is no failure: exit code 0.
    OutputClosed,
}

/// Says on standard error what `outcome` has to say and gives the exit code that belongs to it.
pub(crate) fn finish(outcome: Outcome) -> ExitCode {
    let (text, code) = match outcome {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(failure @ (Failure::Usage(_) | Failure::Forced(_))) => (failure.to_string(), 2),
        Err(failure) => (failure.to_string(), 1),
    };
    say(&text);
    ExitCode::from(code)
}

/// Prints what the reader of the command line has to say: help and version to standard output with exit code 0,
/// complaints to standard error with exit code 2.
pub(crate) fn finish_usage(message: &clap::Error) -> ExitCode {
    if message.use_stderr() {
        let arguments: Vec<String> = env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect();
        let hint = args::of_caddy::hint(message).or_else(|| args::of_skipper::hint(message, &arguments));
        say(&hint.unwrap_or_else(|| message.render().to_string()));
        return ExitCode::from(2);
    }
    finish(output::print(&message.render().to_string()))
}

/// Writes one message to standard error. A closed standard error has no reader who could be told.
pub(crate) fn say(text: &str) {
    let _unheard = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

// === impl Failure ===

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => write!(f, "error: {text}"),
            Self::Report(text) | Self::Forced(text) => f.write_str(text),
            Self::Error(error) => write!(f, "error: {error:#}"),
            Self::OutputClosed => f.write_str("standard output is closed"),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Error(error)
    }
}

/// The findings say everything themselves.
impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Report(diagnostics.to_string())
    }
}

/// One line for each error.
impl From<BuildErrors> for Failure {
    fn from(errors: BuildErrors) -> Self {
        let lines: Vec<String> = errors
            .to_string()
            .lines()
            .map(|line| format!("error: {line}"))
            .collect();
        Self::Report(lines.join("\n"))
    }
}

/// One line that says the way out, too.
impl From<AdminError> for Failure {
    fn from(error: AdminError) -> Self {
        Self::Report(format!("error: {error}"))
    }
}

/// For errors of writing to standard output; other I/O errors get a context first.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::Error(anyhow::Error::new(error).context("cannot write to standard output"))
    }
}
