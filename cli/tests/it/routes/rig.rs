//! A proxy with a store, and the commands that are tried on it.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Client, Directory, Finished, Running, doorway, finish, finish_with_input, free_port};

/// The secret of a token that may write.
pub(super) const WRITER: &str = "a-secret-of-writers";

/// The secret of one that may not.
pub(super) const READER: &str = "a-secret-of-readers";

pub(super) struct Rig {
    running: Running,
    pub(super) client: Client,
    pub(super) directory: Directory,
    admin: String,
}

/// A document with one upstream.
pub(super) fn document(host: &str, port: u16) -> Value {
    json!({ "schema_version": 2, "host": host, "upstreams": [{ "address": format!("127.0.0.1:{port}") }] })
}

/// A document that answers by itself.
pub(super) fn saying(host: &str, text: &str) -> Value {
    json!({ "host": host, "handlers": [{ "handler": "static_response", "body": text }] })
}

// === impl Rig ===

impl Rig {
    /// Without tokens.
    pub(super) fn start() -> Self {
        Self::with("")
    }

    /// With a token that may write and one that may not.
    pub(super) fn guarded() -> Self {
        Self::with(&format!(
            "\t\ttoken deploy write {WRITER}\n\t\ttoken board read {READER}\n"
        ))
    }

    fn with(tokens: &str) -> Self {
        let (directory, port) = (Directory::new(), free_port());
        let admin = format!("unix/{}", directory.path().join("admin.sock").display());
        let text = format!(
            "{{\n\tadmin {admin}\n\tpersist_config off\n\troute_sources {{\n\t\tlisten http://127.0.0.1:{port}\n\
             \t\tstore memory {{\n\t\t\tsnapshot off\n\t\t\tsync_interval 1s\n\t\t}}\n{tokens}\t}}\n}}\n"
        );
        directory.write("Caddyfile", &text);
        let running = Running::start(&mut doorway(directory.path(), &["run", "--workers", "1"]));
        running.stderr_line("the admin API is served");
        let rig = Self {
            running,
            client: Client::new(port),
            directory,
            admin,
        };
        rig.wait();
        rig
    }

    /// Waits until the sources run: the admin API is there before them.
    fn wait(&self) {
        let without_sources = || self.routes_as(READER, &["list"]).stderr.contains("409");
        assert!((0..1000).any(|_| !without_sources()), "the sources do not start");
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs `doorway routes`, asking this proxy.
    pub(super) fn routes(&self, arguments: &[&str]) -> Finished {
        finish(&mut self.command(arguments))
    }

    /// [`Rig::routes`] with something on standard input.
    pub(super) fn routes_of(&self, arguments: &[&str], input: &str) -> Finished {
        finish_with_input(&mut self.command(arguments), input)
    }

    /// Runs it with a token in the environment.
    pub(super) fn routes_as(&self, token: &str, arguments: &[&str]) -> Finished {
        finish(self.command(arguments).env("DOORWAY_TOKEN", token))
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let with_address = [&["routes"], arguments, &["--address", &self.admin]].concat();
        doorway(self.path(), &with_address)
    }

    /// Writes a document, and waits until it is served.
    pub(super) fn put(&self, document: &Value) {
        let host = document["host"].as_str().unwrap();
        let done = self.routes_of(&["put", host, "--wait"], &document.to_string());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }

    /// What a host says.
    pub(super) fn says(&self, host: &str) -> (u16, String) {
        let answer = self.client.get_of(host, "/");
        (answer.status, answer.body)
    }

    /// Ends it. What it has logged holds no secret.
    pub(super) fn stop(self) {
        self.running.signal("TERM");
        let (code, log) = self.running.end();
        assert_eq!(code, Some(0), "{log}");
        for secret in [WRITER, READER] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}

/// It must have done what it was asked for; what it printed.
pub(super) fn done(finished: Finished) -> String {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    finished.stdout
}

/// It must have failed; what it said.
pub(super) fn failed(finished: Finished) -> String {
    assert_eq!(finished.code, Some(1), "{}{}", finished.stdout, finished.stderr);
    finished.stderr
}
