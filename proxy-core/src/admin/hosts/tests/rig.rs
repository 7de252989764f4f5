//! A store in memory, sources that say what they are told to, and requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use caddy_config::{RoutesToken, TokenAccess};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::Request;
use http_body_util::Full;
use route_sources::Kind;
use route_store::{
    Answer, Change, Changes, Document, Epoch, Expected, HostDocument, HostName, MemoryStore, Problem,
    Problems, Replica, Revision, Routes, Store, StoreError, StoredRoute, Terms, Value as Stored,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::admin::body::Room;
use crate::admin::hosts::{self, Ask};
use crate::admin::reply::Reply;
use crate::control::{HostState, ServedHost, SourcesApi, SourcesView, Tokens};
use crate::environment::Environment;

/// Secrets of tokens.
pub(super) const WRITER: &str = "a-secret-of-writers";
pub(super) const READER: &str = "a-secret-of-readers";

/// The API of a proxy with a store.
#[derive(Debug)]
pub(super) struct Rig {
    pub(super) store: Arc<Switch>,
    pub(super) view: Arc<View>,
    pub(super) api: SourcesApi,
    pub(super) stop: CancellationToken,
    room: Room,
}

/// What sources say.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) hosts: Mutex<Vec<ServedHost>>,
    pub(super) applied: Mutex<Option<Revision>>,
    pub(super) syncs: AtomicUsize,
    pub(super) remembered: Mutex<Vec<HostName>>,
    pub(super) followed: AtomicBool,
}

/// A store that can be away.
#[derive(Debug)]
pub(super) struct Switch {
    inner: MemoryStore,
    pub(super) away: AtomicBool,
}

/// A request.
pub(super) struct Question {
    request: http::request::Builder,
    body: Bytes,
    peer: Option<SocketAddr>,
}

// === impl Rig ===

impl Rig {
    /// Without tokens.
    pub(super) fn new() -> Self {
        Self::with_tokens(&[])
    }

    /// With a token that may write and one that may not.
    pub(super) fn guarded() -> Self {
        let token = |name: &str, access, secret: &str| RoutesToken {
            name: name.to_owned(),
            access,
            secret: secret.to_owned().into(),
        };
        Self::with_tokens(&[
            token("deploy", TokenAccess::Write, WRITER),
            token("board", TokenAccess::Read, READER),
        ])
    }

    fn with_tokens(tokens: &[RoutesToken]) -> Self {
        let epoch = Epoch::random().unwrap();
        let store = Arc::new(Switch {
            inner: MemoryStore::new(epoch, UNIX_EPOCH + Duration::from_secs(1_000_000)),
            away: AtomicBool::new(false),
        });
        let view = Arc::new(View::default());
        let tokens = Tokens::new(tokens, &Environment::default()).unwrap();
        Self {
            api: SourcesApi {
                store: Some(Arc::clone(&store) as Arc<dyn Store>),
                view: Arc::clone(&view) as Arc<dyn SourcesView>,
                tokens: Arc::new(tokens),
            },
            store,
            view,
            stop: CancellationToken::new(),
            room: Room::default(),
        }
    }

    pub(super) async fn ask(&self, question: Question) -> Reply {
        self.ask_of(Some(&self.api), question).await
    }

    /// Asks a proxy that may have no sources.
    pub(super) async fn ask_of(&self, api: Option<&SourcesApi>, question: Question) -> Reply {
        let Question { request, body, peer } = question;
        let (head, ()) = request.body(()).unwrap().into_parts();
        let path = head.uri.path().to_owned();
        let ask = Ask {
            head: &head,
            path: &path,
            peer,
            room: &self.room,
            stop: &self.stop,
        };
        hosts::answer(api, ask, Full::new(body)).await
    }

