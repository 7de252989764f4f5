//! Logs: opened once each, then chosen by the names of loggers.

mod format;
mod output;

use std::sync::Arc;
use std::time::Duration;

use caddy_config as model;

use super::compile::Compiler;
use super::error::BuildError;
use crate::forward::access_log::{AccessLogs, Logger, Sink};
use crate::log::{Destination, FileSettings, Format, Level, LogFiles, LogWriter, Sampler};

/// The logger that takes everything that no other excludes. There always is one.
const DEFAULT: &str = "default";

/// The logs that requests can go to.
#[derive(Debug, Default)]
pub(super) struct Opened {
    sinks: Arc<[Arc<Sink>]>,
    /// Files that are to go on with these settings once the configuration runs.
    pub(super) files: Vec<(Arc<LogWriter>, FileSettings)>,
}

/// Opens logs one by one.
struct Opener<'c, 'm> {
    compiler: &'c mut Compiler<'m>,
    files: LogFiles,
    streams: Vec<(Destination, Arc<LogWriter>)>,
    settle: Vec<(Arc<LogWriter>, FileSettings)>,
}

// === impl Opened ===

impl Opened {
    /// Opens every log of the configuration; those with one destination share a writer.
    pub(super) fn new(compiler: &mut Compiler<'_>, logging: Option<&model::Logging>) -> Self {
        let mut logs: Vec<(&str, model::Log)> = logging
            .into_iter()
            .flat_map(|logging| &logging.logs)
            .map(|(name, log)| (name.as_str(), log.clone()))
            .collect();
        if !logs.iter().any(|(name, _)| *name == DEFAULT) {
            logs.push((DEFAULT, model::Log::default()));
        }
        let mut opener = Opener {
            files: compiler.surroundings.log_files.clone(),
            compiler,
            streams: Vec::new(),
            settle: Vec::new(),
        };
        let sinks = logs.iter().filter_map(|(name, log)| opener.sink(name, log));
        let sinks = sinks.map(Arc::new).collect();
        Self {
            sinks,
            files: opener.settle,
        }
    }

    /// Which loggers the requests of a server have.
    pub(super) fn for_server(&self, logs: &model::ServerLogs) -> AccessLogs {
        let logger = |name: &String| Logger::new(name, &self.sinks);
        let default = logs.default_logger_name.clone().unwrap_or_default();
        // As Caddy names a site with another port than its scheme's, though it never has one to compare with.
        let skipped = logs.skip_hosts.iter().map(|host| without_port(host));
        AccessLogs::new(
            logs.logger_names
                .iter()
                .map(|(host, names)| (host.to_ascii_lowercase(), names.iter().map(logger).collect()))
                .collect(),
            (!logs.skip_unmapped_hosts).then(|| Arc::from([logger(&default)])),
            skipped.map(str::to_ascii_lowercase).collect(),
            logs.should_log_credentials,
            Arc::clone(&self.sinks),
        )
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some((name, _)) if name.ends_with(']') => name.trim_start_matches('[').trim_end_matches(']'),
        _ => host,
    }
}

// === impl Opener ===

impl Opener<'_, '_> {
    fn sink(&mut self, name: &str, log: &model::Log) -> Option<Sink> {
        let destination = Destination::from(log.writer.as_ref());
        let format = self.format(name, log);
        let writer = match self.open(name, &destination) {
            Ok(writer) => writer,
            Err(source) => {
                self.compiler.errors.push(BuildError::Log {
                    name: name.to_owned(),
                    destination: destination.to_string(),
                    source,
                });
                return None;
            }
        };
        Some(Sink {
            format: format?,
            level: level(log)?,
            sampler: log.sampling.as_ref().map(sampler),
            include: log.include.clone(),
            exclude: log.exclude.clone(),
            writer,
        })
    }

    fn format(&mut self, name: &str, log: &model::Log) -> Option<Format> {
        let is_terminal = output::is_terminal(log.writer.as_ref());
        match format::compile(self.compiler, log.encoder.as_ref(), is_terminal) {
            Ok(format) => Some(format),
            Err(wrong) => {
                self.compiler
                    .errors
                    .extend(wrong.into_iter().map(|wrong| BuildError::LogFormat {
                        name: name.to_owned(),
                        what: wrong.what,
                        value: wrong.value,
                    }));
                None
            }
        }
    }

    fn open(&mut self, name: &str, destination: &Destination) -> std::io::Result<Arc<LogWriter>> {
        let known = self.streams.iter().find(|(known, _)| known == destination);
        if let Some((_, writer)) = known {
            return Ok(Arc::clone(writer));
        }
        let writer = self.files.open(destination)?;
        match destination {
            Destination::File(settings) => {
                let known = self.settle.iter().find(|(known, _)| Arc::ptr_eq(known, &writer));
                if known.is_some_and(|(_, known)| known != settings) {
                    self.compiler.warnings.push(format!(
                        "log {name}: another log rolls {destination} in another way; that one's settings hold"
                    ));
                } else if known.is_none() {
                    self.settle.push((Arc::clone(&writer), settings.clone()));
                }
            }
            _ => self.streams.push((destination.clone(), Arc::clone(&writer))),
        }
        Ok(writer)
    }
}

/// `None`: access logs have no line that is as serious.
fn level(log: &model::Log) -> Option<Level> {
    match log.level.as_ref().map(model::LogLevelName::level) {
        Some(model::LogLevel::Debug) => Some(Level::Debug),
        None | Some(model::LogLevel::Info) => Some(Level::Info),
        Some(model::LogLevel::Warn) => Some(Level::Warn),
        Some(model::LogLevel::Error) => Some(Level::Error),
        Some(_) => None,
    }
}

fn sampler(sampling: &model::LogSampling) -> Sampler {
    Sampler::new(
        sampling
            .interval
            .filter(|interval| !interval.is_zero())
            .unwrap_or(Duration::from_secs(1)),
        sampling.first.filter(|first| *first > 0).unwrap_or(100),
        sampling
            .thereafter
            .filter(|thereafter| *thereafter > 0)
            .unwrap_or(100),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_without_their_port() {
        for (host, expected) in [
            ("a.test:8080", "a.test"),
            ("a.test", "a.test"),
            ("*.a.test:1", "*.a.test"),
            ("[::1]:80", "::1"),
            ("::1", "::1"),
        ] {
            assert_eq!(without_port(host), expected);
        }
    }
}
