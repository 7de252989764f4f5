//! Doorway with sources of routes, end to end: files, a store, replicas that share it, and what happens when they are gone.

mod conflicts;
mod drain;
mod files;
mod origin;
mod outage;
mod redis;
mod replica;
mod replicas;
mod schema;
mod secured;
mod traffic;

use std::path::Path;

use self::origin::Origin;
use self::replica::Replica;
use crate::support::Directory;

/// Looks that are far more than anything takes: each asks a process.
const LOOKS: usize = 100_000;

/// Asks again until something is so.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let found = (0..LOOKS).find_map(|_| look());
    found.unwrap_or_else(|| panic!("it never happens: {what}"))
}

/// The lines of a store in this SQLite file, whose replicas look at it often.
fn sqlite(file: &Path) -> String {
    format!(
        "\t\tstore sqlite sqlite:{} {{\n\t\t\tsync_interval 500ms\n\t\t}}\n",
        file.display()
    )
}

/// A document of one upstream.
fn document(host: &str, origin: &Origin) -> String {
    format!(
        "{{\"host\": \"{host}\", \"upstreams\": [{{\"address\": \"{}\"}}]}}",
        origin.address()
    )
}

/// A directory with a store that two replicas share, and an origin.
fn shared() -> (Directory, Origin) {
    (Directory::new(), Origin::start("one"))
}
