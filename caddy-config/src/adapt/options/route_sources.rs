//! `route_sources { ... }`: where routes come from beside the file, and where their hosts are served.

mod listen;
mod store;

use std::{path::PathBuf, time::Duration};

use super::super::{
    cx::Cx,
    site::Key,
    values::{Once, block, exact_duration, path},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check::route_sources as check,
    model::{
        DockerMode, DockerRoutes, DockerTls, KubernetesRoutes, RouteFiles, RouteSources, RoutesToken,
        TokenAccess, WhenMissing,
    },
};

/// The sources, and the addresses at which their hosts are served.
#[derive(Debug, Default)]
pub(in crate::adapt) struct Sources {
    pub(in crate::adapt) sources: RouteSources,
    pub(in crate::adapt) listen: Vec<Key>,
}

const OPTIONS: [&str; 6] = ["docker", "file", "kubernetes", "listen", "store", "token"];

/// What makes a source.
const SOURCES: [&str; 4] = ["docker", "file", "kubernetes", "store"];

/// Reads the option, and hides its secrets whatever is wrong.
pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Sources {
    cx.surplus(&line.args);
    let mut read = Sources::default();
    let mut once = Once::default();
    for inner in block(line) {
        option(inner, &mut read, cx);
        if inner.name.text != "token" {
            once.note(&inner.name, cx);
        }
    }
    let is = |inner: &Line, names: &[&str]| names.contains(&inner.name.text.as_str());
    if !block(line).iter().any(|inner| is(inner, &SOURCES)) {
        let help = "add `file PATH`, `docker`, `kubernetes` or `store KIND URL`".to_owned();
        cx.error(line.name.span, check::NO_SOURCE, help);
    }
    if !block(line).iter().any(|inner| is(inner, &["listen"])) {
        read.listen = listen::usual(&line.name);
    }
    read
}

fn option(line: &Line, read: &mut Sources, cx: &mut Cx<'_>) {
    let sources = &mut read.sources;
    match line.name.text.as_str() {
        "docker" => sources.docker = Some(docker(line, cx)),
        "file" => sources.file = Some(file(line, cx)),
        "kubernetes" => sources.kubernetes = Some(kubernetes(line, cx)),
        "listen" => read.listen = listen::read(line, cx),
        "store" => sources.store = store::read(line, cx),
        "token" => {
            let token = token(line, cx);
            let known = |token: &RoutesToken| sources.tokens.iter().any(|other| other.name == token.name);
            if let Some(name) = line.args.first().filter(|_| token.as_ref().is_some_and(known)) {
                cx.error(name.span, "another token has this name", None);
            }
            sources.tokens.extend(token);
        }
        _ => cx.unknown(&line.name, "option", &OPTIONS),
    }
}

/// `file PATH... { poll DURATION; when_missing keep|clear }`.
fn file(line: &Line, cx: &mut Cx<'_>) -> RouteFiles {
    let mut files = RouteFiles {
        paths: paths(&line.args, cx),
        ..RouteFiles::default()
    };
    if line.args.is_empty() {
        cx.error(line.name.span, "`file` needs a file", None);
    }
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "poll" => files.poll = interval(inner, cx),
            "when_missing" => {
                files.when_missing = choice(inner, "`keep` or `clear`", &WhenMissing::WORDS, cx);
            }
            _ => cx.unknown(&inner.name, "option", &["poll", "when_missing"]),
        }
        once.note(&inner.name, cx);
    }
    files
}

/// `docker [ENDPOINT] { mode container|swarm; interval DURATION; networks NAME...; tls CA CERTIFICATE KEY }`.
fn docker(line: &Line, cx: &mut Cx<'_>) -> DockerRoutes {
    let mut docker = DockerRoutes::default();
    cx.surplus(line.args.get(1..).unwrap_or_default());
    if let Some(arg) = line.args.first() {
        docker.endpoint = checked(arg, check::docker_endpoint, cx);
    }
    let is_known = line.args.is_empty() || docker.endpoint.is_some();
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "mode" => docker.mode = choice(inner, "`container` or `swarm`", &DockerMode::WORDS, cx),
            "interval" => docker.interval = interval(inner, cx),
            "networks" => docker.networks = all(inner, "a network", check::docker_network, cx),
            "tls" => {
                if is_known {
                    cx.check(&inner.name, check::docker_tls(docker.endpoint.as_deref()));
                }
                docker.tls = docker_tls(inner, cx);
            }
            _ => cx.unknown(&inner.name, "option", &["interval", "mode", "networks", "tls"]),
        }
        once.note(&inner.name, cx);
    }
    docker
}

