//! The routes of the API: what each request gets.

pub(super) mod path;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use serde_json::json;
use tokio::task;
use tracing::{debug, error, info, warn};

use self::path::{Asked, Path};
use super::adapt::{self, Content, Received};
use super::body::{BodyError, Held};
use super::document::{Edit, Pointer};
use super::eskip;
use super::guard::Guard;
use super::hosts;
use super::keeper::{Change, Keeper, Origin, Refused, Source, Target};
use super::reply::Reply;
use super::report;
use crate::clock;

const SOURCE_FILE: HeaderName = HeaderName::from_static("caddy-config-source-file");
const SOURCE_ADAPTER: HeaderName = HeaderName::from_static("caddy-config-source-adapter");

/// Doorway's own: the file that the running configuration must have come from. `doorway reload` asks for it where it only
/// guesses that the proxy of its file is there.
const IF_SOURCE: HeaderName = HeaderName::from_static("doorway-if-source");

/// The one value of `Cache-Control` that says something here, and only if it stands alone, as in Caddy.
const FORCE: &str = "must-revalidate";

/// Characters of an error that are logged.
const LOGGED: usize = 2048;

/// Answers one request.
pub(super) async fn answer(
    keeper: &Arc<Keeper>,
    guard: &Guard,
    peer: Option<SocketAddr>,
    request: Request<Incoming>,
) -> Response<Bytes> {
    let (head, body) = request.into_parts();
    log_request(&head, peer);
    let (reply, more) = match guarded(guard, &head) {
        Ok(more) => (route(keeper, &head, peer, body).await, more),
        Err(reply) => (*reply, HeaderMap::new()),
    };
    if let Some(error) = &reply.error {
        log_error(reply.status, error);
    }
    if let Some(path) = path::counted(&head.uri) {
        let method = method_label(&head.method);
        let code = reply.status.as_u16();
        keeper.engine().asked(code, method, path, reply.error.is_some());
    }
    reply.into_response(more)
}

/// A method as metrics name it: strangers invent no names there.
fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];
    KNOWN.into_iter().find(|known| method == known).unwrap_or("OTHER")
}

/// Checks the head; fields for any answer.
fn guarded(guard: &Guard, head: &Parts) -> Result<HeaderMap, Box<Reply>> {
    let hosts = head.headers.get_all(header::HOST).iter().count();
    if hosts > 1 {
        return Err(Box::new(Reply::bad_request(": too many Host headers")));
    }
    if hosts == 0 && head.version == Version::HTTP_11 && head.uri.authority().is_none() {
        return Err(Box::new(Reply::bad_request(": missing required Host header")));
    }
    if head.method == Method::OPTIONS && head.uri.path() == "*" {
        return Err(Box::new(Reply::done()));
    }
    guard
        .check(head)
        .map_err(|refusal| Box::new(Reply::error(refusal.status(), &refusal.to_string())))
}

async fn route(keeper: &Arc<Keeper>, head: &Parts, peer: Option<SocketAddr>, body: Incoming) -> Reply {
    let path = match Path::of(&head.uri) {
        Ok(path) => path,
        Err(Asked::Elsewhere(location)) => return Reply::elsewhere(&location, head.method == Method::GET),
        Err(Asked::Nonsense) => return Reply::bad_request(""),
    };
    let sources = keeper.engine().sources();
    if !matches!(path, Path::Hosts(_) | Path::Metrics)
        && let Some(refused) = hosts::stranger(sources.as_ref(), peer)
    {
        return refused;
    }
    match path {
        Path::Config(text) => config(keeper, head, Target::At(Pointer::parse(&text)), body).await,
        Path::Id(None) => Reply::error(StatusCode::BAD_REQUEST, "request path is missing object ID"),
        Path::Id(Some((id, rest))) => config(keeper, head, Target::Id { id, rest }, body).await,
        Path::Load => match head.method {
            Method::POST => load(keeper, head, body).await.unwrap_or_else(|refused| *refused),
            _ => not_allowed(),
        },
        Path::Adapt => match head.method {
            Method::POST => adapt(keeper, head, body).await.unwrap_or_else(|refused| *refused),
            _ => not_allowed(),
        },
        Path::Stop => match head.method {
            Method::POST => {
                warn!("asked to stop by the admin API");
                keeper.stop();
                Reply::done()
            }
            _ => not_allowed(),
        },
        Path::Upstreams => match head.method {
            Method::GET => report::upstreams(&keeper.engine().upstreams()),
            _ => not_allowed(),
        },
        Path::Pods => match head.method {
            Method::GET => report::pods(&keeper.engine().pods(), clock::wall()),
            _ => not_allowed(),
        },
        Path::Geo => match head.method {
            Method::GET => report::geo(&keeper.engine().geo()),
            _ => not_allowed(),
        },
        Path::Eskip => match head.method {
            Method::GET | Method::HEAD => eskip::routes(&keeper.engine().routes(), &head.uri, &head.headers),
            _ => not_allowed(),
        },
        Path::Hosts(path) => {
            let ask = hosts::Ask {
                head,
                path: &path,
                peer,
                room: &keeper.room,
                stop: keeper.stopping(),
            };
            hosts::answer(sources.as_ref(), ask, body).await
        }
        Path::Metrics => {
            let accept = head.headers.get(header::ACCEPT);
            let (kind, text) = keeper
                .engine()
                .metrics(accept.and_then(|accept| accept.to_str().ok()));
            Reply::of_type(HeaderValue::from_static(kind), text)
        }
        Path::Pki(path) => match head.method {
            Method::GET => report::pki(&path, || keeper.engine().authority()),
            ref other => {
                let error = format!("method not allowed: {other}");
                Reply::error(StatusCode::METHOD_NOT_ALLOWED, &error)
            }
        },
        Path::Unknown => Reply::not_found(),
    }
}

