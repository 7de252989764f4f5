//! What a daemon runs, and the documents that follow from it. Nothing here depends on an order that the daemon chose.

mod document;

use std::collections::{BTreeMap, BTreeSet};

use route_store::document::RawUpstream;
use route_store::{HostDocument, HostName};

use super::address::{Reached, Unreached, reached};
use super::labels::{self, Definition, Refusal};
use super::settings::DockerSettings;
use super::workload::Workload;
use crate::snapshot::{Held, Invalid};

/// Everything that follows from one complete list.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Assembled {
    pub(super) documents: BTreeMap<HostName, HostDocument>,
    pub(super) held: BTreeMap<HostName, Held>,
    pub(super) invalid: Vec<Invalid>,
    /// Hosts of which it is not known now where they are reached: what was known stays.
    pub(super) unknown: BTreeSet<HostName>,
}

/// One route of one container or service.
#[derive(Debug)]
struct Part {
    place: String,
    definition: Definition,
    /// The host and its aliases.
    hosts: Vec<HostName>,
    upstreams: Vec<RawUpstream>,
    is_running: bool,
}

/// A container or service whose labels are refused.
#[derive(Debug)]
struct Refused {
    place: String,
    hosts: BTreeSet<HostName>,
    refusal: Refusal,
    is_running: bool,
}

/// Makes documents of everything that is there.
pub(super) fn assemble(mut workloads: Vec<Workload>, settings: &DockerSettings) -> Assembled {
    workloads.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
    let mut found = Assembled::default();
    let mut parts: BTreeMap<HostName, Vec<Part>> = BTreeMap::new();
    let mut refused = Vec::new();
    for workload in &workloads {
        match self::parts(workload, settings, &mut found.invalid) {
            Ok(own) => {
                for (host, part) in own {
                    parts.entry(host).or_default().push(part);
                }
            }
            Err(refusal) => refused.push(refuse(workload, refusal, &mut found.invalid)),
        }
    }
    for refused in &refused {
        // Without a look at what was known, that may be served without a login.
        if refused.refusal.is_unknown && !refused.refusal.is_guarded {
            found.unknown.extend(refused.hosts.iter().cloned());
        }
        for host in refused.hosts.iter().filter(|host| is_held(host, refused, &parts)) {
            hold(host, &refused.place, &mut found.held);
        }
    }
    for (host, parts) in parts {
        if !found.held.contains_key(&host) {
            document(&host, parts, &mut found);
        }
    }
    found
}

/// The routes of one container or service, each of which would be served if it were alone.
fn parts(
    workload: &Workload,
    settings: &DockerSettings,
    notes: &mut Vec<Invalid>,
) -> Result<Vec<(HostName, Part)>, Refusal> {
    let definitions = labels::definitions(&workload.labels, settings.forms)?;
    let mut parts = Vec::new();
    let mut reasons = Vec::new();
    let mut is_unknown = true;
    let mut noted = Vec::new();
    for definition in &definitions {
        match part(workload, definition, settings) {
            Ok((part, note)) => {
                let host = part.hosts.first().cloned();
                noted.extend(note.map(|reason| invalid(host.as_ref(), &part.place, reason)));
                parts.extend(host.map(|host| (host, part)));
            }
            Err(Unreached::Wrong(reason)) => {
                is_unknown = false;
                reasons.push(reason);
            }
            Err(Unreached::Unknown(reason)) => reasons.push(reason),
        }
    }
    if reasons.is_empty() {
        notes.append(&mut noted);
        return Ok(parts);
    }
    Err(Refusal {
        hosts: definitions
            .iter()
            .flat_map(|definition| definition.hosts.iter().cloned())
            .collect(),
        reasons,
        is_guard_refused: false,
        is_unknown,
        is_guarded: definitions
            .iter()
            .any(|definition| !definition.handlers.is_empty()),
    })
}

fn part(
    workload: &Workload,
    definition: &Definition,
    settings: &DockerSettings,
) -> Result<(Part, Option<String>), Unreached> {
    let Reached { upstreams, note } = reached(workload, definition, settings)?;
    let alone = document::raw(&[(definition, upstreams.clone())]);
    let checked = HostDocument::check(alone).map_err(|problems| Unreached::Wrong(problems.to_string()))?;
    let hosts = std::iter::once(checked.host()).chain(checked.aliases()).cloned();
    let part = Part {
        place: workload.place(),
        definition: definition.clone(),
        hosts: hosts.collect(),
        upstreams,
        is_running: workload.is_running(),
    };
    Ok((part, note))
}

fn refuse(workload: &Workload, refusal: Refusal, invalid_ones: &mut Vec<Invalid>) -> Refused {
    let place = workload.place();
    invalid_ones.push(Invalid {
        host: refusal.hosts.first().cloned(),
        place: place.clone(),
        reason: refusal.reasons.join("; "),
        kept: false,
    });
    Refused {
        place,
        hosts: refusal
            .hosts
            .iter()
            .filter_map(|host| host.parse().ok())
            .collect(),
        is_running: workload.is_running(),
        refusal,
    }
}

