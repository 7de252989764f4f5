//! What a pod answers: pages, hooks and the stream of a session, at the paths that Doors apps use.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cluster::RollOutRefused;
use super::ids::Id;
use super::page::{Page, Room};
use super::shared::Shared;
use super::stream;

/// A fixed answer or a stream.
pub(super) type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// The affinity cookie, which the proxy's configuration names too.
pub(super) const ID_COOKIE: &str = "upstream";
/// How long the browser keeps the cookies: as long as a Doors app would by default, 40 minutes.
const COOKIE_SECONDS: u32 = 2400;

/// The app on one pod.
#[derive(Clone, Debug)]
pub(super) struct App {
    address: Ipv4Addr,
    shared: Arc<Shared>,
    streams: TaskTracker,
}

/// What a request is for.
#[derive(Debug, Eq, PartialEq)]
enum Target {
    Page(Room),
    Stream(Id),
    Hook(Id, Hook),
    Unknown,
}

/// What a page may ask its pod to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Hook {
    Click,
    RollOut,
    Link,
    Hide,
    Close,
}

// === impl App ===

impl App {
    /// The app on the pod at `address`.
    pub(super) fn new(address: Ipv4Addr, shared: Arc<Shared>) -> Self {
        Self {
            address,
            shared,
            streams: TaskTracker::new(),
        }
    }

    /// Answers one request. `stop` ends the stream that it may begin. Request bodies mean nothing here and are
    /// not read.
    pub(super) fn answer<B>(&self, request: &Request<B>, stop: &CancellationToken) -> Response<Body> {
        if !is_local(request.headers()) {
            return text(
                StatusCode::MISDIRECTED_REQUEST,
                "This demo answers to local addresses only.\n",
            );
        }
        let Some(token) = self
            .shared
            .with(|cluster| cluster.pod(self.address).map(|pod| pod.token.clone()))
        else {
            return gone();
        };
        let owner = cookie(request.headers(), &token).and_then(Id::parse);
        let answer = match (target(request.method(), request.uri().path()), owner) {
            (Target::Page(room), owner) => return self.page(room, owner, &token),
            (Target::Unknown, _) => return text(StatusCode::NOT_FOUND, "There is nothing here.\n"),
            (_, None) => return gone(),
            (Target::Stream(session), Some(owner)) => self.stream(session, owner, stop),
            (Target::Hook(session, hook), Some(owner)) => self.hook(session, owner, hook),
        };
        self.with_cookies(answer, &token, owner)
    }

