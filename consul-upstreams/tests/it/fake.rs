//! A Consul inside the test: `/v1/health/service/…` as an agent answers it, and what no agent should do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use crate::support::spawn;

/// The most that Consul lets a query wait.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// A Consul on loopback.
#[derive(Clone)]
pub(crate) struct Consul {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    services: HashMap<String, Vec<Instance>>,
    index: u64,
    mode: Mode,
    token: Option<String>,
    requests: Vec<Request>,
}

/// An instance of a service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instance {
    pub(crate) node: String,
    pub(crate) node_address: String,
    pub(crate) address: String,
    pub(crate) port: i64,
    pub(crate) meta: Vec<(String, String)>,
    pub(crate) tags: Vec<String>,
    /// Names of checks, and how they are.
    pub(crate) checks: Vec<(String, String)>,
    pub(crate) weight: i64,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// With its query.
    pub(crate) target: String,
    /// Its fields, names in lower case.
    pub(crate) fields: HashMap<String, String>,
}

/// How it answers.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    Good,
    /// Not at all.
    Hang,
    /// It closes the connection.
    Close,
    /// Half of an answer.
    Cut,
    /// A body that never ends.
    Endless,
    /// As many instances as can be.
    Million,
    /// These bytes as the body.
    Body(&'static str),
    /// An array of one text of so many bytes.
    Text(usize),
    /// This status and body.
    Status(u16, &'static str),
    /// To another place.
    Redirect(String),
    /// After so long.
    Slow(Duration),
    /// As an agent that took all instances of the answer away.
    Filtered,
}

// === impl Consul ===

impl Consul {
    pub(crate) async fn start() -> Self {
        Self::listen(None).await
    }

    /// With TLS.
    pub(crate) async fn start_tls(acceptor: TlsAcceptor) -> Self {
        Self::listen(Some(acceptor)).await
    }

    async fn listen(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let consul = Self::at(format!("{scheme}://{}", listener.local_addr().unwrap()));
        let shared = Arc::clone(&consul.shared);
        spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                spawn(async move {
                    match tls {
                        None => serve(stream, &shared).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &shared).await;
                            }
                        }
                    }
                });
            }
        });
        consul
    }

    /// On a unix socket.
    pub(crate) fn start_unix(path: &std::path::Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let consul = Self::at(format!("unix://{}", path.display()));
        let shared = Arc::clone(&consul.shared);
        spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shared = Arc::clone(&shared);
                spawn(async move { serve(stream, &shared).await });
            }
        });
        consul
    }

    fn at(address: String) -> Self {
        let state = State {
            services: HashMap::new(),
            index: 10,
            mode: Mode::Good,
            token: None,
            requests: Vec::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Notify::new(),
        });
        Self { address, shared }
    }

    /// The instances of a service are these from now on.
    pub(crate) fn set(&self, service: &str, instances: impl Into<Vec<Instance>>) {
        let mut state = self.shared.state.lock().unwrap();
        state.services.insert(service.to_owned(), instances.into());
        state.index += 1;
        drop(state);
        self.shared.changed.notify_waiters();
    }

    pub(crate) fn mode(&self, mode: Mode) {
        self.shared.state.lock().unwrap().mode = mode;
        self.shared.changed.notify_waiters();
    }

    /// The only token that sees anything.
    pub(crate) fn only(&self, token: &str) {
        self.shared.state.lock().unwrap().token = Some(token.to_owned());
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.requests()
            .into_iter()
            .map(|request| request.target)
            .collect()
    }
}

// === impl Instance ===

impl Instance {
    /// A healthy one.
    pub(crate) fn at(address: &str, port: i64) -> Self {
        Self {
            node: "n1".to_owned(),
            node_address: "192.0.2.9".to_owned(),
            address: address.to_owned(),
            port,
            weight: 1,
            ..Self::default()
        }
    }

