//! How a pod answers each kind of request.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, SET_COOKIE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::json;

use super::ID_COOKIE;
use super::state::{Shared, Step};
use super::streams::{KILL, Open, PodBody, Reports};

/// The hook that counts a click.
pub(crate) const CLICK: &str = "1";
/// The hook of an in-app link.
pub(crate) const LINK: &str = "2";

/// The script of every page; its hash is the same on all pods.
const SCRIPT: &str = "console.log('doors')";
const SCRIPT_NAME: &str = "7Yx2.doors.js";
const MAX_HOOK_BODY: usize = 64 << 20;

/// Answers a request and keeps both cookies alive, whatever the answer is.
pub(super) async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<PodBody>, Infallible> {
    let target = request
        .uri()
        .path_and_query()
        .map_or_else(|| request.uri().to_string(), ToString::to_string);
    let headers = request.headers().clone();
    let cookies = headers
        .get_all(COOKIE)
        .iter()
        .map(|line| String::from_utf8_lossy(line.as_bytes()));
    let session = shared.session(&cookies.collect::<Vec<_>>().join("; "));
    shared.change(|state| state.seen.push(target.clone()));

    let mut response = dispatch(&shared, &session, &target, request).await;
    for cookie in cookies_of(&shared, &session) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn dispatch(
    shared: &Arc<Shared>,
    session: &str,
    target: &str,
    request: Request<Incoming>,
) -> Response<PodBody> {
    let path = target.split('?').next().unwrap_or_default();
    let Some(rest) = path.strip_prefix("/~/") else {
        return page(shared, session, request.method());
    };
    let mut segments = rest.splitn(4, '/').skip(1);
    let (kind, name, rest) = (
        segments.next(),
        segments.next(),
        segments.next().unwrap_or_default(),
    );
    let (Some(kind), Some(name)) = (kind, name) else {
        return bare(StatusCode::NOT_FOUND);
    };
    if kind == "r" {
        return resource(name, request.method());
    }
    if !shared.change(|state| state.connect(session, name)) {
        return gone(shared);
    }
    match (kind, request.method()) {
        ("s", &Method::GET) => sync(shared, name).await,
        ("s", &Method::POST) => report(shared, name, request).await,
        ("s", _) => bare(StatusCode::METHOD_NOT_ALLOWED),
        ("h", _) => hook(shared, name, rest, request).await,
        ("u", &Method::GET) => undo(shared, name),
        _ => bare(StatusCode::NOT_FOUND),
    }
}

fn page(shared: &Shared, session: &str, method: &Method) -> Response<PodBody> {
    if method != Method::GET {
        return bare(StatusCode::NOT_FOUND);
    }
    let instance = shared.change(|state| state.open_instance(session));
    let token = shared.token();
    let html = format!(
        "<!doctype html><script src=\"/~/{token}/r/{SCRIPT_NAME}\" data-prefix=\"/~/{token}\" \
         data-instance=\"{instance}\"></script>"
    );
    let mut response = whole(html);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn resource(name: &str, method: &Method) -> Response<PodBody> {
    if name != SCRIPT_NAME || method != Method::GET {
        return bare(StatusCode::NOT_FOUND);
    }
    let mut response = whole(SCRIPT);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/javascript"));
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, forever);
    response
}

/// Says nothing at all, not even a head, until the first step is taken.
async fn sync(shared: &Arc<Shared>, instance: &str) -> Response<PodBody> {
    let open = Open::new(shared, "sync");
    let mut steps = shared.change(|state| state.open_sync(instance));
    let mut response = match steps.recv().await {
        Some(Step::Last(end)) => {
            open.done();
            whole(end)
        }
        first => Response::new(PodBody::Sync { first, steps, open }),
    };
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    response
}

async fn report(shared: &Arc<Shared>, instance: &str, request: Request<Incoming>) -> Response<PodBody> {
    let open = Open::new(shared, "report");
    let streamed = request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/octet-stream");
    let mut reports = Reports::of(instance);
    shared.change(|state| state.open_reports += 1);
    let mut body = request.into_body();
    let mut unframed = Vec::new();
    let whole = loop {
        match body.frame().await {
            None => break true,
            Some(Err(_)) => break false,
            Some(Ok(frame)) => {
                let Ok(bytes) = frame.into_data() else { continue };
                if streamed {
                    let fresh = reports.feed(&bytes);
                    shared.change(|state| state.reports.extend(fresh));
                } else {
                    unframed.extend_from_slice(&bytes);
                }
            }
        }
    };
    shared.change(|state| state.open_reports -= 1);
    if !whole {
        return bare(StatusCode::BAD_REQUEST);
    }
    open.done();
    if !streamed {
        let Ok(json) = serde_json::from_slice(&unframed) else {
            return bare(StatusCode::BAD_REQUEST);
        };
        shared.change(|state| state.reports.push(reports.report(json)));
    }
    bare(StatusCode::OK)
}

async fn hook(
    shared: &Arc<Shared>,
    instance: &str,
    hook: &str,
    request: Request<Incoming>,
) -> Response<PodBody> {
    let open = Open::new(shared, "hook");
    let body = match Limited::new(request.into_body(), MAX_HOOK_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return bare(StatusCode::BAD_REQUEST),
    };
    open.done();
    match hook.split('/').next() {
        Some(LINK) if shared.look(|state| state.is_draining()) => {
            shared.change(|state| state.end_instance(instance, KILL));
            gone(shared)
        }
        Some(LINK) => bare(StatusCode::OK),
        Some(CLICK) => {
            let clicks = shared.change(|state| state.click(instance));
            let mut response = whole(json!({ "clicks": clicks, "received": body.len() }).to_string());
            response
                .headers_mut()
                .insert("d0-after", HeaderValue::from_static("[[\"scroll\",[0]]]"));
            response
        }
        _ => bare(StatusCode::NOT_FOUND),
    }
}

fn undo(shared: &Shared, instance: &str) -> Response<PodBody> {
    if shared.look(|state| state.is_draining()) {
        shared.change(|state| state.end_instance(instance, KILL));
        return gone(shared);
    }
    let mut response = bare(StatusCode::OK);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn gone(shared: &Shared) -> Response<PodBody> {
    shared.change(|state| state.gone += 1);
    bare(StatusCode::GONE)
}

fn bare(status: StatusCode) -> Response<PodBody> {
    let mut response = Response::new(PodBody::Whole(None));
    *response.status_mut() = status;
    response
}

fn whole(body: impl Into<Bytes>) -> Response<PodBody> {
    Response::new(PodBody::Whole(Some(body.into())))
}

/// The session cookie, named by the token, and the id cookie, which a draining pod no longer sends.
fn cookies_of(shared: &Shared, session: &str) -> Vec<HeaderValue> {
    let token = shared.token();
    let mut pairs = vec![(token, session)];
    if !shared.look(|state| state.is_draining()) {
        pairs.push((ID_COOKIE, token));
    }
    let lines = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}; Path=/; Max-Age=2400; HttpOnly; Secure; SameSite=Lax"));
    lines
        .map(|line| line.try_into().expect("a valid field value"))
        .collect()
}
