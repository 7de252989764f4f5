//! Routes and hosts that a filter leaves alone, as its settings say.

use std::sync::atomic::{AtomicBool, Ordering};

use eskip::filters::{FilterContext, RouteSettings};
use eskip::routing::ArgsError;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

/// Regular expressions that take more memory than this are refused.
const MOST_REGEXP: usize = 1 << 20;

/// What a filter leaves alone.
#[derive(Debug)]
pub(super) struct OptOut {
    /// Names of annotations of the route.
    annotations: Vec<String>,
    /// What hosts look like.
    hosts: Vec<Regex>,
    /// Whether the route has such an annotation; said once when it is made.
    is_route: AtomicBool,
}

// === impl OptOut ===

impl OptOut {
    /// Takes `optOutAnnotations` and `optOutHosts` out of the settings.
    pub(super) fn take(settings: &mut Map<String, Value>) -> Result<Self, ArgsError> {
        let hosts = texts(settings, "optOutHosts")?;
        let hosts: Result<_, _> = hosts
            .iter()
            .map(|text| RegexBuilder::new(text).size_limit(MOST_REGEXP).build())
            .collect();
        Ok(Self {
            annotations: texts(settings, "optOutAnnotations")?,
            hosts: hosts
                .map_err(|error| ArgsError(format!("optOutHosts: no regular expression: {error}")))?,
            is_route: AtomicBool::new(false),
        })
    }

    /// Takes in what the filters before have said of the route.
    pub(super) fn settle(&self, route: &RouteSettings) {
        let is_out = |(name, _): &(String, String)| self.annotations.contains(name);
        self.is_route
            .store(route.annotations.iter().any(is_out), Ordering::Relaxed);
    }

    /// Whether the request is left alone.
    pub(super) fn is_out(&self, cx: &FilterContext<'_>) -> bool {
        self.is_route.load(Ordering::Relaxed) || {
            let host = cx.exchange.host.as_str();
            let name = match host.rsplit_once(':') {
                Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
                _ => host,
            };
            self.hosts.iter().any(|pattern| pattern.is_match(name))
        }
    }
}

/// Takes a list of texts out of settings; an empty one if it is not there.
pub(super) fn texts(settings: &mut Map<String, Value>, name: &str) -> Result<Vec<String>, ArgsError> {
    let Some(value) = settings.remove(name) else {
        return Ok(Vec::new());
    };
    serde_json::from_value(value).map_err(|_| ArgsError(format!("{name}: expected a list of texts")))
}

/// Nothing else may be said.
pub(super) fn end(settings: &Map<String, Value>) -> Result<(), ArgsError> {
    match settings.keys().next() {
        Some(name) => Err(ArgsError(format!("unknown setting {name:?}"))),
        None => Ok(()),
    }
}
