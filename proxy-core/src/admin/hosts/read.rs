//! What the store has of one host: its document, and how that came to be.

use http::header::{self, HeaderMap, HeaderName};
use http::{StatusCode, Uri};
use route_store::{Change, ChangeKind, HostName, Store};
use serde_json::{Value, json};

use super::condition::{etag, is_known};
use super::query::Query;
use super::{Refused, error};
use crate::admin::reply::Reply;
use crate::control::SourcesApi;

/// The number of the revision that made a version the one that counts.
const REVISION: HeaderName = HeaderName::from_static("doorway-revision");

/// `GET /routes/HOST`: the document as it was written.
pub(super) async fn one(api: &SourcesApi, fields: &HeaderMap, host: &HostName) -> Result<Reply, Refused> {
    let store = store(api)?;
    let found = store
        .route(host.as_str())
        .await
        .map_err(|failed| error::of_store(&failed))?;
    let route = found.ok_or_else(|| error::unknown(host))?;
    let reply = if is_known(fields, route.version) {
        Reply {
            status: StatusCode::NOT_MODIFIED,
            ..Reply::done()
        }
    } else {
        Reply::json(route.document)
    };
    Ok(reply
        .with_text(header::ETAG, &etag(route.version))
        .with_text(REVISION, &route.revision.to_string()))
}

/// `GET /routes/HOST/history?documents`: the changes of a host, latest first.
pub(super) async fn history(api: &SourcesApi, uri: &Uri, host: &HostName) -> Result<Reply, Refused> {
    let query = Query::of(uri, &["documents"])?;
    let with_documents = query.switch("documents")?;
    let changes = changes(api, host).await?;
    let all: Vec<Value> = changes
        .iter()
        .map(|change| shown(change, with_documents))
        .collect();
    Ok(Reply::value(&json!({ "host": host.as_str(), "changes": all })))
}

/// `GET /routes/HOST/history/VERSION`: the document of a version.
pub(super) async fn version(api: &SourcesApi, host: &HostName, version: u64) -> Result<Reply, Refused> {
    let document = document_of(&changes(api, host).await?, host, version)?;
    Ok(Reply::json(document).with_text(header::ETAG, &etag(version)))
}

/// What was written as a version, if it is kept.
pub(super) fn document_of(changes: &[Change], host: &HostName, version: u64) -> Result<String, Refused> {
    let document = changes.iter().find_map(|change| match &change.kind {
        ChangeKind::Put { document, .. } if change.revision == version => document.clone(),
        _ => None,
    });
    document.ok_or_else(|| {
        let error = format!("version {version} of {host} is not kept");
        Box::new(Reply::error(StatusCode::NOT_FOUND, &error))
    })
}

/// The changes of a host; there are some.
pub(super) async fn changes(api: &SourcesApi, host: &HostName) -> Result<Vec<Change>, Refused> {
    let found = store(api)?.history(host.as_str()).await;
    let changes = found.map_err(|failed| error::of_store(&failed))?;
    if changes.is_empty() {
        return Err(error::unknown(host));
    }
    Ok(changes)
}

/// The store, if there is one.
pub(super) fn store(api: &SourcesApi) -> Result<&dyn Store, Refused> {
    api.store.as_deref().ok_or_else(error::no_store)
}

fn shown(change: &Change, with_document: bool) -> Value {
    let (kind, more) = match &change.kind {
        ChangeKind::Put {
            schema_version,
            document,
        } => {
            let mut more = json!({ "schema_version": schema_version, "kept": document.is_some() });
            if let (true, Some(document)) = (with_document, document) {
                // What is no JSON is told as the text that it is.
                let parsed = serde_json::from_str(document);
                more["document"] = parsed.unwrap_or_else(|_| document.as_str().into());
            }
            ("put", more)
        }
        ChangeKind::Delete => ("delete", json!({})),
        ChangeKind::Rollback { version } => ("rollback", json!({ "version": version })),
    };
    let mut shown = json!({
        "revision": change.revision,
        "kind": kind,
        "author": change.author,
        "at": change.at,
    });
    if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
        shown.extend(more);
    }
    shown
}
