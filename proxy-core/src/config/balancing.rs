//! `lb_...`: which upstream is taken, and how often another one is tried.

use std::sync::Arc;
use std::time::Duration;

use caddy_config as model;
use http::header::{self, HeaderName};
use model::SelectionPolicy as Policy;

use super::compile::Compiler;
use super::matchers;
use crate::forward::before::Resend;
use crate::forward::selection::{Key, Seal, Selection, Sticky, Tag};
use crate::routing::matcher::{Matcher, MatcherSet};
use crate::routing::template::Unknown;
use crate::upstream::balance::{Bound, Rule, Schedule, Turn};
use crate::upstream::budget::{Budget, BudgetLimits};
use crate::upstream::cluster::Source;
use crate::upstream::retry::Retry;

/// As Caddy: of two.
const CHOOSE: u32 = 2;

/// As Caddy: the cookie `lb`.
const COOKIE: &str = "lb";

/// The rule of `policy` for the upstreams of `source`.
pub(super) fn selection(compiler: &mut Compiler<'_>, policy: Option<&Policy>, source: &Source) -> Selection {
    let Some(policy) = policy else {
        return Selection::RANDOM;
    };
    let keyed = |compiler: &mut Compiler<'_>, key: Key, fallback: Option<&Policy>, bound: Option<Bound>| {
        Selection::Keyed {
            key,
            rule: Rule::Hash(bound),
            fallback: Box::new(selection(compiler, fallback, source)),
        }
    };
    match policy {
        Policy::ClientIpHash {} => keyed(compiler, Key::ClientIp, None, None),
        Policy::ConsistentHash(by) => {
            let key = Key::Text(compiler.parse(&by.key, Unknown::Empty));
            let bound = by
                .bound
                .and_then(|percent| Bound::new(f64::from(percent) / 100.0));
            keyed(compiler, key, by.fallback.as_deref(), bound)
        }
        Policy::Cookie(cookie) => sticky(compiler, cookie, source),
        Policy::First {} => Selection::Rule(Rule::First),
        Policy::Header(by) => {
            let Some(name) = compiler.field_name(&by.field) else {
                return Selection::RANDOM;
            };
            keyed(compiler, field(name), by.fallback.as_deref(), None)
        }
        Policy::IpHash {} => keyed(compiler, Key::PeerIp, None, None),
        Policy::LeastConn {} => Selection::Rule(Rule::LeastConn),
        Policy::PeakEwma {} => Selection::Rule(Rule::PeakEwma),
        Policy::Query(by) => keyed(compiler, Key::Query(by.key.clone()), by.fallback.as_deref(), None),
        Policy::RandomChoose { choose } => {
            let choose = usize::try_from(choose.unwrap_or(CHOOSE)).unwrap_or(usize::MAX);
            Selection::Rule(Rule::RandomChoose(choose))
        }
        Policy::RoundRobin {} => Selection::Rule(Rule::RoundRobin(Turn::default())),
        Policy::UriHash {} => keyed(compiler, Key::Target, None, None),
        Policy::WeightedRoundRobin { weights } => {
            Selection::Rule(Rule::Weighted(Schedule::new(weights), Turn::default()))
        }
        Policy::Random {} => Selection::RANDOM,
        _ => compiler.unsupported("this policy", "use one of those that the manual lists"),
    }
}

fn field(name: HeaderName) -> Key {
    if name == header::HOST {
        Key::Host
    } else {
        Key::Field(name)
    }
}

fn sticky(compiler: &mut Compiler<'_>, cookie: &model::CookiePolicy, source: &Source) -> Selection {
    let seal = Seal::new(cookie.secret.as_ref().map_or("", |secret| secret.expose()));
    let tagged = |label: &Arc<str>| -> (Arc<str>, Tag) { (Arc::clone(label), seal.tag(label)) };
    Selection::Sticky(Box::new(Sticky {
        name: cookie.name.clone().unwrap_or_else(|| COOKIE.to_owned()),
        known: source
            .upstreams()
            .map(|upstream| tagged(upstream.slot().label()))
            .collect(),
        seal,
        max_age: cookie.max_age,
        fallback: selection(compiler, cookie.fallback.as_deref(), source),
    }))
}

/// Whether `policy` goes by the latency of answers.
pub(super) fn measures(policy: Option<&Policy>) -> bool {
    match policy {
        Some(Policy::PeakEwma {}) => true,
        Some(Policy::Cookie(by)) => measures(by.fallback.as_deref()),
        Some(Policy::ConsistentHash(by)) => measures(by.fallback.as_deref()),
        Some(Policy::Header(by)) => measures(by.fallback.as_deref()),
        Some(Policy::Query(by)) => measures(by.fallback.as_deref()),
        _ => false,
    }
}

/// How often and how long further attempts are made.
pub(super) fn retry(balancing: &model::LoadBalancing) -> Retry {
    let duration = balancing.try_duration.filter(|duration| !duration.is_zero());
    let default = if duration.is_some() {
        Retry::INTERVAL
    } else {
        Duration::ZERO
    };
    let interval = balancing.try_interval.filter(|interval| !interval.is_zero());
    Retry {
        retries: balancing.retries,
        duration,
        interval: interval.unwrap_or(default),
    }
}

/// What attempts at failing upstreams may cost.
pub(super) fn budget(balancing: &model::LoadBalancing) -> Budget {
    let defaults = BudgetLimits::default();
    Budget::new(balancing.retry_budget.map_or(defaults, |budget| BudgetLimits {
        percent: budget.percent.unwrap_or(defaults.percent),
        per_second: budget.min_per_second.unwrap_or(defaults.per_second),
    }))
}

/// `lb_retry_match`; `None` if nothing is ever sent again.
pub(super) fn resend(compiler: &mut Compiler<'_>, sets: &[model::MatcherSet]) -> Option<Resend> {
    let compiled = sets.iter().map(|set| matchers::set(compiler, set));
    let requests: Vec<MatcherSet> = compiled.filter(|set| !set.is_never()).collect();
    let asks = |set: &&MatcherSet| set.others.iter().any(|one| matches!(one, Matcher::Expression(_)));
    let answers = requests.iter().filter(asks).cloned().collect();
    (!requests.is_empty()).then_some(Resend { requests, answers })
}
