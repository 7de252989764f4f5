//! Which policies are left: sorted, without those that say nothing, and joined where they say the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    super::{address, stable_sort::stable_sort},
    Draft, IssuerSource,
};

/// Sorts policies, the more specific first; leaves out those that say nothing, and joins those that say the same.
pub(super) fn consolidate(mut policies: Vec<Draft>) -> Vec<Draft> {
    if policies
        .iter()
        .all(|policy| policy.issuer == IssuerSource::Unsaid)
    {
        return Vec::new();
    }
    stable_sort(&mut policies, &|a, b| {
        is_subset(a, b) || (!is_subset(b, a) && a.subjects.len() > b.subjects.len())
    });
    join_alike(without_empty(policies))
}

/// A policy that says nothing is only needed to keep names from one behind it that says something.
fn without_empty(policies: Vec<Draft>) -> Vec<Draft> {
    let index = SubjectIndex::new(&policies);
    let needed = |at: usize, policy: &Draft| {
        let is_last = at.saturating_add(1) == policies.len();
        let superset = index
            .first_superset_behind(at, &policies)
            .and_then(|at| policies.get(at));
        let speaks_behind = superset.is_none_or(|later| later.issuer != IssuerSource::Unsaid);
        policy.issuer != IssuerSource::Unsaid || (!is_last && speaks_behind)
    };
    let needed: Vec<bool> = policies
        .iter()
        .enumerate()
        .map(|(at, policy)| needed(at, policy))
        .collect();
    policies
        .into_iter()
        .zip(needed)
        .filter(|(_, needed)| *needed)
        .map(|(policy, _)| policy)
        .collect()
}

/// Policies for which the same authority issues become one, in the place of the first. One for every name takes
/// them in too, unless a policy between them has their names.
fn join_alike(policies: Vec<Draft>) -> Vec<Draft> {
    let mut joined: Vec<(Issuance, Draft)> = Vec::new();
    for policy in policies {
        let issuance = issuance(&policy);
        let alike =
            |(other, draft): &&mut (Issuance, Draft)| !draft.subjects.is_empty() && other.is_like(issuance);
        match joined.iter_mut().find(alike) {
            Some((_, first)) if !policy.subjects.is_empty() => first.subjects.extend(policy.subjects),
            _ => joined.push((issuance, policy)),
        }
    }
    for (_, policy) in &mut joined {
        let mut seen = HashSet::new();
        policy.subjects.retain(|subject| seen.insert(subject.clone()));
    }
    if let Some(((every_name, last), others)) = joined.split_last()
        && last.subjects.is_empty()
        && let Some(at) = others
            .iter()
            .position(|(issuance, _)| issuance.is_like(*every_name))
        && let Some(((_, policy), between)) = others.get(at..).and_then(<[_]>::split_first)
        && !between.iter().any(|(_, other)| is_subset(policy, other))
    {
        joined.remove(at);
    }
    joined.into_iter().map(|(_, policy)| policy).collect()
}

/// Who issues for a policy, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issuance {
    /// The proxy's own authority: a directive says so.
    Directive,
    /// Nothing is said, for any name.
    EveryName,
    /// The proxy's own authority: nothing is said, but no name is public.
    Internal,
    /// Nothing is said, and only some names are public.
    Mixed,
    /// The proxy's own authority: the adapter says so because of the names.
    Names,
    /// Nothing is said, and all names are public.
    Public,
}

fn issuance(policy: &Draft) -> Issuance {
    let is_public = |subject: &String| address::is_public(subject);
    match policy.issuer {
        IssuerSource::Directive => Issuance::Directive,
        IssuerSource::Names => Issuance::Names,
        IssuerSource::Unsaid if policy.subjects.is_empty() => Issuance::EveryName,
        IssuerSource::Unsaid if policy.subjects.iter().all(is_public) => Issuance::Public,
        IssuerSource::Unsaid if policy.subjects.iter().any(is_public) => Issuance::Mixed,
        IssuerSource::Unsaid => Issuance::Internal,
    }
}

// === impl Issuance ===

impl Issuance {
    /// Whether certificates come from the same authority. No equivalence: what names alone decide is like what the
    /// adapter says because of names, and that is like what a directive says.
    fn is_like(self, other: Self) -> bool {
        use Issuance::{Directive, EveryName, Internal, Mixed, Names, Public};
        self == other
            || matches!(
                (self, other),
                (Names, Internal | Directive)
                    | (Internal | Directive, Names)
                    | (EveryName, Internal | Mixed | Public)
                    | (Internal | Mixed | Public, EveryName)
            )
    }
}

/// Whether every name of `a` is one of `b`'s.
fn is_subset(a: &Draft, b: &Draft) -> bool {
    if a.subjects.is_empty() || b.subjects.is_empty() {
        return b.subjects.is_empty();
    }
    // Nearly every policy is for one name: no set is built for those.
    let set: Option<HashSet<&str>> =
        (b.subjects.len() > 8).then(|| b.subjects.iter().map(String::as_str).collect());
    let has = |name: &str| match &set {
        Some(set) => set.contains(name),
        None => b.subjects.iter().any(|subject| subject == name),
    };
    let wide = b.subjects.iter().any(|name| name.contains('*'));
    let covered =
        |name: &String| has(name) || wide && address::wildcards(name).any(|wildcard| has(&wildcard));
    a.subjects.iter().all(covered)
}

/// Finds the policies that have a name, without looking at all of them for each.
#[derive(Debug)]
struct SubjectIndex {
    by_subject: HashMap<String, Vec<usize>>,
    catch_alls: Vec<usize>,
}

// === impl SubjectIndex ===

impl SubjectIndex {
    fn new(policies: &[Draft]) -> Self {
        let mut index = Self {
            by_subject: HashMap::new(),
            catch_alls: Vec::new(),
        };
        for (at, policy) in policies.iter().enumerate() {
            for subject in &policy.subjects {
                index.by_subject.entry(subject.clone()).or_default().push(at);
            }
            if policy.subjects.is_empty() {
                index.catch_alls.push(at);
            }
        }
        index
    }

    /// The first policy behind the one at `at` that has all of its names.
    fn first_superset_behind(&self, at: usize, policies: &[Draft]) -> Option<usize> {
        let policy = policies.get(at)?;
        let mut candidates: BTreeSet<usize> = self.catch_alls.iter().copied().collect();
        if let Some(name) = policy.subjects.first() {
            for wide in std::iter::once(name.clone()).chain(address::wildcards(name)) {
                candidates.extend(self.by_subject.get(&wide).into_iter().flatten());
            }
        }
        let mut behind = candidates.into_iter().filter(|candidate| *candidate > at);
        behind.find(|candidate| {
            policies
                .get(*candidate)
                .is_some_and(|other| is_subset(policy, other))
        })
    }
}
