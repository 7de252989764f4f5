//! Which policies are left: sorted, without those that say nothing, and joined where they say the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Number;

use super::{
    super::{address, stable_sort::stable_sort},
    draft::{Draft, Issuers},
};
use crate::model::{Issuer, KeyType};

/// Sorts policies, the more specific first; leaves out those that say nothing, and joins those that say the same.
pub(super) fn consolidate(mut policies: Vec<Draft>) -> Vec<Draft> {
    if policies.iter().all(Draft::is_empty) {
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
        let speaks_behind = superset.is_none_or(|later| !later.is_empty());
        !policy.is_empty() || (!is_last && speaks_behind)
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

/// Policies that say the same become one, in the place of the first. One for every name takes them in too, unless a
/// policy between them has their names.
fn join_alike(policies: Vec<Draft>) -> Vec<Draft> {
    let mut meanings = Meanings::default();
    let mut joined: Vec<(Meaning, Draft)> = Vec::new();
    for policy in policies {
        let meaning = meanings.of(&policy);
        let alike =
            |(other, draft): &&mut (Meaning, Draft)| !draft.subjects.is_empty() && other.is_like(meaning);
        match joined.iter_mut().find(alike) {
            Some((_, first)) if !policy.subjects.is_empty() => first.subjects.extend(policy.subjects),
            _ => joined.push((meaning, policy)),
        }
    }
    for (_, policy) in &mut joined {
        let mut seen = HashSet::new();
        policy.subjects.retain(|subject| seen.insert(subject.clone()));
    }
    if let Some((every_name, last)) = joined.pop() {
        if last.subjects.is_empty() {
            let mut at = 0;
            while let Some(((meaning, policy), behind)) = joined.get(at..).and_then(<[_]>::split_first) {
                if meaning.is_like(every_name) && !behind.iter().any(|(_, other)| is_subset(policy, other)) {
                    joined.remove(at);
                } else {
                    at = at.saturating_add(1);
                }
            }
        }
        joined.push((every_name, last));
    }
    joined.into_iter().map(|(_, policy)| policy).collect()
}

/// What a policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meaning {
    issuance: Issuance,
    /// All but issuers and names, by number.
    settings: usize,
}

/// Who issues for a policy, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issuance {
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
    /// It is said, by number.
    These(usize),
    /// It is said: the proxy's own authority, as it is by itself.
    TheseInternal,
}

/// Policies are compared by numbers, since there may be one for each of many sites.
#[derive(Debug, Default)]
struct Meanings {
    issuers: HashMap<Vec<Issuer>, usize>,
    settings: HashMap<Settings, usize>,
}

/// All that a policy says beside issuers and names.
type Settings = (Option<KeyType>, bool, bool, Option<Number>);

// === impl Meanings ===

impl Meanings {
    fn of(&mut self, policy: &Draft) -> Meaning {
        let settings = (
            policy.key_type,
            policy.on_demand,
            policy.reuse_private_keys,
            policy.renewal_window_ratio.clone(),
        );
        let next = self.settings.len();
        Meaning {
            issuance: self.issuance(policy),
            settings: *self.settings.entry(settings).or_insert(next),
        }
    }

    fn issuance(&mut self, policy: &Draft) -> Issuance {
        let is_public = |subject: &String| policy.is_public(subject);
        match &policy.issuers {
            Issuers::These(issuers) if *issuers == [Issuer::internal()] => Issuance::TheseInternal,
            Issuers::These(issuers) => {
                let next = self.issuers.len();
                Issuance::These(*self.issuers.entry(issuers.clone()).or_insert(next))
            }
            Issuers::Names => Issuance::Names,
            Issuers::Unsaid if policy.subjects.is_empty() => Issuance::EveryName,
            Issuers::Unsaid if policy.subjects.iter().all(is_public) => Issuance::Public,
            Issuers::Unsaid if policy.subjects.iter().any(is_public) => Issuance::Mixed,
            Issuers::Unsaid => Issuance::Internal,
        }
    }
}

// === impl Meaning ===

impl Meaning {
    fn is_like(self, other: Self) -> bool {
        self.settings == other.settings && self.issuance.is_like(other.issuance)
    }
}

// === impl Issuance ===

impl Issuance {
    /// Whether certificates come from the same authority. No equivalence: what names alone decide is like what the
    /// adapter says because of names, and that is like what a directive says.
    fn is_like(self, other: Self) -> bool {
        use Issuance::{EveryName, Internal, Mixed, Names, Public, TheseInternal};
        self == other
            || matches!(
                (self, other),
                (Names, Internal | TheseInternal)
                    | (Internal | TheseInternal, Names)
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