/// `/config/...` and `/id/...`.
async fn config(keeper: &Arc<Keeper>, head: &Parts, target: Target, body: Incoming) -> Reply {
    let edit = match head.method {
        Method::GET => return show(keeper, target),
        Method::POST => Edit::Post,
        Method::PUT => Edit::Put,
        Method::PATCH => Edit::Patch,
        Method::DELETE => Edit::Delete,
        ref other => {
            let error = format!("method {other} not allowed");
            return Reply::error(StatusCode::METHOD_NOT_ALLOWED, &error);
        }
    };
    match change(keeper, head, edit, target, body).await {
        Ok(()) => Reply::done(),
        Err(reply) => *reply,
    }
}

fn show(keeper: &Keeper, target: Target) -> Reply {
    let document = keeper.document();
    let shown = Keeper::locate(&document, target).and_then(|place| Ok(document.show(&place)?));
    match shown {
        Ok(shown) => Reply::json(shown.body).with_text(header::ETAG, &shown.etag),
        Err(refused) => Reply::error(refused.status(), &refused.to_string()),
    }
}

async fn change(
    keeper: &Arc<Keeper>,
    head: &Parts,
    edit: Edit,
    place: Target,
    body: Incoming,
) -> Result<(), Box<Reply>> {
    let mut held = None;
    if edit != Edit::Delete {
        let content_type = text(&head.headers, &header::CONTENT_TYPE);
        if !content_type.contains("/json") {
            let error = format!("unacceptable content-type: {content_type}; 'application/json' required");
            return Err(bad(&error));
        }
        held = Some(keeper.room.read(body).await.map_err(|error| of_body(&error))?);
    }
    let bytes = held.as_ref().map(|held| held.bytes.clone()).unwrap_or_default();
    let is_root = matches!(&place, Target::At(place) if place.is_root());
    if is_root && is_nothing(&bytes) && edit != Edit::Delete {
        return Err(bad(EMPTY));
    }
    let change = Change {
        edit,
        place,
        content: Content::Json(bytes),
        if_match: head
            .headers
            .contains_key(header::IF_MATCH)
            .then(|| text(&head.headers, &header::IF_MATCH))
            .filter(|field| !field.is_empty()),
        force: must_revalidate(&head.headers),
        if_source: None,
        origin: Origin::Api(source(&head.headers)),
    };
    keeper
        .change(change)
        .await
        .map(drop)
        .map_err(|refused| of_refused(&refused, ""))
}

/// `POST /load`: the whole configuration anew.
async fn load(keeper: &Arc<Keeper>, head: &Parts, body: Incoming) -> Result<Reply, Box<Reply>> {
    let held = keeper.room.read(body).await.map_err(|error| of_body(&error))?;
    let loaded = load_held(Arc::clone(keeper), head.headers.clone(), held);
    let fault = |refused: Refused| of_refused(&refused, "loading config: ");
    keeper
        .detached("load by a request", loaded)
        .await
        .map_err(fault)?
}

