//! A daemon that says what a test wants it to say.

use std::sync::{Arc, Mutex};

use route_sources::docker::Endpoint;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// How a daemon answers a list.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Mood {
    /// As it should.
    #[default]
    Well,
    /// Not at all.
    Silent,
    /// With half of it, and then the connection is closed.
    Cut,
    /// With something that is no list.
    Garbage,
    /// With a failure.
    Failing,
}

#[derive(Default)]
struct State {
    mood: Mood,
    /// How events are answered, but for those that are told.
    events: Mood,
    containers: Vec<Value>,
    services: Vec<Value>,
    tasks: Vec<Value>,
    networks: Vec<Value>,
}

/// The daemon.
pub(super) struct Fake {
    folder: TempDir,
    state: Arc<Mutex<State>>,
    events: broadcast::Sender<String>,
    lists: watch::Sender<usize>,
    life: CancellationToken,
}

// === impl Fake ===

impl Fake {
    /// One that is away.
    pub(super) fn away() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            state: Arc::default(),
            events: broadcast::channel(64).0,
            lists: watch::channel(0).0,
            life: CancellationToken::new(),
        }
    }

    /// One that answers.
    pub(super) fn started() -> Self {
        let mut fake = Self::away();
        fake.start();
        fake
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.folder.path().join("docker.sock"))
    }

    #[expect(clippy::disallowed_methods, reason = "a test has no set of tasks")]
    pub(super) fn start(&mut self) {
        let listener = UnixListener::bind(self.folder.path().join("docker.sock")).unwrap();
        self.life = CancellationToken::new();
        let life = self.life.clone();
        let state = Arc::clone(&self.state);
        let (events, lists) = (self.events.clone(), self.lists.clone());
        tokio::spawn(self.life.clone().run_until_cancelled_owned(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, events, lists) = (Arc::clone(&state), events.subscribe(), lists.clone());
                let answer = answer(stream, state, events, lists);
                tokio::spawn(life.clone().run_until_cancelled_owned(answer));
            }
        }));
    }

    /// Answers at a port, too.
    #[expect(clippy::disallowed_methods, reason = "a test has no set of tasks")]
    pub(super) async fn listen(&self) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, events, lists) = (Arc::clone(&self.state), self.events.clone(), self.lists.clone());
        tokio::spawn(self.life.clone().run_until_cancelled_owned(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answer(stream, Arc::clone(&state), events.subscribe(), lists.clone());
                tokio::spawn(answer);
            }
        }));
        format!("tcp://{address}").parse().unwrap()
    }

    /// Ends it with all of its connections.
    pub(super) fn stop(&self) {
        self.life.cancel();
        std::fs::remove_file(self.folder.path().join("docker.sock")).unwrap();
    }

    pub(super) fn feel(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    /// Answers requests for events like that from now on; `Cut` ends them after half of one.
    pub(super) fn feel_about_events(&self, mood: Mood) {
        self.state.lock().unwrap().events = mood;
    }

    /// Changes its containers and tells so.
    pub(super) fn run(&self, containers: Vec<Value>) {
        self.state.lock().unwrap().containers = containers;
        self.tell("container", "start");
    }

    pub(super) fn deploy(&self, services: Vec<Value>, tasks: Vec<Value>, networks: Vec<Value>) {
        let mut state = self.state.lock().unwrap();
        (state.services, state.tasks, state.networks) = (services, tasks, networks);
        drop(state);
        self.tell("service", "update");
    }

    /// Tells of an event, if anybody listens.
    pub(super) fn tell(&self, kind: &str, action: &str) {
        let event = json!({"Type": kind, "Action": action, "Actor": {"ID": "1"}, "time": 1});
        let _nobody_listens = self.events.send(format!("{event}\n"));
    }

    /// Waits until that many lists were asked for, and somebody listens to events.
    pub(super) async fn listed(&self, at_least: usize) {
        let mut lists = self.lists.subscribe();
        let waited = tokio::time::timeout(super::BOUND, lists.wait_for(|lists| *lists >= at_least)).await;
        waited.expect("a list in time").unwrap();
    }

    pub(super) fn lists(&self) -> usize {
        *self.lists.borrow()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.life.cancel();
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    state: Arc<Mutex<State>>,
    mut events: broadcast::Receiver<String>,
    lists: watch::Sender<usize>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("/v1.51").unwrap_or(path);
    if path == "/events" {
        let mood = state.lock().unwrap().events;
        return tell(stream, &mut events, mood).await;
    }
    let (mood, body) = {
        let state = state.lock().unwrap();
        let (body, is_list) = body(&state, path);
        (if is_list { state.mood } else { Mood::Well }, body)
    };
    if path == "/containers/json" || path == "/services" {
        lists.send_modify(|lists| *lists += 1);
    }
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body
        .unwrap_or_else(|| json!({"message": "no such thing"}))
        .to_string();
    let whole = |status: &str, body: &str, sent: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{sent}"
        )
    };
    let text = match mood {
        Mood::Well => whole(status, &body, &body),
        Mood::Silent => return std::future::pending().await,
        Mood::Cut => whole(status, &body, body.split_at(body.len() / 2).0),
        Mood::Garbage => whole(status, "[{\"Id\": 5", "[{\"Id\": 5"),
        Mood::Failing => {
            let failure = r#"{"message":"a plugin failed"}"#;
            whole("500 Internal Server Error", failure, failure)
        }
    };
    let _cut_by_the_other_side = stream.write_all(text.as_bytes()).await;
}

/// What is at a path, and whether moods are about it.
fn body(state: &State, path: &str) -> (Option<Value>, bool) {
    let list = |list: &[Value]| (Some(Value::Array(list.to_vec())), true);
    match path {
        "/_ping" => (Some(json!("OK")), false),
        "/version" => (Some(json!({"Version": "28.0.0", "ApiVersion": "1.51"})), false),
        "/info" => (Some(json!({"ID": "fake"})), false),
        "/containers/json" => list(&state.containers),
        "/services" => list(&state.services),
        "/tasks" => list(&state.tasks),
        "/networks" => list(&state.networks),
        _ => {
            let id = path.strip_prefix("/networks/").unwrap_or_default();
            (
                state.networks.iter().find(|network| network["Id"] == id).cloned(),
                true,
            )
        }
    }
}

async fn tell(mut stream: impl AsyncWrite + Unpin, events: &mut broadcast::Receiver<String>, mood: Mood) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let text = match mood {
        Mood::Well => head.to_owned(),
        Mood::Silent => return std::future::pending().await,
        Mood::Cut => format!("{head}9\r\n{{\"Type\": \r\n"),
        Mood::Garbage => format!("{head}5\r\n<a>\n\n\r\n"),
        Mood::Failing => {
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
        }
    };
    if stream.write_all(text.as_bytes()).await.is_err() || mood != Mood::Well {
        return;
    }
    while let Ok(event) = events.recv().await {
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A container as a list has it.
pub(super) fn container(name: &str, address: &str, labels: &Value) -> Value {
    json!({
        "Id": format!("id-{name}"),
        "Names": [format!("/{name}")],
        "Labels": labels,
        "State": "running",
        "Ports": [{"PrivatePort": 80, "Type": "tcp"}],
        "HostConfig": {"NetworkMode": "web"},
        "NetworkSettings": {"Networks": {"web": {"IPAddress": address, "GlobalIPv6Address": ""}}},
    })
}

/// The same after it has ended.
pub(super) fn stopped(mut container: Value) -> Value {
    container["State"] = json!("exited");
    container["Ports"] = json!([]);
    container["NetworkSettings"]["Networks"]["web"]["IPAddress"] = json!("");
    container
}
