//! Answers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::state::{Asked, State};
use super::{Shared, TOKEN};

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// What a path is about.
struct Place {
    plural: String,
    namespace: Option<String>,
    name: Option<String>,
    is_status: bool,
}

pub(super) async fn respond(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let query = query(head.uri.query().unwrap_or_default());
    let place = place(head.uri.path());
    shared.state().asked.push(Asked {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: query.clone(),
    });
    shared.changes.send_modify(|number| *number += 1);
    let authorization = head
        .headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    if authorization != Some(&format!("Bearer {TOKEN}")) {
        return Ok(failure(401));
    }
    let bytes = Limited::new(body, 1 << 20).collect().await.unwrap().to_bytes();
    let answer = match (head.method, &place.name) {
        (Method::GET, None) if query.contains_key("watch") => watch(shared, &place, &query),
        (Method::GET, None) => list(shared, &place, &query).await,
        (method, _) => one(&shared, &method, &place, &bytes),
    };
    Ok(answer)
}

async fn list(shared: Arc<Shared>, place: &Place, query: &BTreeMap<String, String>) -> Response<Body> {
    let mut changes = shared.changes.subscribe();
    while shared.state().held.contains(&place.plural) {
        changes.changed().await.unwrap();
    }
    let state = shared.state();
    if let Some(code) = state.fails.get(&place.plural) {
        return failure(*code);
    }
    if state.garbage.contains(&place.plural) {
        return text(StatusCode::OK, "<html>not JSON</html>".to_owned(), false);
    }
    let asked: usize = query
        .get("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(500);
    let limit = if state.page == 0 {
        asked
    } else {
        state.page.min(asked)
    };
    let start: usize = query
        .get("continue")
        .and_then(|start| start.parse().ok())
        .unwrap_or(0);
    let all = state.list(&place.plural, place.namespace.as_deref());
    let end = start.saturating_add(limit).min(all.len());
    let mut meta = json!({ "resourceVersion": state.version().to_string() });
    if end < all.len() {
        meta["continue"] = json!(end.to_string());
    }
    let list =
        json!({ "kind": "List", "apiVersion": "v1", "metadata": meta, "items": &all[start.min(end)..end] });
    text(StatusCode::OK, list.to_string(), state.is_slow)
}

/// Lines from a version on, until the watch is cut or ended.
fn watch(shared: Arc<Shared>, place: &Place, query: &BTreeMap<String, String>) -> Response<Body> {
    let version: u64 = query
        .get("resourceVersion")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let (cuts, seen) = {
        let state = shared.state();
        let fails = state
            .fails
            .get(&place.plural)
            .or_else(|| state.watch_fails.get(&place.plural));
        if let Some(code) = fails {
            return failure(*code);
        }
        if version < state.oldest {
            return failure(410);
        }
        let seen = state
            .lines
            .iter()
            .take_while(|line| line.version <= version)
            .count();
        (state.cuts, seen)
    };
    let (plural, namespace) = (place.plural.clone(), place.namespace.clone());
    let lines = stream::unfold((shared, seen), move |(shared, mut seen)| {
        let (plural, namespace) = (plural.clone(), namespace.clone());
        async move {
            let mut changes = shared.changes.subscribe();
            loop {
                {
                    let state = shared.state();
                    if state.cuts != cuts {
                        let cut = Err(io::Error::from(io::ErrorKind::ConnectionReset));
                        return (state.cuts % 2 == 1).then(|| (cut, (Arc::clone(&shared), seen)));
                    }
                    if let Some(line) = state.lines.get(seen) {
                        seen += 1;
                        let is_its = namespace
                            .as_ref()
                            .is_none_or(|namespace| *namespace == line.namespace);
                        if line.plural == plural && (is_its || line.namespace.is_empty()) {
                            let frame = Frame::data(Bytes::from(line.text.clone()));
                            return Some((Ok(frame), (Arc::clone(&shared), seen)));
                        }
                        continue;
                    }
                }
                changes.changed().await.ok()?;
            }
        }
    });
    Response::new(StreamBody::new(lines).boxed_unsync())
}

fn one(shared: &Shared, method: &Method, place: &Place, bytes: &[u8]) -> Response<Body> {
    let mut state = shared.state();
    let namespace = place.namespace.clone().unwrap_or_default();
    let sent: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let name = place
        .name
        .clone()
        .or_else(|| sent["metadata"]["name"].as_str().map(str::to_owned))
        .unwrap_or_default();
    let there = state.get(&place.plural, &namespace, &name).cloned();
    let written = match (method.as_str(), there) {
        ("GET", Some(object)) => return text(StatusCode::OK, object.to_string(), false),
        ("POST", Some(_)) => return failure(409),
        ("POST", None) => sent,
        (_, None) => return failure(404),
        ("PUT" | "PATCH", Some(mut object)) => {
            if place.is_status && state.no_status {
                return failure(403);
            }
            if place.is_status && state.conflicts > 0 {
                state.conflicts -= 1;
                state.put(&place.plural, object);
                return failure(409);
            }
            if sent["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                return failure(409);
            }
            if place.is_status {
                object["status"] = sent["status"].clone();
                object
            } else {
                sent
            }
        }
        _ => return failure(405),
    };
    put(&mut state, place, &namespace, &name, written);
    let object = state.get(&place.plural, &namespace, &name).unwrap().to_string();
    drop(state);
    shared.changes.send_modify(|number| *number += 1);
    text(StatusCode::OK, object, false)
}

fn put(state: &mut State, place: &Place, namespace: &str, name: &str, mut object: Value) {
    object["metadata"]["namespace"] = json!(namespace);
    object["metadata"]["name"] = json!(name);
    state.put(&place.plural, object);
}

fn text(status: StatusCode, text: String, is_slow: bool) -> Response<Body> {
    let body = if is_slow {
        let bytes: Vec<_> = text.into_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
        let frames = stream::iter(bytes).then(|bytes| async {
            tokio::task::yield_now().await;
            Ok(Frame::data(bytes))
        });
        StreamBody::new(frames).boxed_unsync()
    } else {
        Full::new(Bytes::from(text))
            .map_err(|never| match never {})
            .boxed_unsync()
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert("content-type", "application/json".parse().unwrap());
    response
}

fn failure(code: u16) -> Response<Body> {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code,
    });
    text(StatusCode::from_u16(code).unwrap(), status.to_string(), false)
}

/// `/apis/GROUP/VERSION/[namespaces/NAMESPACE/]PLURAL[/NAME[/status]]`.
fn place(path: &str) -> Place {
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    parts.drain(..if parts[0] == "apis" { 3 } else { 2 });
    let mut namespace = None;
    if parts.len() > 2 && parts[0] == "namespaces" {
        namespace = Some(parts[1].to_owned());
        parts.drain(..2);
    }
    Place {
        plural: parts[0].to_owned(),
        namespace,
        name: parts.get(1).map(|name| (*name).to_owned()),
        is_status: parts.get(2) == Some(&"status"),
    }
}

fn query(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