async fn load_held(keeper: Arc<Keeper>, headers: HeaderMap, held: Held) -> Result<Reply, Box<Reply>> {
    let received = read(&keeper, &headers, &held).await?;
    if matches!(&received.content, Content::Json(text) if is_nothing(text)) {
        return Err(bad(EMPTY));
    }
    let change = Change {
        edit: Edit::Post,
        place: Target::At(Pointer::parse("/config/")),
        content: received.content,
        if_match: None,
        force: must_revalidate(&headers),
        if_source: Some(text(&headers, &IF_SOURCE)).filter(|file| !file.is_empty()),
        origin: Origin::Api(source(&headers)),
    };
    let changed = keeper.change(change).await;
    changed.map_err(|refused| of_refused(&refused, "loading config: "))?;
    info!("load complete");
    Ok(if received.warnings.is_null() {
        Reply::done()
    } else {
        Reply::untyped(&json!({ "warnings": received.warnings }))
    })
}

/// `POST /adapt`: a configuration as JSON, which is not loaded.
async fn adapt(keeper: &Keeper, head: &Parts, body: Incoming) -> Result<Reply, Box<Reply>> {
    let held = keeper.room.read(body).await.map_err(|error| of_body(&error))?;
    let received = read(keeper, &head.headers, &held).await?;
    let result = adapt::result(&received);
    result.map(Reply::json).map_err(|error| bad(&error.to_string()))
}

/// What a body says. A large one takes a while, and everybody else is served by this thread.
async fn read(keeper: &Keeper, headers: &HeaderMap, held: &Held) -> Result<Received, Box<Reply>> {
    let content_type = text(headers, &header::CONTENT_TYPE);
    let (bytes, surroundings) = (held.bytes.clone(), keeper.surroundings());
    let work = task::spawn_blocking(move || adapt::read(&content_type, &bytes, &*surroundings));
    match work.await {
        Ok(read) => read.map_err(|error| bad(&error.to_string())),
        Err(_) => {
            let (status, text) = (Refused::Fault.status(), Refused::Fault.to_string());
            Err(Box::new(Reply::error(status, &text)))
        }
    }
}

// === helpers ===

/// What a body of nothing is answered with, where Caddy takes it for a configuration of nothing and stops every site.
const EMPTY: &str = "the request body is empty or `null`, which is no configuration; send one, or DELETE /config/ to run nothing";

/// Whether a body holds no configuration: `{}` is one.
fn is_nothing(body: &[u8]) -> bool {
    matches!(body.trim_ascii(), b"" | b"null")
}

fn not_allowed() -> Reply {
    Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed")
}

fn bad(error: &str) -> Box<Reply> {
    Box::new(Reply::error(StatusCode::BAD_REQUEST, error))
}

fn of_body(error: &BodyError) -> Box<Reply> {
    // What is left of the body is not read.
    let close = HeaderValue::from_static("close");
    let reply = Reply::error(StatusCode::BAD_REQUEST, &error.to_string());
    Box::new(reply.with(header::CONNECTION, close))
}

fn of_refused(refused: &Refused, before: &str) -> Box<Reply> {
    Box::new(Reply::error(refused.status(), &format!("{before}{refused}")))
}

fn must_revalidate(fields: &HeaderMap) -> bool {
    text(fields, &header::CACHE_CONTROL) == FORCE
}

/// The file that a request says it sends.
fn source(fields: &HeaderMap) -> Option<Source> {
    let file = text(fields, &SOURCE_FILE);
    let adapter = text(fields, &SOURCE_ADAPTER);
    (!file.is_empty()).then_some(Source { file, adapter })
}

/// The first value of a field, empty if there is none or it is no text.
fn text(fields: &HeaderMap, name: &HeaderName) -> String {
    let value = fields.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

/// Bodies and other fields are not logged: they hold secrets.
fn log_request(head: &Parts, peer: Option<SocketAddr>) {
    let (method, uri) = (&head.method, &head.uri);
    let host = text(&head.headers, &header::HOST);
    let remote = peer.map(|peer| peer.to_string()).unwrap_or_default();
    if uri.path() == "/metrics" {
        debug!(%method, host, %uri, remote, "received request");
    } else {
        info!(%method, host, %uri, remote, "received request");
    }
}

fn log_error(status: StatusCode, error: &str) {
    let error: String = error.chars().take(LOGGED).collect();
    let status = status.as_u16();
    if status < 500 {
        warn!(status, error, "request error");
    } else {
        error!(status, error, "request error");
    }
}
