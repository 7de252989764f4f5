//! What `cargo metadata` tells about the workspace and its dependencies.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The workspace and every package that it depends on.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// All packages, members and third-party.
    pub(crate) packages: Vec<Package>,
    /// Ids of the members.
    pub(crate) workspace_members: Vec<String>,
    /// The directory of the root manifest.
    pub(crate) workspace_root: PathBuf,
    /// Where cargo builds.
    pub(crate) target_directory: PathBuf,
    /// The resolved dependency graph.
    pub(crate) resolve: Resolve,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// Unique in this graph.
    pub(crate) id: String,
    /// As in the manifest.
    pub(crate) name: String,
    /// As in the manifest.
    pub(crate) version: String,
    /// SPDX expression, if the manifest has one.
    pub(crate) license: Option<String>,
    /// `None` for a package of this workspace.
    pub(crate) source: Option<String>,
    /// Where the manifest is.
    pub(crate) manifest_path: PathBuf,
    /// Feature name to what it turns on.
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// What the manifest asks for.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The package asked for.
    pub(crate) name: String,
}

/// The resolved graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    /// One node per package.
    pub(crate) nodes: Vec<Node>,
}

/// A package and its resolved dependencies.
#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    /// A [`Package::id`].
    pub(crate) id: String,
    /// Edges to other packages.
    pub(crate) deps: Vec<Edge>,
}

/// One edge of the resolved graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Edge {
    /// A [`Package::id`].
    pub(crate) pkg: String,
    /// Why the edge is there.
    pub(crate) dep_kinds: Vec<Kind>,
}

/// The kind of an edge.
#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

// === impl Metadata ===

impl Metadata {
    /// Asks cargo. Fails if the lock file is not up to date.
    pub(crate) fn load() -> Result<Self> {
        let mut command = Command::new(cargo());
        command.args(["metadata", "--format-version", "1", "--locked"]);
        let output = command.output().context("cannot run cargo metadata")?;
        ensure!(
            output.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).context("cargo metadata printed something unexpected")
    }

    /// The members, in the order of the root manifest.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Names of all packages that `package` needs to run, directly or not, itself excluded.
    pub(crate) fn normal_closure(&self, package: &Package) -> Vec<&str> {
        let nodes: HashMap<&str, &Node> = self.resolve.nodes.iter().map(|n| (n.id.as_str(), n)).collect();
        let names: HashMap<&str, &str> = self
            .packages
            .iter()
            .map(|p| (p.id.as_str(), p.name.as_str()))
            .collect();
        let mut seen = HashSet::from([package.id.as_str()]);
        let mut open = vec![package.id.as_str()];
        let mut closure = Vec::new();
        while let Some(node) = open.pop().and_then(|id| nodes.get(id)) {
            for edge in node.deps.iter().filter(|edge| edge.is_normal()) {
                if seen.insert(&edge.pkg) {
                    open.push(&edge.pkg);
                    closure.extend(names.get(edge.pkg.as_str()).copied());
                }
            }
        }
        closure.sort_unstable();
        closure
    }
}

// === impl Package ===

impl Package {
    /// The directory of the package.
    pub(crate) fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }
}

// === impl Edge ===

impl Edge {
    fn is_normal(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

/// The cargo that runs us, or the one on the path.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` needs `b`, `b` needs `c`; `a` needs `d` only for tests.
    fn sample() -> Metadata {
        let package = |id: &str| {
            format!(
                r#"{{"id":"{id}","name":"{id}","version":"1.0.0","license":null,"source":null,
                "manifest_path":"/w/{id}/Cargo.toml","features":{{}},"dependencies":[]}}"#
            )
        };
        let text = format!(
            r#"{{"packages":[{},{},{},{}],"workspace_members":["a"],"workspace_root":"/w",
            "target_directory":"/w/target","resolve":{{"nodes":[
            {{"id":"a","deps":[{{"pkg":"b","dep_kinds":[{{"kind":null}}]}},{{"pkg":"d","dep_kinds":[{{"kind":"dev"}}]}}]}},
            {{"id":"b","deps":[{{"pkg":"c","dep_kinds":[{{"kind":"dev"}},{{"kind":null}}]}}]}},
            {{"id":"c","deps":[]}},{{"id":"d","deps":[]}}]}}}}"#,
            package("a"),
            package("b"),
            package("c"),
            package("d")
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_closure_follows_normal_edges_only() {
        let metadata = sample();
        let root = metadata.members().next().unwrap();
        assert_eq!(metadata.normal_closure(root), ["b", "c"]);
    }
}
