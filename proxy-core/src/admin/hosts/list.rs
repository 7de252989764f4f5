//! The hosts that requests are answered for, page by page.

use futures_util::stream::{self, StreamExt as _};
use http::Uri;
use route_sources::Kind;
use route_store::{Routes, Store, StoreError, StoredRoute, document};
use serde_json::{Map, Value, json};

use super::query::Query;
use super::read::store;
use super::{Refused, error};
use crate::admin::reply::Reply;
use crate::control::{HostState, ServedHost, SourcesApi};

/// Hosts of a page, unless it is said.
const PAGE: usize = 100;

/// The most hosts of a page.
const MOST: usize = 1000;

/// Documents that the store is asked for at once.
const AT_ONCE: usize = 16;

/// What the store has for a host; `None` if it was not asked, or has nothing.
type Stored = Option<StoredRoute>;

/// `GET /routes?after=HOST&limit=N`.
pub(super) async fn hosts(api: &SourcesApi, uri: &Uri) -> Result<Reply, Refused> {
    let query = Query::of(uri, &["after", "limit"])?;
    let limit = query.count("limit", PAGE, MOST)?;
    let after = query.get("after").filter(|after| !after.is_empty());
    // One more than is shown says whether there are more.
    let mut page = api.view.hosts(after, limit + 1).await;
    let more = page.len() > limit;
    page.truncate(limit);
    let (stored, failed) = stored(api.store.as_deref(), &page).await;
    let hosts: Vec<Value> = page
        .iter()
        .zip(&stored)
        .map(|(host, stored)| shown(host, stored.as_ref()))
        .collect();
    let next = page.last().filter(|_| more).map(|last| last.host.as_str());
    let mut answer = json!({ "hosts": hosts, "next": next });
    if let (Some(answer), Some(failed)) = (answer.as_object_mut(), failed) {
        answer.insert("store_error".to_owned(), failed.to_string().into());
    }
    Ok(Reply::value(&answer))
}

/// `GET /routes/documents?after=HOST&limit=N`: all that the store has, also what is not served.
pub(super) async fn documents(api: &SourcesApi, uri: &Uri) -> Result<Reply, Refused> {
    let query = Query::of(uri, &["after", "limit"])?;
    let limit = query.count("limit", PAGE, MOST)?;
    let after = query.get("after").unwrap_or_default();
    let asked = store(api)?.routes().await;
    let Routes { revision, routes } = asked.map_err(|failed| error::of_store(&failed))?;
    let behind = routes.partition_point(|route| route.host.as_str() <= after);
    let rest = routes.get(behind..).unwrap_or_default();
    let page = rest.get(..limit).unwrap_or(rest);
    let one = |route: &StoredRoute| {
        json!({
            "host": route.host,
            "version": route.version,
            "revision": route.revision,
            "schema_version": route.schema_version,
            "text": route.document,
        })
    };
    let next = page
        .last()
        .filter(|_| rest.len() > limit)
        .map(|last| last.host.as_str());
    Ok(Reply::value(&json!({
        "revision": revision,
        "documents": page.iter().map(one).collect::<Vec<_>>(),
        "next": next,
    })))
}

/// What the store has for those hosts that come from it. A failure leaves versions out, no hosts.
async fn stored(store: Option<&dyn Store>, page: &[ServedHost]) -> (Vec<Stored>, Option<StoreError>) {
    let Some(store) = store else {
        return (page.iter().map(|_| None).collect(), None);
    };
    let ask = |host: &ServedHost| {
        let of_store = host.source == Kind::Store;
        let name = host.alias_of.as_ref().unwrap_or(&host.host).clone();
        async move {
            match of_store {
                true => store.route(name.as_str()).await,
                false => Ok(None),
            }
        }
    };
    let asked: Vec<_> = page.iter().map(ask).collect();
    let mut answers = stream::iter(asked).buffered(AT_ONCE);
    let (mut all, mut failed) = (Vec::with_capacity(page.len()), None);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(route) => all.push(route),
            // The others would fail in the same way, each after a while.
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    all.resize(page.len(), None);
    (all, failed)
}

fn shown(host: &ServedHost, stored: Option<&StoredRoute>) -> Value {
    let (state, reason) = match &host.state {
        HostState::Served => ("served", None),
        HostState::Configured => ("configured", None),
        HostState::Unavailable(reason) => ("unavailable", Some(reason)),
        HostState::Kept(reason) => ("kept", Some(reason)),
    };
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
    put("host", host.host.as_str().into());
    if let Some(document) = &host.alias_of {
        put("alias_of", document.as_str().into());
    }
    put("source", host.source.as_str().into());
    put("state", state.into());
    if let Some(reason) = reason {
        put("reason", reason.as_str().into());
    }
    if let Some(route) = stored {
        put("version", route.version.into());
        put("revision", route.revision.into());
        put("schema_version", route.schema_version.into());
        if let Err(error) = document::read(&route.document) {
            put("unreadable", error.to_string().into());
        }
    }
    Value::Object(shown)
}
