//! Connection policies that go together.

use std::collections::HashMap;

use super::super::cx::Cx;
use crate::{
    model::{TlsConnectionPolicy, TlsMatcher},
    source::Span,
};

/// A policy, and where it is written.
type Placed = (TlsConnectionPolicy, Span);

/// Equal policies become one; neighbours that differ only in their names, and those with equal names, are joined.
/// The steps are Caddy's, since the outcome depends on them.
pub(super) fn merged(mut policies: Vec<Placed>, cx: &mut Cx<'_>) -> Vec<TlsConnectionPolicy> {
    let mut counts: HashMap<Option<TlsMatcher>, usize> = HashMap::new();
    for (policy, _) in &policies {
        let count = counts.entry(policy.matcher.clone()).or_default();
        *count = count.saturating_add(1);
    }
    let mut at = 0;
    while let Some((policy, _)) = policies.get(at) {
        let has_double = counts.get(&policy.matcher).is_some_and(|count| *count > 1);
        match partner(&policies, at, has_double) {
            Some((with, joins)) => {
                let other = policies.remove(with);
                if let Some(count) = counts.get_mut(&other.0.matcher) {
                    *count = count.saturating_sub(1);
                }
                let kept = if with < at { at.saturating_sub(1) } else { at };
                if let Some((policy, _)) = policies.get_mut(kept) {
                    join(policy, other, joins, &mut counts, cx);
                }
            }
            None => at = at.saturating_add(1),
        }
    }
    policies.into_iter().map(|(policy, _)| policy).collect()
}

/// In what two policies are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joins {
    Names,
    Settings,
}

/// The first policy that the one at `at` can be joined with. Without a double of its names, that is its neighbour.
fn partner(policies: &[Placed], at: usize, has_double: bool) -> Option<(usize, Joins)> {
    let (policy, _) = policies.get(at)?;
    let next = at.saturating_add(1);
    let joins = |index: usize, other: &TlsConnectionPolicy| {
        let neighbours = index == next && other.matcher.is_some() && policy.matcher.is_some();
        if other == policy {
            Some(Joins::Settings)
        } else if neighbours && other.has_settings_of(policy) {
            Some(Joins::Names)
        } else {
            (other.matcher == policy.matcher).then_some(Joins::Settings)
        }
    };
    if !has_double {
        let (other, _) = policies.get(next)?;
        return joins(next, other).map(|joins| (next, joins));
    }
    let others = policies.iter().enumerate().filter(|(index, _)| *index != at);
    others
        .filter_map(|(index, (other, _))| Some((index, joins(index, other)?)))
        .next()
}

fn join(
    policy: &mut TlsConnectionPolicy,
    (other, span): Placed,
    joins: Joins,
    counts: &mut HashMap<Option<TlsMatcher>, usize>,
    cx: &mut Cx<'_>,
) {
    match (joins, &mut policy.matcher, other.matcher.clone()) {
        (Joins::Names, Some(names), Some(more)) => {
            if let Some(count) = counts.get_mut(&Some(names.clone())) {
                *count = count.saturating_sub(1);
            }
            names.sni.extend(more.sni);
            let count = counts.entry(policy.matcher.clone()).or_default();
            *count = count.saturating_add(1);
        }
        _ => {
            for name in join_settings(policy, other) {
                let message = format!("another `tls` for the same names has another `{name}`");
                let help = "say it once for all sites with these names".to_owned();
                cx.error(span, message, help);
            }
        }
    }
}

/// Takes from `other` what `policy` does not say; the names of what both say, but not alike.
fn join_settings(policy: &mut TlsConnectionPolicy, other: TlsConnectionPolicy) -> Vec<&'static str> {
    let mut differ = Vec::new();
    let mut list = |name, said: &mut Vec<String>, other: Vec<String>| {
        if said.is_empty() {
            *said = other;
        } else if !other.is_empty() && *said != other {
            differ.push(name);
        }
    };
    list("alpn", &mut policy.alpn, other.alpn);
    list("ciphers", &mut policy.cipher_suites, other.cipher_suites);
    list("curves", &mut policy.curves, other.curves);
    let mut one = |name, differs: bool| {
        if differs {
            differ.push(name);
        }
    };
    one("protocols", fill(&mut policy.protocol_min, other.protocol_min));
    one("protocols", fill(&mut policy.protocol_max, other.protocol_max));
    one("default_sni", fill(&mut policy.default_sni, other.default_sni));
    one("fallback_sni", fill(&mut policy.fallback_sni, other.fallback_sni));
    // Caddy keeps the first of two. What clients must show is too much to be guessed.
    one(
        "client_auth",
        fill(&mut policy.client_authentication, other.client_authentication),
    );
    match (&mut policy.certificate_selection, other.certificate_selection) {
        (Some(selection), Some(more)) => {
            let new = more
                .any_tag
                .into_iter()
                .filter(|tag| !selection.any_tag.contains(tag))
                .collect::<Vec<_>>();
            selection.any_tag.extend(new);
        }
        (selection @ None, more) => *selection = more,
        (Some(_), None) => {}
    }
    differ.dedup();
    differ
}

/// Sets what is not said; whether both say it, but not alike.
fn fill<T: PartialEq>(said: &mut Option<T>, other: Option<T>) -> bool {
    match (&*said, other) {
        (None, other) => {
            *said = other;
            false
        }
        (Some(said), Some(other)) => *said != other,
        (Some(_), None) => false,
    }
}
