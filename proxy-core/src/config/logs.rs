//! Access logs: opened once each, then chosen by host.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal as _;
use std::sync::Arc;

use caddy_config as model;

use super::error::BuildError;
use crate::forward::access_log::{AccessLogs, Sink};
use crate::forward::log_writer::{Destination, LogWriter};

/// The logs that requests can go to, by the name that servers use.
#[derive(Debug, Default)]
pub(super) struct Opened {
    sinks: BTreeMap<String, Arc<Sink>>,
}

// === impl Opened ===

impl Opened {
    /// Opens every log of the configuration; those with one destination share a writer.
    pub(super) fn new(logging: Option<&model::Logging>, errors: &mut Vec<BuildError>) -> Self {
        let mut writers: HashMap<Destination, Arc<LogWriter>> = HashMap::new();
        let mut sinks = BTreeMap::new();
        let none = BTreeMap::new();
        let logs = logging.map_or(&none, |logging| &logging.logs);
        for (name, log) in logs {
            errors.extend(unsupported(log).map(|what| BuildError::Unsupported {
                server: format!("log {name}"),
                what: what.to_owned(),
                way_out: "remove it",
            }));
            let destination = destination(log.writer.as_ref());
            let writer = match writers.get(&destination) {
                Some(writer) => Arc::clone(writer),
                None => match LogWriter::open(&destination) {
                    Ok(writer) => {
                        let writer = Arc::new(writer);
                        writers.insert(destination, Arc::clone(&writer));
                        writer
                    }
                    Err(source) => {
                        let destination = format!("{destination:?}");
                        errors.push(BuildError::Log {
                            name: name.clone(),
                            destination,
                            source,
                        });
                        continue;
                    }
                },
            };
            sinks.insert(access_name(name, log), Arc::new(sink(name, log, writer)));
        }
        if !sinks.contains_key("")
            && let Ok(writer) = LogWriter::open(&Destination::Stderr)
        {
            sinks.insert(
                String::new(),
                Arc::new(sink("", &model::Log::default(), Arc::new(writer))),
            );
        }
        Self { sinks }
    }

    /// Which log the requests of a server go to.
    pub(super) fn for_server(&self, logs: &model::ServerLogs) -> AccessLogs {
        let find = |name: &String| self.sinks.get(name).cloned();
        let fallback = if logs.skip_unmapped_hosts {
            None
        } else {
            find(&logs.default_logger_name.clone().unwrap_or_default())
        };
        AccessLogs {
            by_host: logs
                .logger_names
                .iter()
                .map(|(host, names)| (host.to_ascii_lowercase(), names.iter().filter_map(find).collect()))
                .collect(),
            default: fallback,
            skip_hosts: logs
                .skip_hosts
                .iter()
                .map(|host| host.to_ascii_lowercase())
                .collect(),
        }
    }
}

/// What the model can say and logs do not do yet, and what would be wrong to pass over.
fn unsupported(log: &model::Log) -> Option<&'static str> {
    match &log.encoder {
        Some(model::LogEncoder::Filter(_)) => Some("the format `filter`"),
        Some(model::LogEncoder::Append(_)) => Some("the format `append`"),
        _ if log.sampling.is_some() => Some("`sampling`"),
        _ => None,
    }
}

/// A log that includes `http.log.access.NAME` is what servers call NAME; the default log is "".
fn access_name(name: &str, log: &model::Log) -> String {
    let included = log
        .include
        .iter()
        .find_map(|logger| logger.strip_prefix("http.log.access."));
    match included {
        Some(included) => included.to_owned(),
        None if name == "default" => String::new(),
        None => name.to_owned(),
    }
}

fn destination(writer: Option<&model::LogWriter>) -> Destination {
    match writer {
        Some(model::LogWriter::Stdout {}) => Destination::Stdout,
        Some(model::LogWriter::Discard {}) => Destination::Discard,
        Some(model::LogWriter::File(file)) => Destination::File(file.filename.clone()),
        _ => Destination::Stderr,
    }
}

fn sink(name: &str, log: &model::Log, writer: Arc<LogWriter>) -> Sink {
    Sink {
        name: if name == "default" {
            String::new()
        } else {
            name.to_owned()
        },
        json: is_json(log),
        only_errors: log
            .level
            .as_ref()
            .is_some_and(|level| level.level() >= model::LogLevel::Warn),
        writer,
    }
}

/// As Caddy: readable on a terminal, else JSON, unless the configuration says otherwise.
fn is_json(log: &model::Log) -> bool {
    match (&log.encoder, &log.writer) {
        (Some(model::LogEncoder::Console(_)), _) => false,
        (None, None | Some(model::LogWriter::Stderr {})) => !std::io::stderr().is_terminal(),
        (None, Some(model::LogWriter::Stdout {})) => !std::io::stdout().is_terminal(),
        _ => true,
    }
}