    pub(crate) fn on(self, node: &str, zone: &str) -> Self {
        Self {
            node: node.to_owned(),
            meta: vec![("zone".to_owned(), zone.to_owned())],
            ..self
        }
    }

    pub(crate) fn tagged(mut self, tag: &str) -> Self {
        self.tags.push(tag.to_owned());
        self
    }

    pub(crate) fn check(mut self, name: &str, status: &str) -> Self {
        self.checks.push((name.to_owned(), status.to_owned()));
        self
    }

    fn passes(&self) -> bool {
        self.checks.iter().all(|(_, status)| status == "passing")
    }

    /// As Consul 1.8 writes it.
    fn json(&self, service: &str) -> Value {
        let meta: serde_json::Map<_, _> = self
            .meta
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let meta = if meta.is_empty() { Value::Null } else { meta.into() };
        let checks: Vec<_> = self
            .checks
            .iter()
            .map(|(name, status)| {
                json!({
                    "Node": self.node, "CheckID": name, "Name": name, "Status": status, "Notes": "", "Output": "",
                    "ServiceID": "", "ServiceName": "", "ServiceTags": [], "Type": "", "Definition": {},
                    "CreateIndex": 9, "ModifyIndex": 9
                })
            })
            .collect();
        json!({
            "Node": {
                "ID": "", "Node": self.node, "Address": self.node_address, "Datacenter": "dc1",
                "TaggedAddresses": null, "Meta": meta, "CreateIndex": 9, "ModifyIndex": 9
            },
            "Service": {
                "ID": self.id(service), "Service": service, "Tags": self.tags, "Address": self.address, "Meta": null,
                "Port": self.port, "Weights": {"Passing": self.weight, "Warning": 1}, "EnableTagOverride": false,
                "Proxy": {"MeshGateway": {}, "Expose": {}}, "Connect": {}, "CreateIndex": 9, "ModifyIndex": 9
            },
            "Checks": checks
        })
    }

    fn id(&self, service: &str) -> String {
        format!("{service}-{}", self.port)
    }

    /// What registers it with a real Consul.
    pub(crate) fn registration(&self, service: &str) -> Value {
        let meta: HashMap<_, _> = self.meta.iter().cloned().collect();
        let checks: Vec<_> = self
            .checks
            .iter()
            .map(|(name, status)| json!({"Node": self.node, "CheckID": name, "Name": name, "Status": status}))
            .collect();
        json!({
            "Node": self.node, "Address": self.node_address, "NodeMeta": meta,
            "Service": {
                "ID": self.id(service), "Service": service, "Tags": self.tags, "Address": self.address,
                "Port": self.port, "Weights": {"Passing": self.weight, "Warning": 1}
            },
            "Checks": checks
        })
    }
}

// === one connection ===

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, shared: &Shared) {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let request = Request::read(&buffer[..end]);
        buffer.drain(..end);
        let mode = {
            let mut state = shared.state.lock().unwrap();
            state.requests.push(request.clone());
            state.mode.clone()
        };
        if !answer(&mut stream, shared, &request, mode).await {
            return;
        }
    }
}