    /// Asks, and wants this status; what is said.
    pub(super) async fn says(&self, status: u16, question: Question) -> Value {
        let reply = self.ask(question).await;
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        assert_eq!(reply.status.as_u16(), status, "{text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Asks, and wants to be refused with this status; why.
    pub(super) async fn refused(&self, status: u16, question: Question) -> String {
        let said = self.says(status, question).await;
        said["error"].as_str().unwrap_or_default().to_owned()
    }

    /// Writes a document with one upstream, and gives its version.
    pub(super) async fn put(&self, host: &str, port: u16) -> u64 {
        let said = self.says(200, put(host).json(&document(host, port))).await;
        said["version"].as_u64().unwrap()
    }

    /// The document that the store has for a host, as JSON.
    pub(super) async fn stored(&self, host: &str) -> Option<Value> {
        let route = self.store.inner.route(host).await.unwrap();
        route.map(|route| serde_json::from_str(&route.document).unwrap())
    }

    pub(super) async fn revision(&self) -> Revision {
        self.store.inner.revision().await.unwrap()
    }

    /// A replica reports that it has applied what is in the store now.
    pub(super) async fn report(&self, id: &str, revision: Revision) {
        let replica = Replica {
            id: id.to_owned(),
            revision,
            applied_at: 1_000_000,
            version: "0.1.0".to_owned(),
            hostname: format!("{id}.test"),
            invalid: 0,
        };
        let reported = self.store.inner.report(&replica, Duration::from_secs(30)).await;
        reported.unwrap();
    }

    /// Writes whatever text there is, past every check.
    pub(super) async fn put_text(&self, host: &str, text: &str, schema_version: u32) {
        let document = Document { schema_version, text };
        let terms = Terms {
            author: "test",
            expected: Expected::Any,
        };
        self.store.inner.put(host, document, terms).await.unwrap();
    }

    /// These hosts of the store are served.
    pub(super) fn serves(&self, hosts: &[(&str, Kind)]) {
        let served = |(host, source): &(&str, Kind)| ServedHost {
            host: host.parse().unwrap(),
            alias_of: None,
            source: *source,
            state: HostState::Served,
        };
        *self.view.hosts.lock().unwrap() = hosts.iter().map(served).collect();
    }
}

/// A document with one upstream.
pub(super) fn document(host: &str, port: u16) -> Value {
    json!({ "schema_version": 2, "host": host, "upstreams": [{ "address": format!("127.0.0.1:{port}") }] })
}

// === impl Question ===

pub(super) fn get(path: &str) -> Question {
    Question::new("GET", path)
}

pub(super) fn post(path: &str) -> Question {
    Question::new("POST", path)
}

pub(super) fn put(host: &str) -> Question {
    Question::new("PUT", &format!("/routes/{host}"))
}

pub(super) fn delete(host: &str) -> Question {
    Question::new("DELETE", &format!("/routes/{host}"))
}

impl Question {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self {
            request: Request::builder().method(method).uri(path),
            body: Bytes::new(),
            peer: Some(SocketAddr::from(([127, 0, 0, 1], 1))),
        }
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(super) fn json(self, body: &Value) -> Self {
        self.text(&body.to_string())
            .field("Content-Type", "application/json")
    }

    pub(super) fn text(mut self, body: &str) -> Self {
        self.body = Bytes::from(body.to_owned());
        self
    }

    pub(super) fn from(mut self, peer: Option<&str>) -> Self {
        self.peer = peer.map(|peer| SocketAddr::new(peer.parse().unwrap(), 1));
        self
    }

    pub(super) fn token(self, secret: &str) -> Self {
        self.field("Authorization", &format!("Bearer {secret}"))
    }
}

// === impl View ===

impl View {
    pub(super) fn syncs(&self) -> usize {
        self.syncs.load(Ordering::Relaxed)
    }
}

impl SourcesView for View {
    fn status(&self) -> BoxFuture<'_, Value> {
        let names = self.hosts.lock().unwrap().len();
        let applied = self.applied().map(|revision| json!({ "revision": revision }));
        async move { json!({ "names": names, "applied": applied }) }.boxed()
    }

    fn hosts<'a>(&'a self, after: Option<&'a str>, limit: usize) -> BoxFuture<'a, Vec<ServedHost>> {
        let hosts = self.hosts.lock().unwrap();
        let behind = |host: &&ServedHost| after.is_none_or(|after| host.host.as_str() > after);
        let page = hosts.iter().filter(behind).take(limit).cloned().collect();
        async move { page }.boxed()
    }

    fn applied(&self) -> Option<Revision> {
        *self.applied.lock().unwrap()
    }

    fn sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    fn check<'a>(&'a self, document: &'a HostDocument) -> BoxFuture<'a, Result<(), Problems>> {
        let builds = document.host().as_str() != "unbuildable.test";
        let problem = || Problems::one(Problem::new("handlers[0]", "it cannot be built"));
        async move { builds.then_some(()).ok_or_else(problem) }.boxed()
    }

    fn forget(&self, host: &HostName) -> bool {
        let mut remembered = self.remembered.lock().unwrap();
        let before = remembered.len();
        remembered.retain(|known| known != host);
        remembered.len() < before
    }

    fn accept_loss(&self) -> bool {
        self.followed.load(Ordering::Relaxed)
    }
}

// === impl Switch ===

impl Switch {
    pub(super) fn go(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    fn or<'a, T: Send + 'a>(&self, answer: Answer<'a, T>) -> Answer<'a, T> {
        if !self.away.load(Ordering::Relaxed) {
            return answer;
        }
        let error = StoreError::Unavailable {
            kind: "memory",
            source: "redis://:sesame@away".into(),
        };
        async { Err(error) }.boxed()
    }
}

impl Store for Switch {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn revision(&self) -> Answer<'_, Revision> {
        self.or(self.inner.revision())
    }

    fn routes(&self) -> Answer<'_, Routes> {
        self.or(self.inner.routes())
    }

