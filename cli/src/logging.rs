//! Logs: which lines are kept, in which form, and where they go, as the configuration says.
//!
//! Without any configuration: lines of level info and above, to standard error, for people on a terminal and as
//! JSON elsewhere, with the field names of Caddy (`level`, `ts`, `logger`, `msg`).
//!
//! Access logs are not made of these lines: the proxy writes them itself, each to its own logger.

mod line;
mod sink;

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use caddy_config::{
    AppendEncoder, Config, FilterEncoder, Log, LogEncoder, LogLevel, LogLevelName, LogWriter, Logging,
};
use proxy_core::{BuildError, BuildErrors, Commit, Destination, LogFiles, Part};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;

use self::line::{Form, Line};
use self::sink::Sink;

/// The logger that takes every line that no other one claims.
const DEFAULT: &str = "default";
/// Loggers below this name take access logs, which the proxy writes itself.
const ACCESS: &str = "http.log.access";
/// Libraries whose lines below a warning tell a user nothing.
const QUIET: [&str; 6] = ["h2", "hickory", "hyper", "mio", "rustls", "tokio"];

/// Every logger of the configuration.
#[derive(Debug)]
struct Loggers(Vec<Logger>);

/// One logger.
#[derive(Debug)]
struct Logger {
    level: Level,
    include: Vec<String>,
    exclude: Vec<String>,
    form: Form,
    place: Place,
}

/// Where the lines of a logger go.
#[derive(Debug)]
enum Place {
    /// A file, which access logs may share and which is rolled.
    File(Arc<proxy_core::LogWriter>),
    Stream(Sink),
}

/// The log of the process, which each configuration may change.
#[derive(Debug)]
pub(crate) struct ProcessLog {
    loggers: reload::Handle<Loggers, Registry>,
    coloured: bool,
    files: LogFiles,
    /// What the loggers were made from.
    logging: Arc<Mutex<Option<Logging>>>,
}

/// Starts logging for the whole process, once. `coloured` is for lines that people read on standard error.
///
/// # Errors
///
/// A log file that cannot be opened, with its path.
pub(crate) fn start(
    logging: Option<&Logging>,
    coloured: bool,
    files: &LogFiles,
) -> anyhow::Result<ProcessLog> {
    let (layer, loggers) = reload::Layer::new(Loggers::new(logging, coloured, files)?);
    let subscriber = Registry::default().with(layer);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|_| anyhow!("logging was started already"))?;
    Ok(ProcessLog {
        loggers,
        coloured,
        files: files.clone(),
        logging: Arc::new(Mutex::new(logging.cloned())),
    })
}

/// Starts logging of warnings and errors alone, to standard error.
pub(crate) fn start_quiet(coloured: bool) -> anyhow::Result<()> {
    let log = Log {
        level: Some(LogLevel::Warn.into()),
        ..Log::default()
    };
    let logs = [(DEFAULT.to_owned(), log)].into();
    let logging = Logging {
        logs,
        ..Logging::default()
    };
    start(Some(&logging), coloured, &LogFiles::default()).map(drop)
}

// === impl ProcessLog ===

impl Part for ProcessLog {
    fn prepare(&self, config: &Config) -> Result<Commit, BuildErrors> {
        let next = config.logging.clone();
        if *lock(&self.logging) == next {
            return Ok(Box::new(|| {}));
        }
        let made = Loggers::new(next.as_ref(), self.coloured, &self.files);
        let made = made.map_err(|error| BuildError::Part(format!("{error:#}").into()))?;
        let (loggers, logging) = (self.loggers.clone(), Arc::clone(&self.logging));
        Ok(Box::new(move || {
            // It fails only once the process has no log any more.
            let _gone = loggers.reload(made);
            *lock(&logging) = next;
        }))
    }
}

fn lock(logging: &Mutex<Option<Logging>>) -> MutexGuard<'_, Option<Logging>> {
    logging.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Loggers ===

impl Loggers {
    fn new(logging: Option<&Logging>, coloured: bool, files: &LogFiles) -> anyhow::Result<Self> {
        let mut logs = logging.map(|logging| logging.logs.clone()).unwrap_or_default();
        logs.entry(DEFAULT.to_owned()).or_default();
        let opened = logs
            .iter()
            .filter(|(_, log)| !only_access(log))
            .map(|(name, log)| {
                Logger::new(log, coloured, files).with_context(|| format!("cannot start the log {name}"))
            });
        let loggers = opened.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self(loggers.into_iter().flatten().collect()))
    }

    fn most_verbose(&self) -> Option<Level> {
        self.0.iter().map(|logger| logger.level).max()
    }
}

