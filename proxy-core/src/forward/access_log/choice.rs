//! Which logs the line of a request goes to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use crate::log::{Format, Level, LogWriter, Sampler};

/// The logger of all access logs; those with a name are below it.
const ACCESS: &str = "http.log.access";

/// Which loggers the requests of a server have.
#[derive(Debug)]
pub(crate) struct AccessLogs {
    /// By host, in lower case and without port; `*` stands for a label.
    by_host: ByHost,
    /// For every other host. `None`: their requests are not logged.
    default: Option<Arc<[Logger]>>,
    /// Hosts whose requests are not logged, in the same form.
    skip_hosts: HashSet<String>,
    /// Whether there is a `*` in any of them.
    has_patterns: bool,
    /// Whether credentials are written as they are.
    pub(super) credentials: bool,
    /// Every log of the configuration.
    pub(super) sinks: Arc<[Arc<Sink>]>,
}

/// The configuration names these hosts: nobody chooses them so that they collide.
type ByHost = HashMap<String, Arc<[Logger]>, foldhash::fast::RandomState>;

/// A name, and the logs that take what it says.
#[derive(Clone, Debug)]
pub(crate) struct Logger {
    pub(crate) name: String,
    pub(crate) sinks: Vec<Arc<Sink>>,
}

/// One log.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) format: Format,
    /// The least level that is kept.
    pub(crate) level: Level,
    pub(crate) sampler: Option<Sampler>,
    /// Names of loggers that are taken, with all below them; empty is all.
    pub(crate) include: Vec<String>,
    /// Names of loggers that are not, unless a longer one is included.
    pub(crate) exclude: Vec<String>,
    pub(crate) writer: Arc<LogWriter>,
}

// === impl AccessLogs ===

impl AccessLogs {
    /// Loggers by host, in lower case and without port, where `*` stands for a label; those of every other host, if
    /// their requests are logged; hosts whose requests are not, in the same form; whether credentials are written
    /// as they are; and every log of the configuration.
    pub(crate) fn new(
        by_host: ByHost,
        default: Option<Arc<[Logger]>>,
        skip_hosts: HashSet<String>,
        credentials: bool,
        sinks: Arc<[Arc<Sink>]>,
    ) -> Self {
        let has_patterns = by_host.keys().chain(&skip_hosts).any(|host| host.contains('*'));
        Self {
            by_host,
            default,
            skip_hosts,
            has_patterns,
            credentials,
            sinks,
        }
    }

    /// The loggers of a host, which is in lower case. `None`: its requests are not logged.
    pub(super) fn choose(&self, host: &str) -> Option<Arc<[Logger]>> {
        if let Some(loggers) = self.by_host.get(host) {
            return Some(Arc::clone(loggers));
        }
        let patterns = if self.has_patterns {
            patterns(host)
        } else {
            Vec::new()
        };
        let is_skipped = |host: &str| self.skip_hosts.contains(host);
        if is_skipped(host) || patterns.iter().any(|pattern| is_skipped(pattern)) {
            return None;
        }
        patterns
            .iter()
            .find_map(|pattern| self.by_host.get(pattern))
            .or(self.default.as_ref())
            .map(Arc::clone)
    }
}

/// The patterns that a host matches, the closest first: `*.b.c`, `*.*.c`, `*.*.*`.
fn patterns(host: &str) -> Vec<String> {
    let labels: Vec<&str> = host.split('.').collect();
    let with_stars = |count: usize| {
        let stars = std::iter::repeat_n("*", count);
        let kept = labels.iter().skip(count).copied();
        stars.chain(kept).collect::<Vec<_>>().join(".")
    };
    (1..=labels.len()).map(with_stars).collect()
}

/// The loggers with these names below [`ACCESS`].
pub(super) fn named(names: &[String], sinks: &[Arc<Sink>]) -> Arc<[Logger]> {
    names.iter().map(|name| Logger::new(name, sinks)).collect()
}

// === impl Logger ===