    /// A new page, which is a new session.
    fn page(&self, room: Room, owner: Option<Id>, token: &str) -> Response<Body> {
        let (Ok(session), Ok(nonce), Ok(new_owner)) = (Id::random(), Id::random(), Id::random()) else {
            return text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The system gives no random bytes.\n",
            );
        };
        let owner = owner.unwrap_or(new_owner);
        let opened = self.shared.change(|cluster| {
            let number = cluster.open(self.address, session, owner, Instant::now())?;
            Some((number, cluster.pod(self.address)?.phase))
        });
        let Some((number, phase)) = opened else {
            return text(
                StatusCode::SERVICE_UNAVAILABLE,
                "This pod has all the sessions it takes. Close a tab.\n",
            );
        };
        let caddyfile = self.shared.caddyfile();
        let page = Page {
            nonce,
            pod: self.address,
            phase,
            token,
            session,
            number,
            room,
            caddyfile,
        };
        let mut answer = reply(StatusCode::OK, "text/html; charset=utf-8", page.html());
        let headers = answer.headers_mut();
        if let Ok(policy) = HeaderValue::try_from(page.content_security_policy()) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        self.with_cookies(answer, token, Some(owner))
    }

    fn stream(&self, session: Id, owner: Id, stop: &CancellationToken) -> Response<Body> {
        let begun = stream::begin(&self.shared, self.address, session, owner);
        let Some((feed, body)) = begun else { return gone() };
        self.streams.spawn(feed.run(stop.clone()));
        let mut answer = Response::new(Either::Right(body));
        let kind = HeaderValue::from_static("application/x-ndjson");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        answer
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    fn hook(&self, session: Id, owner: Id, hook: Hook) -> Response<Body> {
        let (at, now) = (self.address, Instant::now());
        let done = self.shared.change(|cluster| match hook {
            Hook::Click => cluster
                .session(at, session, owner)
                .map(|session| session.clicks += 1)
                .map(Ok),
            Hook::Hide => cluster
                .session(at, session, owner)
                .map(|session| session.hide(now))
                .map(Ok),
            Hook::Link => cluster.follow_link(at, session, owner).map(Ok),
            Hook::Close => cluster.close(at, session, owner).map(Ok),
            Hook::RollOut => cluster
                .session(at, session, owner)
                .map(drop)
                .map(|()| cluster.roll_out(now)),
        });
        match done {
            Ok(Ok(())) => text(StatusCode::OK, ""),
            Ok(Err(refused)) => text(StatusCode::CONFLICT, why(refused)),
            Err(_) => gone(),
        }
    }

    /// Renews the session cookie, named by the token, and the affinity cookie, which a draining pod leaves out.
    fn with_cookies(&self, mut answer: Response<Body>, token: &str, owner: Option<Id>) -> Response<Body> {
        let rest = format!("Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Lax");
        let session = owner.map(|owner| format!("{token}={owner}; {rest}"));
        let draining = self.shared.with(|cluster| cluster.is_draining(self.address));
        let id = (!draining).then(|| format!("{ID_COOKIE}={token}; {rest}"));
        for cookie in session.into_iter().chain(id) {
            if let Ok(cookie) = HeaderValue::try_from(cookie) {
                answer.headers_mut().append(header::SET_COOKIE, cookie);
            }
        }
        answer
    }
}

/// What a request is for. Like Doors, it takes any token in the path: the cookie says whose the session is.
fn target(method: &Method, path: &str) -> Target {
    let Some(system) = path.strip_prefix("/~/") else {
        return match Room::at(path) {
            Some(room) if method == Method::GET => Target::Page(room),
            _ => Target::Unknown,
        };
    };
    let parts: Vec<&str> = system.split('/').collect();
    let found = match parts.as_slice() {
        [_, "s", session] if method == Method::GET => Id::parse(session).map(Target::Stream),
        [_, "h", session, hook @ ..] if method == Method::POST => Id::parse(session)
            .zip(Hook::named(hook))
            .map(|(session, hook)| Target::Hook(session, hook)),
        _ => None,
    };
    found.unwrap_or(Target::Unknown)
}

// === impl Hook ===

impl Hook {
    /// The hook with these path segments: its number, and for a link the room that it leads to.
    fn named(segments: &[&str]) -> Option<Self> {
        match segments {
            ["1"] => Some(Self::Click),
            ["2"] => Some(Self::RollOut),
            ["3", room] => Room::named(room).map(|_| Self::Link),
            ["4"] => Some(Self::Hide),
            ["5"] => Some(Self::Close),
            _ => None,
        }
    }
}

fn why(refused: RollOutRefused) -> &'static str {
    match refused {
        RollOutRefused::UnderWay => "A rollout is under way. Wait until the old pod drains.",
        RollOutRefused::NoPodReady => {
            "No new pod is ready: each address has a pod with live sessions. Close a tab of a draining pod."
        }
    }
}

/// Whether the request names this machine as its host. A page of elsewhere whose name was pointed to a loopback
/// address does not.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The first cookie called `name`.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let mut pairs = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The page is not here any more and must load anew.
fn gone() -> Response<Body> {
    text(StatusCode::GONE, "")
}

fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut answer = reply(status, "text/plain; charset=utf-8", text);
    answer
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut answer = Response::new(Either::Left(Full::new(body.into())));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    answer
}

#[cfg(test)]
mod tests;
