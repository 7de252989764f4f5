//! Edges between the crates of the workspace point downwards, pure crates stay pure, and each crate can stand alone.

use std::fs;

use anyhow::{Context, Result};

use super::Finding;
use crate::metadata::{Metadata, Package};

/// What a member may depend on inside the workspace, for whatever purpose.
const EDGES: [(&str, &[&str]); 13] = [
    ("doors-token", &[]),
    ("doors-routing", &["doors-token"]),
    ("geo-db", &[]),
    ("consul-upstreams", &[]),
    ("eskip", &[]),
    ("http1-codec", &[]),
    ("shipwick-routes", &[]),
    // Its tests ask for all its features.
    ("route-store", &["route-store"]),
    ("route-sources", &["route-store"]),
    ("caddy-config", &["doors-token"]),
    (
        "proxy-core",
        &[
            "doors-token",
            "doors-routing",
            "geo-db",
            "consul-upstreams",
            "http1-codec",
            "caddy-config",
            "eskip",
            "route-store",
            "route-sources",
        ],
    ),
    (
        "doorway",
        &[
            "doors-token",
            "doors-routing",
            "geo-db",
            "consul-upstreams",
            "eskip",
            "caddy-config",
            "shipwick-routes",
            "route-store",
            "route-sources",
            "proxy-core",
        ],
    ),
    ("xtask", &["shipwick-routes"]),
];

/// Members that must work without a runtime.
const PURE: [&str; 4] = ["doors-token", "doors-routing", "eskip", "caddy-config"];

/// What a pure member must not need, directly or not.
const RUNTIMES: [&str; 6] = ["tokio", "hyper", "async-std", "smol", "mio", "reqwest"];

/// Checks the members.
pub(crate) fn check(metadata: &Metadata) -> Result<Vec<Finding>> {
    let members: Vec<&Package> = metadata.members().collect();
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let mut findings = Vec::new();
    for member in members {
        let inside = member
            .dependencies
            .iter()
            .map(|dependency| dependency.name.as_str());
        findings.extend(edges(&member.name, inside.filter(|name| names.contains(name))));
        findings.extend(purity(&member.name, &metadata.normal_closure(member)));
        findings.extend(furniture(member)?);
    }
    Ok(findings)
}

fn edges<'a>(member: &str, dependencies: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == member) else {
        return vec![Finding::new(
            member,
            "a new crate: say in xtask/src/tidy/crates.rs what it may depend on",
        )];
    };
    let upward = dependencies.filter(|name| !allowed.contains(name));
    upward
        .map(|name| Finding::new(member, format!("must not depend on {name}")))
        .collect()
}

fn purity(member: &str, closure: &[&str]) -> Vec<Finding> {
    if !PURE.contains(&member) {
        return Vec::new();
    }
    let runtimes = closure.iter().filter(|name| RUNTIMES.contains(name));
    runtimes
        .map(|name| Finding::new(member, format!("is pure, yet its dependencies reach {name}")))
        .collect()
}

/// A README for whoever finds the crate by itself, and the workspace's lints.
fn furniture(member: &Package) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if member.name != "xtask" && !member.directory().join("README.md").is_file() {
        findings.push(Finding::new(&member.name, "has no README.md"));
    }
    let manifest = fs::read_to_string(&member.manifest_path).with_context(|| member.name.clone())?;
    if !manifest.contains("[lints]\nworkspace = true") {
        findings.push(Finding::new(&member.name, "does not take the workspace's lints"));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upward_edge_is_found() {
        let found = edges("doors-token", ["proxy-core"].into_iter());
        assert_eq!(
            found,
            [Finding::new("doors-token", "must not depend on proxy-core")]
        );
        assert_eq!(edges("doors-routing", ["doors-token"].into_iter()), []);
    }

    #[test]
    fn an_unknown_crate_must_be_placed_first() {
        assert_eq!(edges("new-crate", [].into_iter()).len(), 1);
    }

    #[test]
    fn a_pure_crate_reaches_no_runtime() {
        assert_eq!(purity("caddy-config", &["serde", "tokio"]).len(), 1);
        assert_eq!(purity("proxy-core", &["tokio"]), []);
    }

    #[test]
    fn the_table_has_no_cycle() {
        // Each row may name earlier rows only, and itself: its tests want all of its features.
        for (index, (member, allowed)) in EDGES.iter().enumerate() {
            for name in allowed.iter().filter(|name| *name != member) {
                assert!(
                    EDGES[..index].iter().any(|(earlier, _)| earlier == name),
                    "{member} -> {name}"
                );
            }
        }
    }
}