/// Whether the connection goes on.
async fn answer(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    shared: &Shared,
    request: &Request,
    mode: Mode,
) -> bool {
    let plain = |status: u16, body: &str| {
        format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let text = match mode {
        Mode::Good => good(shared, request).await,
        Mode::Hang => std::future::pending().await,
        Mode::Close => return false,
        Mode::Cut => {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[{";
            stream.write_all(head).await.unwrap_or(());
            return false;
        }
        Mode::Endless => {
            let head = b"HTTP/1.1 200 OK\r\n\r\n[";
            let mut open = stream.write_all(head).await.is_ok();
            let piece = vec![b' '; 64 * 1024];
            while open {
                open = stream.write_all(&piece).await.is_ok();
            }
            return false;
        }
        Mode::Million => {
            let entry = r#"{"Node":{"Address":"192.0.2.1"},"Service":{"Port":1}},"#;
            let head = b"HTTP/1.1 200 OK\r\n\r\n[";
            let mut open = stream.write_all(head).await.is_ok();
            let piece = entry.repeat(1000);
            for _ in 0..1000 {
                open = open && stream.write_all(piece.as_bytes()).await.is_ok();
            }
            stream.write_all(b"null]").await.unwrap_or(());
            return false;
        }
        Mode::Body(body) => plain(200, body),
        Mode::Text(length) => plain(200, &format!("[\"{}\"]", "a".repeat(length))),
        Mode::Status(status, body) => plain(status, body),
        Mode::Redirect(to) => format!("HTTP/1.1 301 X\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"),
        Mode::Slow(time) => {
            tokio::time::sleep(time).await;
            good(shared, request).await
        }
        Mode::Filtered => {
            "HTTP/1.1 200 OK\r\nX-Consul-Results-Filtered-By-Acls: true\r\nContent-Length: 2\r\n\r\n[]"
                .to_owned()
        }
    };
    stream.write_all(text.as_bytes()).await.is_ok()
}

/// As an agent answers.
async fn good(shared: &Shared, request: &Request) -> String {
    let fail = |status: u16, body: &str| {
        format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let url = reqwest::Url::parse(&format!("http://consul{}", request.target)).unwrap();
    let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
    let Some((_, name)) = url.path().split_once("/v1/health/service/") else {
        return fail(404, "");
    };
    if query.contains_key("ns") {
        return fail(
            400,
            "Invalid query parameter: \"ns\" - Namespaces are a Consul Enterprise feature",
        );
    }
    if query.get("dc").is_some_and(|dc| dc != "dc1") {
        return fail(500, "No path to datacenter");
    }
    if let Some(index) = query.get("index").and_then(|index| index.parse::<u64>().ok()) {
        let wait = query
            .get("wait")
            .and_then(|wait| wait.strip_suffix("ms")?.parse().ok());
        let wait = wait
            .map_or(LONGEST_WAIT / 2, Duration::from_millis)
            .min(LONGEST_WAIT);
        let changed = async {
            loop {
                let notified = shared.changed.notified();
                let is_other = {
                    let state = shared.state.lock().unwrap();
                    state.index > index || !matches!(state.mode, Mode::Good)
                };
                if is_other {
                    return;
                }
                notified.await;
            }
        };
        let _over = tokio::time::timeout(wait, changed).await;
    }
    let state = shared.state.lock().unwrap();
    let token = request.fields.get("x-consul-token");
    let sees = match (&state.token, token) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(only), Some(token)) if only == token => true,
        (Some(_), Some(_)) => return fail(403, "ACL not found"),
    };
    // Names have no case, and come escaped.
    let name = name.to_lowercase().replace("%20", " ");
    let found = state
        .services
        .iter()
        .find(|(known, _)| known.to_lowercase() == name);
    let (service, all) = found.map_or(("", &[][..]), |(service, all)| (service, all.as_slice()));
    let wanted = |instance: &&Instance| {
        sees && (!query.contains_key("passing") || instance.passes())
            && query.get("tag").is_none_or(|tag| instance.tags.contains(tag))
    };
    let all: Vec<_> = all
        .iter()
        .filter(wanted)
        .map(|instance| instance.json(service))
        .collect();
    let body = serde_json::to_string(&all).unwrap();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: {}\r\nX-Consul-Knownleader: true\r\n\
         X-Consul-Lastcontact: 0\r\nContent-Length: {}\r\n\r\n{body}",
        state.index,
        body.len()
    )
}

// === impl Request ===

impl Request {
    fn read(head: &[u8]) -> Self {
        let text = String::from_utf8(head.to_vec()).unwrap();
        let mut lines = text.lines();
        let first: Vec<_> = lines.next().unwrap().split(' ').collect();
        assert_eq!(first[0], "GET");
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_lowercase(), value.trim().to_owned()))
        };
        Self {
            target: first[1].to_owned(),
            fields: lines.filter_map(field).collect(),
        }
    }
}