impl<S: Subscriber> Layer<S> for Loggers {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let quiet = QUIET.iter().any(|library| metadata.target().starts_with(library));
        let limit = if quiet { Some(Level::WARN) } else { None };
        limit.is_none_or(|limit| *metadata.level() <= limit)
            && self
                .most_verbose()
                .is_some_and(|level| *metadata.level() <= level)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(
            self.most_verbose()
                .map_or(LevelFilter::OFF, LevelFilter::from_level),
        )
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a line of a log carries the time of the wall clock"
        )]
        let line = Line::new(event, SystemTime::now());
        for logger in &self.0 {
            if logger.takes(&line) {
                logger.place.write(line.in_form(logger.form));
            }
        }
    }
}

// === impl Logger ===

impl Logger {
    /// `None` for a logger whose lines go nowhere.
    fn new(log: &Log, coloured: bool, files: &LogFiles) -> anyhow::Result<Option<Self>> {
        let writer = log.writer.as_ref().unwrap_or(&LogWriter::Stderr {});
        let (place, terminal) = match writer {
            LogWriter::Stderr {} => (stream(io::stderr())?, io::stderr().is_terminal()),
            LogWriter::Stdout {} => (stream(io::stdout())?, io::stdout().is_terminal()),
            LogWriter::File(file) => {
                let opened = files.open(&Destination::from(Some(writer)));
                let opened = opened.with_context(|| format!("cannot open {}", file.filename.display()))?;
                (Place::File(opened), false)
            }
            LogWriter::Discard {} => return Ok(None),
            other => return Err(anyhow!("this version cannot write to {other:?}")),
        };
        let for_people = Form::Console {
            coloured: coloured && terminal && matches!(writer, LogWriter::Stderr {}),
        };
        let form = match log.encoder.as_ref().and_then(plain_form) {
            Some(LogEncoder::Json(_)) => Form::Json,
            None if !terminal => Form::Json,
            _ => for_people,
        };
        let least = log.level.as_ref().map_or(LogLevel::Info, LogLevelName::level);
        // The process logs nothing above an error.
        let Some(level) = level(least) else {
            return Ok(None);
        };
        let (include, exclude) = (log.include.clone(), log.exclude.clone());
        Ok(Some(Self {
            level,
            include,
            exclude,
            form,
            place,
        }))
    }

    fn takes(&self, line: &Line) -> bool {
        let named = |names: &[String]| names.iter().any(|name| is_below(line.logger(), name));
        line.level() <= self.level
            && (self.include.is_empty() || named(&self.include))
            && !named(&self.exclude)
    }
}

// === impl Place ===

impl Place {
    fn write(&self, line: String) {
        match self {
            Self::File(writer) => {
                // A line that cannot be written is lost: there is nowhere left to say so.
                let _lost = writer.write_within(line, sink::PATIENCE);
            }
            Self::Stream(sink) => sink.write(line.as_bytes()),
        }
    }
}

fn stream(out: impl io::Write + Send + 'static) -> anyhow::Result<Place> {
    let sink = Sink::start(out).context("cannot start the thread of a log")?;
    Ok(Place::Stream(sink))
}

/// Whether a logger takes access logs and nothing else.
fn only_access(log: &Log) -> bool {
    !log.include.is_empty() && log.include.iter().all(|name| is_below(name, ACCESS))
}

/// Whether the logger `name` is `above` or one of those below it in the dotted hierarchy.
fn is_below(name: &str, above: &str) -> bool {
    name.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn level(level: LogLevel) -> Option<Level> {
    match level {
        LogLevel::Debug => Some(Level::DEBUG),
        LogLevel::Info => Some(Level::INFO),
        LogLevel::Warn => Some(Level::WARN),
        LogLevel::Error => Some(Level::ERROR),
        _ => None,
    }
}

/// The form without what changes the fields of requests, which lines of the process do not have.
fn plain_form(encoder: &LogEncoder) -> Option<&LogEncoder> {
    match encoder {
        LogEncoder::Append(AppendEncoder { wrap, .. }) | LogEncoder::Filter(FilterEncoder { wrap, .. }) => {
            wrap.as_deref().and_then(plain_form)
        }
        _ => Some(encoder),
    }
}

#[cfg(test)]
mod tests;