/// Whether a host must not be served as labels that may keep people out of it are refused.
///
/// If those labels themselves are wrong, nobody else's routes stand in for them. If something else is wrong beside them,
/// others may serve the host that keep people out too. What does not run has no say beside what runs.
fn is_held(host: &HostName, refused: &Refused, parts: &BTreeMap<HostName, Vec<Part>>) -> bool {
    let others = || parts.values().flatten().filter(|part| part.hosts.contains(host));
    if !refused.is_running && others().any(|part| part.is_running) {
        return false;
    }
    let is_guarded = || others().count() > 0 && others().all(|part| part.definition.asks_for_login);
    refused.refusal.is_guard_refused || (refused.refusal.is_guarded && !is_guarded())
}

fn hold(host: &HostName, place: &str, held: &mut BTreeMap<HostName, Held>) {
    held.entry(host.clone()).or_insert_with(|| Held {
        host: host.clone(),
        reason: format!("{place} has labels that keep people out, and they are refused"),
    });
}

/// The document of one host. `parts` come in the order of their names.
fn document(host: &HostName, mut parts: Vec<Part>, found: &mut Assembled) {
    // Stable, so that names decide last. Who asks for a login is before who does not, so that it is asked for.
    parts.sort_by_key(|part| {
        let definition = &part.definition;
        (
            !part.is_running,
            !definition.asks_for_login,
            definition.handlers.is_empty(),
        )
    });
    let mut groups: Vec<Vec<&Part>> = Vec::new();
    for part in &parts {
        let is_its = |group: &&mut Vec<&Part>| {
            let first = group.first();
            first.is_some_and(|first| first.definition.paths == part.definition.paths)
        };
        match groups.iter_mut().find(is_its) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    report_differences(host, &parts, &groups, &mut found.invalid);
    let targets = targets(host, &groups, &mut found.invalid);
    let targets: Vec<_> = targets
        .iter()
        .map(|(definition, upstreams)| (definition, upstreams.clone()))
        .collect();
    match HostDocument::check(document::raw(&targets)) {
        Ok(document) => {
            found.documents.insert(host.clone(), document);
        }
        Err(problems) => {
            let places: Vec<_> = parts.iter().map(|part| part.place.as_str()).collect();
            let places = places.join(", ");
            found
                .invalid
                .push(invalid(Some(host), &places, problems.to_string()));
            if parts.iter().any(|part| !part.definition.handlers.is_empty()) {
                hold(host, &places, &mut found.held);
            }
        }
    }
}

/// What each group serves. A pattern of several groups is of the first one, and the others hear of it.
fn targets(
    host: &HostName,
    groups: &[Vec<&Part>],
    notes: &mut Vec<Invalid>,
) -> Vec<(Definition, Vec<RawUpstream>)> {
    let mut taken = BTreeSet::new();
    let mut targets = Vec::new();
    for group in groups {
        let Some(first) = group.first() else { continue };
        let mut definition = first.definition.clone();
        definition.paths = document::left(&definition, &mut taken);
        if definition.paths != first.definition.paths {
            let reason = "others of this host have some of its paths, and are before it by name";
            notes.push(invalid(Some(host), &first.place, reason.to_owned()));
            if definition.paths.is_empty() {
                continue;
            }
        }
        targets.push((definition, joined(group)));
    }
    targets
}

/// The upstreams of all with one route. One with handlers gets no requests that did not pass them.
fn joined(group: &[&Part]) -> Vec<RawUpstream> {
    let leader = group.first().map(|first| &first.definition.handlers);
    let passed = |part: &&&Part| {
        let own = &part.definition.handlers;
        own.is_empty() || Some(own) == leader
    };
    let mut upstreams: Vec<_> = group
        .iter()
        .filter(passed)
        .flat_map(|part| part.upstreams.iter().cloned())
        .collect();
    upstreams.sort_by(|one, other| {
        (&one.address, &one.weight, &one.sni).cmp(&(&other.address, &other.weight, &other.sni))
    });
    upstreams.dedup_by(|one, other| one.address == other.address);
    upstreams
}

/// Says whose labels do not count, as those of another one differ.
fn report_differences(host: &HostName, parts: &[Part], groups: &[Vec<&Part>], notes: &mut Vec<Invalid>) {
    let Some(first) = parts.first() else { return };
    for group in groups {
        let Some(leader) = group.first() else { continue };
        for part in group.iter().filter(|part| part.is_running) {
            let of_host = document::differs_for_host(&first.definition, &part.definition);
            let of_paths = document::differs_for_paths(&leader.definition, &part.definition);
            let counts = match (of_host, of_paths) {
                (Some(what), _) => (what, &first.place),
                (None, Some(what)) => (what, &leader.place),
                (None, None) => continue,
            };
            let (what, place) = counts;
            let reason = format!("its {what} differ from those of {place}, which count");
            notes.push(invalid(Some(host), &part.place, reason));
        }
    }
}

fn invalid(host: Option<&HostName>, place: &str, reason: String) -> Invalid {
    Invalid {
        host: host.map(HostName::to_string),
        place: place.to_owned(),
        reason,
        kept: false,
    }
}

#[cfg(test)]
mod tests;
