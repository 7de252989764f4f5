//! Hosts that sources of routes define, as the program gives them.

mod changes;
mod documents;
mod hostile;
mod secured;

use std::net::SocketAddr;
use std::sync::Arc;

use proxy_core::Options;
use route_sources::{HostDocument, Invalid, Kind, Publisher, Route, Snapshot, channel};
use serde_json::{Value, json};

use crate::support::message::Head;
use crate::support::rig::{Rig, options};
use crate::support::wait::eventually;
use crate::support::wire::Message;

/// A proxy whose hosts a test gives.
struct Stage {
    rig: Rig,
    docker: Publisher,
    kubernetes: Publisher,
}

/// An answer whose body is text.
struct Answer {
    head: Head,
    body: String,
}

// === impl Answer ===

impl Answer {
    fn text(&self) -> &str {
        &self.body
    }
}

impl From<Message> for Answer {
    fn from(message: Message) -> Self {
        let body = String::from_utf8(message.body).expect("it is text");
        Self {
            head: message.head,
            body,
        }
    }
}

// === impl Stage ===

impl Stage {
    /// Both sources have nothing yet.
    async fn new() -> Self {
        Self::with("").await
    }

    /// The same with these sites beside.
    async fn with(sites: &str) -> Self {
        Self::silent(&config(sites)).speaking().await
    }

    /// Hosts are served on these addresses.
    async fn listening(listen: &str) -> Self {
        let config = config("").replace("http://127.0.0.1:0", listen);
        Self::silent(&config).speaking().await
    }

    async fn speaking(self) -> Self {
        let stage = self;
        stage.docker.publish(Snapshot::default());
        stage.kubernetes.publish(Snapshot::default());
        let complete = async || {
            let status = stage.rig.control().hosts();
            let spoke = |kind| status.sources.iter().any(|source| source.kind == kind);
            (spoke(Kind::Docker) && spoke(Kind::Kubernetes)).then_some(())
        };
        eventually("both sources are known", complete).await;
        stage
    }

    /// The sources have not said anything.
    fn silent(config: &str) -> Self {
        let ((docker, docker_snapshots), (kubernetes, kubernetes_snapshots)) = (channel(), channel());
        let options = Options {
            host_sources: vec![
                (Kind::Docker, docker_snapshots),
                (Kind::Kubernetes, kubernetes_snapshots),
            ],
            ..options()
        };
        Self {
            rig: Rig::with_options(&options, config),
            docker,
            kubernetes,
        }
    }

    /// Gives what a source says, and waits until requests see it.
    async fn say(&self, kind: Kind, routes: Vec<Route>) {
        let marker = format!("marker {}", routes.len());
        let source = if kind == Kind::Docker {
            &self.docker
        } else {
            &self.kubernetes
        };
        // What cannot be read is told with the rest, so that a test knows that the snapshot has come.
        let unread = |reason: &str| Invalid {
            host: None,
            place: "the test".to_owned(),
            reason: reason.to_owned(),
            kept: false,
        };
        for reason in [format!("{marker}, before"), marker] {
            source.publish(Snapshot {
                routes: routes.clone(),
                invalid: vec![unread(&reason)],
                ..Snapshot::default()
            });
            let seen = async || {
                let status = self.rig.control().hosts();
                let mut all = status.sources.iter().filter(|source| source.kind == kind);
                let is_known =
                    all.any(|source| source.invalid.iter().any(|invalid| invalid.reason == reason));
                is_known.then_some(())
            };
            eventually("the snapshot is known", seen).await;
        }
    }

    async fn get(&self, host: &str, path: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.rig.wire().await.ask(request).await.into()
    }
}

fn config(sites: &str) -> String {
    format!(
        "{{\n\tadmin off\n\tgrace_period 5s\n\troute_sources {{\n\t\tlisten http://127.0.0.1:0\n\t\tstore memory\n\t}}\n}}\n{sites}"
    )
}

/// A document, as sources give it.
fn route(document: Value) -> Route {
    Route::Document(Arc::new(checked(document)))
}

fn checked(document: Value) -> HostDocument {
    let raw = serde_json::from_value(document).expect("it is a document");
    HostDocument::check(raw).expect("the document is good")
}

/// A host with one upstream.
fn to(host: &str, upstream: SocketAddr) -> Route {
    route(json!({"host": host, "upstreams": [{"address": upstream.to_string()}]}))
}
