//! `store KIND [URL] { ... }`: the store that replicas share.

use super::{checked, choice, interval, word};
use crate::{
    adapt::{
        cx::Cx,
        values::{Once, block, count, path},
    },
    caddyfile::{parser::Line, token::Token},
    check::route_sources as check,
    model::{DataLoss, NewerDocuments, RouteSnapshot, RouteStore, StoreKind, StoreUrl},
};

const OPTIONS: [&str; 7] = [
    "data_loss",
    "history",
    "newer",
    "prefix",
    "replica_id",
    "snapshot",
    "sync_interval",
];

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<RouteStore> {
    let (kind, rest) = line.args.split_first().or_else(|| {
        let help = "write `store redis URL`, `store sqlite URL`, `store postgres URL` or `store memory`";
        cx.error(line.name.span, "`store` needs a kind", help.to_owned());
        None
    })?;
    rest.iter().for_each(|arg| cx.mask(arg));
    let kind_token = kind;
    let kind = word(kind, &StoreKind::WORDS, cx);
    let url = kind.and_then(|kind| url(kind, kind_token, rest, cx));
    let mut store = RouteStore {
        kind: kind.unwrap_or(StoreKind::Memory),
        url,
        sync_interval: None,
        prefix: None,
        history: None,
        data_loss: None,
        newer: None,
        snapshot: None,
        replica_id: None,
    };
    let mut once = Once::default();
    for inner in block(line) {
        option(inner, &mut store, cx);
        once.note(&inner.name, cx);
    }
    kind.map(|_| store)
}

fn option(line: &Line, store: &mut RouteStore, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "sync_interval" => store.sync_interval = interval(line, cx),
        "prefix" => {
            let prefix = cx.one(line, "a word, such as doorway");
            store.prefix = prefix.and_then(|arg| checked(arg, check::store_prefix, cx));
        }
        "history" => store.history = count(line, cx),
        "data_loss" => {
            store.data_loss = choice(line, "`keep`, `restore` or `accept`", &DataLoss::WORDS, cx);
        }
        "newer" => store.newer = choice(line, "`keep` or `unavailable`", &NewerDocuments::WORDS, cx),
        "snapshot" => {
            let file = cx.one(line, "a file, or `off`").and_then(|arg| path(arg, cx));
            store.snapshot = file.map(|file| RouteSnapshot::named(&file));
        }
        "replica_id" => {
            let id = cx.one(line, "a name");
            store.replica_id = id.and_then(|arg| checked(arg, check::replica_id, cx));
        }
        _ => cx.unknown(&line.name, "option", &OPTIONS),
    }
}

/// Where the store is. Nothing of it is shown: it may have a password.
fn url(kind: StoreKind, name: &Token, args: &[Token], cx: &mut Cx<'_>) -> Option<StoreUrl> {
    let help = || kind.example().to_owned();
    let url = match (kind, args) {
        (StoreKind::Memory, []) => return None,
        (StoreKind::Memory, [surplus, ..]) => {
            cx.error(surplus.span, "the memory of the process has no URL", help());
            return None;
        }
        (_, []) => {
            let span = cx.variable_behind(name.span).unwrap_or(name.span);
            cx.error(span, format!("`{kind}` needs a URL"), help());
            return None;
        }
        (_, [url, surplus @ ..]) => {
            if let Some(surplus) = surplus.first() {
                cx.error(surplus.span, "unexpected argument", None);
            }
            url
        }
    };
    StoreUrl::of(kind, &url.text)
        .map_err(|error| cx.error(url.span, error.to_string(), help()))
        .ok()
}