impl Logger {
    /// The logger `name` below [`ACCESS`], or that itself if the name is empty.
    pub(crate) fn new(name: &str, sinks: &[Arc<Sink>]) -> Self {
        let name = if name.is_empty() {
            ACCESS.to_owned()
        } else {
            format!("{ACCESS}.{name}")
        };
        let sinks = sinks.iter().filter(|sink| sink.takes(&name));
        Self {
            sinks: sinks.cloned().collect(),
            name,
        }
    }
}

// === impl Sink ===

impl Sink {
    /// Whether the log takes what the logger says. Of two names that both apply the longer one decides.
    fn takes(&self, logger: &str) -> bool {
        let longest = |names: &[String]| {
            let above = names.iter().filter(|name| is_below(logger, name));
            above.map(String::len).max()
        };
        let (accepted, rejected) = (longest(&self.include), longest(&self.exclude));
        if self.exclude.iter().any(|name| name == "*") {
            return false;
        }
        match (accepted, rejected) {
            (None, _) if !self.include.is_empty() => false,
            (_, None) => true,
            (accepted, rejected) => accepted > rejected,
        }
    }

    pub(super) fn keeps(&self, level: Level, at: SystemTime) -> bool {
        level >= self.level
            && self
                .sampler
                .as_ref()
                .is_none_or(|sampler| sampler.keeps(level, at))
    }
}

/// Whether the logger `name` is `above` or one of those below it.
fn is_below(name: &str, above: &str) -> bool {
    name.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Destination, LogFiles};

    fn sink(include: &[&str], exclude: &[&str]) -> Arc<Sink> {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Arc::new(Sink {
            format: Format::json(),
            level: Level::Info,
            sampler: None,
            include: names(include),
            exclude: names(exclude),
            writer: LogFiles::default().open(&Destination::Discard).unwrap(),
        })
    }

    #[test]
    fn a_log_takes_what_it_includes_and_does_not_exclude() {
        for (include, exclude, taken) in [
            (&[][..], &[][..], true),
            (&["http.log.access.log0"], &[], true),
            (&["http.log.access"], &[], true),
            (&["http.log.access.log"], &[], false),
            (&["http.log.access.log1"], &[], false),
            (&[], &["http.log.access.log0"], false),
            (&[], &["http.log.access.log1"], true),
            (&[], &["*"], false),
            (&["http.log.access.log0"], &["http.log"], true),
            (&["http.log"], &["http.log.access"], false),
            (&["http"], &["http"], false),
        ] {
            let sinks = [sink(include, exclude)];
            let logger = Logger::new("log0", &sinks);
            assert_eq!(logger.sinks.len(), usize::from(taken), "{include:?} {exclude:?}");
        }
    }

    fn logs(hosts: &[&str], default: bool, skip: &[&str]) -> AccessLogs {
        let logger = |name: &str| Arc::from([Logger::new(name, &[])]);
        AccessLogs::new(
            hosts
                .iter()
                .map(|host| ((*host).to_owned(), logger(host)))
                .collect(),
            default.then(|| logger("")),
            skip.iter().map(ToString::to_string).collect(),
            false,
            Arc::default(),
        )
    }

    fn chosen(logs: &AccessLogs, host: &str) -> Option<String> {
        Some(logs.choose(host)?[0].name.clone())
    }

    #[test]
    fn the_closest_pattern_of_a_host_is_chosen() {
        let logs = logs(&["a.test", "*.test", "*.*.test"], true, &["*.skip", "x.b.test"]);
        for (host, expected) in [
            ("a.test", Some("http.log.access.a.test")),
            ("b.test", Some("http.log.access.*.test")),
            ("a.b.test", Some("http.log.access.*.*.test")),
            ("other", Some("http.log.access")),
            ("a.skip", None),
            ("a.b.skip", Some("http.log.access")),
            ("x.b.test", None),
            ("", Some("http.log.access")),
        ] {
            assert_eq!(chosen(&logs, host).as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn hosts_without_a_logger_may_be_left_out() {
        let logs = logs(&["*.test"], false, &[]);
        assert_eq!(chosen(&logs, "a.test").as_deref(), Some("http.log.access.*.test"));
        assert_eq!(chosen(&logs, "other"), None);
    }
}
