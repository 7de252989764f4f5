//! How the sources, the store and the replicas are; and what an operator decides about that.

use http::StatusCode;
use route_store::{HostName, Replica, Revision};
use serde_json::{Value, json};

use super::read::store;
use super::{Refused, error};
use crate::admin::reply::Reply;
use crate::control::SourcesApi;

/// `GET /routes/status`. It answers while the store is away, too, and says so.
pub(super) async fn status(api: &SourcesApi) -> Result<Reply, Refused> {
    let mut status = api.view.status().await;
    if !status.is_object() {
        status = json!({});
    }
    status["store"] = match &api.store {
        None => Value::Null,
        Some(store) => {
            let asked = store.revision().await;
            json!({
                "kind": store.kind(),
                "revision": asked.as_ref().ok(),
                "error": asked.as_ref().err().map(ToString::to_string),
            })
        }
    };
    Ok(Reply::value(&status))
}

/// `GET /replicas`: who shares the store, and who has applied what it has now.
pub(super) async fn replicas(api: &SourcesApi) -> Result<Reply, Refused> {
    let store = store(api)?;
    let (revision, replicas) = futures_util::try_join!(store.revision(), store.replicas())
        .map_err(|failed| error::of_store(&failed))?;
    let all: Vec<Value> = replicas.iter().map(|replica| shown(replica, revision)).collect();
    Ok(Reply::value(&json!({ "revision": revision, "replicas": all })))
}

fn shown(replica: &Replica, revision: Revision) -> Value {
    let mut shown = json!(replica);
    shown["current"] = (replica.revision == revision).into();
    shown
}

/// `POST /routes/forget/HOST`: a route whose container is gone goes, too.
pub(super) fn forget(api: &SourcesApi, host: &HostName) -> Result<Reply, Refused> {
    if api.view.forget(host) {
        return Ok(Reply::value(&json!({ "host": host.as_str(), "forgotten": true })));
    }
    let error = format!("no route of a container that is gone is remembered for {host}");
    Err(Box::new(Reply::error(StatusCode::NOT_FOUND, &error)))
}

/// `POST /routes/accept-loss`: what the store has now is what is meant.
pub(super) fn accept_loss(api: &SourcesApi) -> Result<Reply, Refused> {
    store(api)?;
    if api.view.accept_loss() {
        return Ok(Reply::value(&json!({ "accepted": true })));
    }
    let error = "nothing is served that the store has lost";
    Err(Box::new(Reply::error(StatusCode::CONFLICT, error)))
}
