//! Where routes come from beside the configuration.

use std::time::Duration;

use caddy_config::{
    DataLoss, DockerMode, DockerRoutes, DockerTls, KubernetesRoutes, NewerDocuments, RouteFiles,
    RouteSnapshot, RouteSources, RouteStore, RoutesToken, StoreKind, StoreUrl, TokenAccess, WhenMissing,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::name;

pub(super) fn route_sources() -> impl Strategy<Value = RouteSources> {
    let some = (
        option::of(files()).boxed(),
        option::of(docker()).boxed(),
        option::of(kubernetes()).boxed(),
        store().boxed(),
    );
    let tokens = prop::collection::btree_map(name(), (access(), "[!-z]{16,20}"), 0..3);
    (some, tokens).prop_map(|((file, docker, kubernetes, store), tokens)| {
        let token = |(name, (access, secret)): (String, (TokenAccess, String))| RoutesToken {
            name,
            access,
            secret: secret.into(),
        };
        RouteSources {
            file,
            docker,
            kubernetes,
            store: Some(store),
            tokens: tokens.into_iter().map(token).collect(),
        }
    })
}

fn access() -> impl Strategy<Value = TokenAccess> {
    select(vec![TokenAccess::Read, TokenAccess::Write])
}

fn interval() -> impl Strategy<Value = Option<Duration>> {
    option::of((10_000_000..=i64::MAX.unsigned_abs()).prop_map(Duration::from_nanos))
}

fn files() -> impl Strategy<Value = RouteFiles> {
    let missing = option::of(select(vec![WhenMissing::Keep, WhenMissing::Clear]));
    (vec(name(), 1..3), interval(), missing).prop_map(|(paths, poll, when_missing)| RouteFiles {
        paths: paths.into_iter().map(Into::into).collect(),
        poll,
        when_missing,
    })
}

fn docker() -> impl Strategy<Value = DockerRoutes> {
    let endpoint = option::of(select(vec![
        "unix:///run/docker.sock",
        "tcp://10.0.0.1:2376",
        "https://a",
    ]));
    let mode = option::of(select(vec![DockerMode::Container, DockerMode::Swarm]));
    let tls = option::of([name(), name(), name()]);
    (endpoint, mode, interval(), vec(name(), 0..3), tls).prop_map(
        |(endpoint, mode, interval, networks, tls)| {
            let encrypted = endpoint.is_some_and(|endpoint| !endpoint.starts_with("unix"));
            DockerRoutes {
                endpoint: endpoint.map(str::to_owned),
                mode,
                interval,
                networks,
                tls: tls.filter(|_| encrypted).map(|[ca, certificate, key]| DockerTls {
                    ca: ca.into(),
                    certificate: certificate.into(),
                    key: key.into(),
                }),
            }
        },
    )
}

fn kubernetes() -> impl Strategy<Value = KubernetesRoutes> {
    let word = || "[a-z][a-z0-9]{0,8}";
    let files = (option::of(name()), option::of(name()));
    (
        files,
        option::of(word()),
        vec(word(), 0..3),
        option::of("[a-z]{1,4}/[a-z]{1,4}"),
    )
        .prop_map(
            |((kubeconfig, tls_directory), class, namespaces, publish_service)| KubernetesRoutes {
                kubeconfig: kubeconfig.map(Into::into),
                class,
                namespaces,
                publish_service,
                tls_directory: tls_directory.map(Into::into),
            },
        )
}

fn store() -> impl Strategy<Value = RouteStore> {
    let place = select(vec![
        (StoreKind::Memory, None),
        (StoreKind::Redis, Some("rediss://u:p@redis.test:6380/1")),
        (StoreKind::Sqlite, Some("sqlite:routes.db")),
        (StoreKind::Postgres, Some("postgres://u:p@db/x?sslmode=require")),
        (StoreKind::Postgres, Some("{env.DATABASE}")),
    ]);
    let loss = option::of(select(vec![DataLoss::Keep, DataLoss::Restore, DataLoss::Accept]));
    let newer = option::of(select(vec![NewerDocuments::Keep, NewerDocuments::Unavailable]));
    let snapshot = option::of(prop_oneof![
        Just(RouteSnapshot::Off),
        name().prop_map(|name| RouteSnapshot::File(format!("{name}.json").into())),
    ]);
    let names = (option::of("[a-z][a-z0-9_]{0,8}"), option::of(name()));
    let settings = (interval(), names, option::of(1_u32..), loss, newer, snapshot);
    (place, settings).prop_map(
        |((kind, url), (sync_interval, (prefix, replica_id), history, data_loss, newer, snapshot))| {
            RouteStore {
                kind,
                url: url.map(|url| StoreUrl::of(kind, url).unwrap()),
                sync_interval,
                prefix,
                history,
                data_loss,
                newer,
                snapshot,
                replica_id,
            }
        },
    )
}
