//! Changes of the store's documents.

use bytes::Bytes;
use http::{Uri, header};
use route_store::document::{self, ReadError};
use route_store::{Document, HostDocument, HostName, Problem, Problems, Revision, SCHEMA_VERSION, Terms};
use serde::Deserialize;
use serde_json::{Value, json};

use super::access::Caller;
use super::condition::{etag, expected};
use super::query::{Query, wrong};
use super::read::{changes, document_of, store};
use super::wait::{self, Wait};
use super::{Ask, Refused, error};
use crate::admin::reply::Reply;
use crate::control::SourcesApi;

/// What is sent to roll a host back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    version: u64,
}

/// The version that a document says it is written in.
#[derive(Deserialize)]
struct Written {
    #[serde(default = "newest")]
    schema_version: u32,
}

/// A document that may be written: its text, and what it says.
struct Fit<'t> {
    text: &'t str,
    document: HostDocument,
}

/// `POST /routes/validate`: whether a document may be written; it is not.
pub(super) async fn validate(api: &SourcesApi, body: &Bytes) -> Result<Reply, Refused> {
    let fit = fit(api, body).await?;
    let newest: Value = serde_json::from_str(&fit.document.to_json()).unwrap_or_default();
    Ok(Reply::value(&json!({
        "valid": true,
        "host": fit.document.host().as_str(),
        "document": newest,
    })))
}

/// `PUT /routes/HOST?wait=DURATION`.
pub(super) async fn put(
    api: &SourcesApi,
    ask: &Ask<'_>,
    caller: &Caller,
    host: &HostName,
    body: &Bytes,
) -> Result<Reply, Refused> {
    let wait = wait_of(&ask.head.uri)?;
    let store = store(api)?;
    let fit = fit(api, body).await?;
    if fit.document.host() != host {
        let message = format!(
            "the document is about {}, and the path about {host}",
            fit.document.host()
        );
        return Err(error::of_problems(&Problems::one(Problem::new("host", message))));
    }
    let terms = Terms {
        author: &caller.author,
        expected: expected(store, host, &ask.head.headers).await?,
    };
    let written = Document {
        schema_version: serde_json::from_str::<Written>(fit.text)
            .map_or(SCHEMA_VERSION, |written| written.schema_version),
        text: fit.text,
    };
    let put = store.put(host.as_str(), written, terms).await;
    let revision = put.map_err(|failed| error::of_store(&failed))?;
    let answer = json!({ "host": host.as_str(), "version": revision.number, "revision": revision });
    let reply = done(api, ask, wait, revision, answer).await;
    Ok(reply.with_text(header::ETAG, &etag(revision.number)))
}

/// `DELETE /routes/HOST?wait=DURATION`.
pub(super) async fn delete(
    api: &SourcesApi,
    ask: &Ask<'_>,
    caller: &Caller,
    host: &HostName,
) -> Result<Reply, Refused> {
    let wait = wait_of(&ask.head.uri)?;
    let store = store(api)?;
    let terms = Terms {
        author: &caller.author,
        expected: expected(store, host, &ask.head.headers).await?,
    };
    let found = store
        .route(host.as_str())
        .await
        .map_err(|failed| error::of_store(&failed))?;
    if found.is_none() && terms.expected == route_store::Expected::Any {
        return Err(error::unknown(host));
    }
    let deleted = store.delete(host.as_str(), terms).await;
    let revision = deleted.map_err(|failed| error::of_store(&failed))?;
    let answer = json!({ "host": host.as_str(), "revision": revision });
    Ok(done(api, ask, wait, revision, answer).await)
}

/// `POST /routes/HOST/rollback?wait=DURATION` of `{"version": 7}`. What could not be written now is not brought back either.
pub(super) async fn rollback(
    api: &SourcesApi,
    ask: &Ask<'_>,
    caller: &Caller,
    host: &HostName,
    body: &Bytes,
) -> Result<Reply, Refused> {
    let wait = wait_of(&ask.head.uri)?;
    let Wanted { version } = serde_json::from_slice(body)
        .map_err(|_| wrong("expected the version to go back to, such as {\"version\": 7}"))?;
    let store = store(api)?;
    let text = document_of(&changes(api, host).await?, host, version)?;
    fit(api, &Bytes::from(text)).await?;
    let terms = Terms {
        author: &caller.author,
        expected: expected(store, host, &ask.head.headers).await?,
    };
    let rolled = store.rollback(host.as_str(), version, terms).await;
    let revision = rolled.map_err(|failed| error::of_store(&failed))?;
    let answer = json!({ "host": host.as_str(), "version": version, "revision": revision });
    let reply = done(api, ask, wait, revision, answer).await;
    Ok(reply.with_text(header::ETAG, &etag(version)))
}

/// Checks what is to be written, by itself and as what this proxy is to serve.
async fn fit<'t>(api: &SourcesApi, body: &'t Bytes) -> Result<Fit<'t>, Refused> {
    let text = std::str::from_utf8(body).map_err(|_| {
        error::invalid(&ReadError::Json {
            line: 1,
            column: 1,
            message: "this is no text in UTF-8".to_owned(),
        })
    })?;
    let document = document::read(text).map_err(|failed| error::invalid(&failed))?;
    api.view
        .check(&document)
        .await
        .map_err(|problems| error::of_problems(&problems))?;
    Ok(Fit { text, document })
}

/// How long to wait for replicas.
fn wait_of(uri: &Uri) -> Result<Option<Wait>, Refused> {
    let query = Query::of(uri, &["wait"])?;
    query.get("wait").map(Wait::parse).transpose()
}

/// Something was written: this replica is to look at once, and the answer may wait for the others.
async fn done(
    api: &SourcesApi,
    ask: &Ask<'_>,
    wait: Option<Wait>,
    revision: Revision,
    answer: Value,
) -> Reply {
    api.view.sync();
    match wait {
        None => Reply::value(&answer),
        Some(wait) => wait::applied(api, wait, revision, answer, ask.stop).await,
    }
}

fn newest() -> u32 {
    SCHEMA_VERSION
}
