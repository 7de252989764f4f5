//! Skipper's routes in a running proxy.

mod balancing;
mod basics;
mod bodies;
mod breakers;
mod copies;
mod differential;
mod errors;
mod examples;
mod faults;
mod filters;
mod hostile;
mod hosts;
mod kept;
mod lifecycle;
mod loopbacks;
mod retries;
mod routes;
mod shares;
mod sources;
mod swaps;
mod timeouts;
mod tokens;
mod upgrades;
mod urls;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proxy_core::Options;
use tempfile::TempDir;

use crate::support::origin::Origin;
use crate::support::rig::{HOST, Rig};
use crate::support::wait::eventually;
use crate::support::wire::Message;

/// Global options of these sites.
const GLOBAL: &str = "{\n\tadmin off\n\tauto_https off\n\tgrace_period 5s\n}\n";

/// Short enough for tests to wait for, long enough for a loopback connection.
const SHORT: &str = "40ms";

/// A site whose routes are these.
fn rig(routes: &str) -> Rig {
    rig_with("", routes)
}

/// The same, with further lines of the handler.
fn rig_with(lines: &str, routes: &str) -> Rig {
    site(&filters::options(), &directives(lines, routes))
}

/// A site for every host.
fn site(options: &Options, directives: &str) -> Rig {
    Rig::with_options(options, &caddyfile(0, directives))
}

/// The configuration of such a site.
fn caddyfile(port: u16, directives: &str) -> String {
    format!("{GLOBAL}http://:{port} {{\n\tbind 127.0.0.1\n{directives}\n}}\n")
}

/// Replaces what such a site serves.
async fn reload(rig: &Rig, directives: &str) {
    rig.reload(&caddyfile(rig.addr().port(), directives)).await;
}

/// The directives of such a site.
fn directives(lines: &str, routes: &str) -> String {
    format!("\teskip {{\n{lines}\n\t\tinline `{routes}`\n\t}}")
}

/// The address as a backend.
fn backend(addr: SocketAddr) -> String {
    format!("\"http://{addr}\"")
}

/// An address at which nobody listens.
async fn nobody() -> SocketAddr {
    let gone = Origin::bind(Ipv4Addr::LOCALHOST).await;
    gone.addr()
}

/// A GET with another Host.
fn get_at(host: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// A GET with further fields, each with its line end.
fn get_with(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n")
}

/// The status and the body as text.
fn told(answer: &Message) -> (u16, String) {
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    (answer.head.status(), body)
}

/// A file of routes that can be replaced.
struct RoutesFile {
    folder: TempDir,
    path: PathBuf,
}

// === impl RoutesFile ===

impl RoutesFile {
    fn new(routes: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("routes.eskip");
        let this = Self { folder, path };
        this.write(routes);
        this
    }

    /// A file that is not there yet.
    fn missing() -> Self {
        let this = Self::new("");
        this.remove();
        this
    }

    /// All at once, as whoever writes routes should.
    fn write(&self, routes: &str) {
        let new = self.folder.path().join("new");
        std::fs::write(&new, routes).expect("the folder is there");
        std::fs::rename(new, &self.path).expect("the folder is there");
    }

    fn remove(&self) {
        std::fs::remove_file(&self.path).expect("the file is there");
    }

    fn path(&self) -> &Path {
        &self.path
    }

    /// The lines of a handler that follows the file.
    fn lines(&self) -> String {
        format!("\t\tfile {}\n\t\tpoll {POLL:?}", self.path.display())
    }

    /// The directives of a site that follows the file.
    fn directives(&self) -> String {
        format!("\teskip {{\n{}\n\t}}", self.lines())
    }

    fn rig(&self) -> Rig {
        site(&filters::options(), &self.directives())
    }
}

/// How often a file is looked at.
const POLL: Duration = Duration::from_millis(10);

/// Waits until a GET for `path` is answered with this status and body.
async fn until_told(rig: &Rig, path: &str, status: u16, body: &str) {
    let what = format!("{path} is answered with {status} {body:?}");
    eventually(&what, async || {
        (told(&rig.get(path).await) == (status, body.to_owned())).then_some(())
    })
    .await;
}

/// Waits until answers are of this version.
async fn until_version(rig: &Rig, number: usize) {
    eventually("answers are of the last version", async || {
        let answer = rig.get("/shunt").await;
        (answer.head.field("x-version") == Some(number.to_string())).then_some(())
    })
    .await;
}
