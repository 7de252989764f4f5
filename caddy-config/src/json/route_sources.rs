//! Where routes come from beside the configuration.

mod store;

use std::time::Duration;

use self::store::store;
use super::{
    decode::{Cx, Object},
    reader::{Node, Value},
    scalar::exact_duration,
    tls::path,
};
use crate::{
    check::route_sources as check,
    model::{
        DockerMode, DockerRoutes, DockerTls, KubernetesRoutes, RouteFiles, RouteSources, RoutesToken,
        TokenAccess, WhenMissing,
    },
    source::Span,
    suggest::did_you_mean,
};

/// The sources of an HTTP app.
pub(super) fn route_sources<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<RouteSources> {
    let mut object = Object::open(node, cx)?;
    let help = "write \"route_sources\": true into each server that serves the hosts";
    object.refuse("listen", help, cx);
    let some = ["file", "docker", "kubernetes", "store"]
        .into_iter()
        .any(|name| object.node(name).is_some());
    if !some {
        let help = "add \"file\", \"docker\", \"kubernetes\" or \"store\"".to_owned();
        cx.error(first(object.span()), check::NO_SOURCE, help);
    }
    let sources = RouteSources {
        file: object.get("file", cx, file),
        docker: object.get("docker", cx, docker),
        kubernetes: object.get("kubernetes", cx, kubernetes),
        store: object.get("store", cx, store),
        tokens: object.list("tokens", cx, token),
    };
    report_repeated_tokens(object.node("tokens"), &sources.tokens, cx);
    object.finish(cx);
    Some(sources)
}

fn file<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<RouteFiles> {
    let mut object = Object::open(node, cx)?;
    let files = RouteFiles {
        paths: object
            .require("paths", cx, |node, cx| {
                if matches!(&node.value, Value::Array(paths) if paths.is_empty()) {
                    cx.error(node.span, "at least one file is needed", None);
                }
                cx.list(node, path)
            })
            .unwrap_or_default(),
        poll: object.get("poll", cx, interval),
        when_missing: object.get("when_missing", cx, |node, cx| {
            choice(node, &WhenMissing::WORDS, cx)
        }),
    };
    object.finish(cx);
    Some(files)
}

fn docker<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<DockerRoutes> {
    let mut object = Object::open(node, cx)?;
    let endpoint = object.get("endpoint", cx, |node, cx| {
        checked(node, check::docker_endpoint, cx)
    });
    let tls = object.get("tls", cx, |node, cx| {
        cx.check(node, check::docker_tls(endpoint.as_deref()))?;
        docker_tls(node, cx)
    });
    let docker = DockerRoutes {
        endpoint,
        mode: object.get("mode", cx, |node, cx| choice(node, &DockerMode::WORDS, cx)),
        interval: object.get("interval", cx, interval),
        networks: object.list("networks", cx, |node, cx| {
            checked(node, check::docker_network, cx)
        }),
        tls,
    };
    object.finish(cx);
    Some(docker)
}

fn docker_tls<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<DockerTls> {
    let mut object = Object::open(node, cx)?;
    let ca = object.require("ca", cx, path);
    let certificate = object.require("certificate", cx, path);
    let key = object.require("key", cx, path);
    object.finish(cx);
    Some(DockerTls {
        ca: ca?,
        certificate: certificate?,
        key: key?,
    })
}

fn kubernetes<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<KubernetesRoutes> {
    let mut object = Object::open(node, cx)?;
    let kubernetes = KubernetesRoutes {
        kubeconfig: object.get("kubeconfig", cx, path),
        class: object.get("class", cx, |node, cx| checked(node, check::kubernetes_name, cx)),
        namespaces: object.list("namespaces", cx, |node, cx| {
            checked(node, check::kubernetes_name, cx)
        }),
        publish_service: object.get("publish_service", cx, |node, cx| {
            checked(node, check::kubernetes_service, cx)
        }),
        tls_directory: object.get("tls_directory", cx, path),
    };
    object.finish(cx);
    Some(kubernetes)
}

fn token<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<RoutesToken> {
    let mut object = Object::open(node, cx)?;
    let name = object.require("name", cx, |node, cx| checked(node, check::token_name, cx));
    let access = object.require("access", cx, |node, cx| choice(node, &TokenAccess::WORDS, cx));
    let secret = object.require("secret", cx, |node, cx| checked(node, check::token_secret, cx));
    object.finish(cx);
    Some(RoutesToken {
        name: name?,
        access: access?,
        secret: secret?.into(),
    })
}

/// Tokens are told apart by their names.
fn report_repeated_tokens(node: Option<&Node>, tokens: &[RoutesToken], cx: &mut Cx<'_, '_>) {
    let mut names: Vec<&str> = tokens.iter().map(|token| token.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair.first() == pair.last());
    if let Some((node, name)) = node.zip(twice.and_then(|pair| pair.first())) {
        cx.error(
            first(node.span),
            format!("two tokens have the name `{name}`"),
            None,
        );
    }
}

/// The bracket that something begins with.
fn first(span: Span) -> Span {
    Span::new(span.start, span.start.saturating_add(1))
}

/// Text of a certain form.
fn checked<'n>(
    node: &'n Node,
    check: impl FnOnce(&str) -> Result<(), &'static str>,
    cx: &mut Cx<'n, '_>,
) -> Option<String> {
    let text = cx.string(node)?;
    cx.check(node, check(&text))?;
    Some(text)
}

/// One of a few words.
fn choice<'n, T: Copy>(node: &'n Node, words: &[(&'static str, T)], cx: &mut Cx<'n, '_>) -> Option<T> {
    let text = cx.string(node)?;
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let known = || words.iter().map(|(word, _)| *word);
        let help = did_you_mean(&text, known()).unwrap_or_else(|| {
            let known: Vec<&str> = known().collect();
            format!("supported here: {}", known.join(", "))
        });
        cx.error(node.span, "unknown or unsupported value", help);
    }
    found.map(|(_, value)| *value)
}

/// The time between two looks.
fn interval<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Duration> {
    let duration = exact_duration(node, cx)?;
    cx.check(node, check::interval(duration))
}