fn docker_tls(line: &Line, cx: &mut Cx<'_>) -> Option<DockerTls> {
    cx.no_block(line);
    let [ca, certificate, key] = line.args.as_slice() else {
        let message = "`tls` needs three files: of the authority, the certificate and its key";
        cx.error(line.name.span, message, None);
        return None;
    };
    let mut file = |arg| path(arg, cx).map(PathBuf::from);
    let (ca, certificate, key) = (file(ca), file(certificate), file(key));
    Some(DockerTls {
        ca: ca?,
        certificate: certificate?,
        key: key?,
    })
}

/// `kubernetes { kubeconfig PATH; class NAME; namespaces NAME...; publish_service NAMESPACE/NAME; tls_directory PATH }`.
fn kubernetes(line: &Line, cx: &mut Cx<'_>) -> KubernetesRoutes {
    const OPTIONS: [&str; 5] = [
        "class",
        "kubeconfig",
        "namespaces",
        "publish_service",
        "tls_directory",
    ];
    cx.surplus(&line.args);
    let mut kubernetes = KubernetesRoutes::default();
    let mut once = Once::default();
    for inner in block(line) {
        let one = |what, cx: &mut Cx<'_>| cx.one(inner, what);
        match inner.name.text.as_str() {
            "class" => {
                kubernetes.class = one("a name", cx).and_then(|arg| checked(arg, check::kubernetes_name, cx));
            }
            "kubeconfig" => {
                kubernetes.kubeconfig = one("a file", cx).and_then(|arg| path(arg, cx)).map(Into::into);
            }
            "namespaces" => {
                kubernetes.namespaces = all(inner, "a namespace", check::kubernetes_name, cx);
            }
            "publish_service" => {
                let service = one("a namespace and a name, such as doorway/doorway", cx);
                kubernetes.publish_service =
                    service.and_then(|arg| checked(arg, check::kubernetes_service, cx));
            }
            "tls_directory" => {
                let directory = one("a directory", cx).and_then(|arg| path(arg, cx));
                kubernetes.tls_directory = directory.map(Into::into);
            }
            _ => cx.unknown(&inner.name, "option", &OPTIONS),
        }
        once.note(&inner.name, cx);
    }
    kubernetes
}

/// `token NAME read|write SECRET`. The secret is hidden in findings.
fn token(line: &Line, cx: &mut Cx<'_>) -> Option<RoutesToken> {
    cx.no_block(line);
    line.args.iter().skip(2).for_each(|arg| cx.mask(arg));
    let [name, access, secret] = line.args.as_slice() else {
        let help = "write `token NAME read|write SECRET`".to_owned();
        cx.error(
            line.name.span,
            "`token` needs a name, what it is for, and a secret",
            help,
        );
        line.args.iter().for_each(|arg| cx.mask(arg));
        return None;
    };
    let name = checked(name, check::token_name, cx);
    let access = word(access, &TokenAccess::WORDS, cx);
    let secret = checked(secret, check::token_secret, cx);
    Some(RoutesToken {
        name: name?,
        access: access?,
        secret: secret?.into(),
    })
}

fn paths(args: &[Token], cx: &mut Cx<'_>) -> Vec<PathBuf> {
    args.iter()
        .filter_map(|arg| path(arg, cx))
        .map(PathBuf::from)
        .collect()
}

/// An argument of a certain form.
fn checked(
    arg: &Token,
    check: impl FnOnce(&str) -> Result<(), &'static str>,
    cx: &mut Cx<'_>,
) -> Option<String> {
    cx.check(arg, check(&arg.text))?;
    Some(arg.text.clone())
}

/// All arguments of a line, each of a certain form.
fn all(
    line: &Line,
    what: &str,
    check: impl Fn(&str) -> Result<(), &'static str>,
    cx: &mut Cx<'_>,
) -> Vec<String> {
    let args = cx.some(line, what).unwrap_or_default();
    args.iter().filter_map(|arg| checked(arg, &check, cx)).collect()
}

/// `NAME WORD`.
fn choice<T: Copy>(line: &Line, what: &str, words: &[(&'static str, T)], cx: &mut Cx<'_>) -> Option<T> {
    let arg = cx.one(line, what)?;
    word(arg, words, cx)
}

/// One of a few words.
fn word<T: Copy>(arg: &Token, words: &[(&'static str, T)], cx: &mut Cx<'_>) -> Option<T> {
    let found = words.iter().find(|(word, _)| *word == arg.text);
    if found.is_none() {
        let known: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
        cx.unknown(arg, "value", &known);
    }
    found.map(|(_, value)| *value)
}

/// The time between two looks.
fn interval(line: &Line, cx: &mut Cx<'_>) -> Option<Duration> {
    let (interval, arg) = exact_duration(line, cx).zip(line.args.first())?;
    cx.check(arg, check::interval(interval))
}