    fn changes(&self, known: Revision) -> Answer<'_, Changes> {
        self.or(self.inner.changes(known))
    }

    fn route<'a>(&'a self, host: &'a str) -> Answer<'a, Option<StoredRoute>> {
        self.or(self.inner.route(host))
    }

    fn put<'a>(&'a self, host: &'a str, document: Document<'a>, terms: Terms<'a>) -> Answer<'a, Revision> {
        self.or(self.inner.put(host, document, terms))
    }

    fn delete<'a>(&'a self, host: &'a str, terms: Terms<'a>) -> Answer<'a, Revision> {
        self.or(self.inner.delete(host, terms))
    }

    fn history<'a>(&'a self, host: &'a str) -> Answer<'a, Vec<Change>> {
        self.or(self.inner.history(host))
    }

    fn rollback<'a>(&'a self, host: &'a str, version: u64, terms: Terms<'a>) -> Answer<'a, Revision> {
        self.or(self.inner.rollback(host, version, terms))
    }

    fn report<'a>(&'a self, replica: &'a Replica, ttl: Duration) -> Answer<'a, ()> {
        self.or(self.inner.report(replica, ttl))
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        self.or(self.inner.replicas())
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> Answer<'a, bool> {
        self.or(self.inner.acquire(name, holder, ttl))
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> Answer<'a, ()> {
        self.or(self.inner.release(name, holder))
    }

    fn get<'a>(&'a self, space: &'a str, key: &'a str) -> Answer<'a, Option<Stored>> {
        self.or(self.inner.get(space, key))
    }

    fn set<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        bytes: &'a [u8],
        expected: Expected,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        self.or(self.inner.set(space, key, bytes, expected, ttl))
    }

    fn remove<'a>(&'a self, space: &'a str, key: &'a str, expected: Expected) -> Answer<'a, ()> {
        self.or(self.inner.remove(space, key, expected))
    }

    fn keys<'a>(&'a self, space: &'a str, prefix: &'a str) -> Answer<'a, Vec<String>> {
        self.or(self.inner.keys(space, prefix))
    }

    fn watch(&self) -> Answer<'_, Option<BoxStream<'static, ()>>> {
        self.or(self.inner.watch())
    }
}
