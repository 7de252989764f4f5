//! The store that replicas share.

use super::{checked, choice, interval};
use crate::{
    check::route_sources as check,
    json::{
        decode::{Cx, Object},
        reader::Node,
        scalar::count,
        tls::path,
    },
    model::{DataLoss, NewerDocuments, RouteSnapshot, RouteStore, StoreKind, StoreUrl},
};

pub(super) fn store<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<RouteStore> {
    let mut object = Object::open(node, cx)?;
    let kind = object.require("type", cx, |node, cx| choice(node, &StoreKind::WORDS, cx));
    let url = match kind {
        None => {
            object.node("url");
            None
        }
        Some(StoreKind::Memory) => {
            object.refuse("url", StoreKind::Memory.example(), cx);
            None
        }
        Some(kind) => object.require("url", cx, |node, cx| url(kind, node, cx)),
    };
    let sync_interval = object.get("sync_interval", cx, interval);
    let prefix = object.get("prefix", cx, |node, cx| checked(node, check::store_prefix, cx));
    let history = object.get("history", cx, count);
    let data_loss = object.get("data_loss", cx, |node, cx| choice(node, &DataLoss::WORDS, cx));
    let newer = object.get("newer", cx, |node, cx| choice(node, &NewerDocuments::WORDS, cx));
    let snapshot = object.get("snapshot", cx, |node, cx| {
        path(node, cx)?;
        cx.string(node).map(|text| RouteSnapshot::named(&text))
    });
    let replica_id = object.get("replica_id", cx, |node, cx| checked(node, check::replica_id, cx));
    object.finish(cx);
    Some(RouteStore {
        kind: kind?,
        url,
        sync_interval,
        prefix,
        history,
        data_loss,
        newer,
        snapshot,
        replica_id,
    })
}

/// Where the store is. Nothing of it may be shown.
fn url<'n>(kind: StoreKind, node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<StoreUrl> {
    let text = cx.string(node)?;
    StoreUrl::of(kind, &text)
        .map_err(|error| cx.error(node.span, error.to_string(), kind.example().to_owned()))
        .ok()
}
