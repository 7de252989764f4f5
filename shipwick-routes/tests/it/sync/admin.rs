//! An admin API that can be told how to behave.

#![expect(
    clippy::disallowed_methods,
    reason = "the server of a test ends with its runtime"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How requests are answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Healthy,
    /// With this status and body.
    Status(u16, &'static str),
    /// With these bytes.
    Raw(&'static str),
    /// With these bytes, after which the connection stays open until it is told to answer otherwise.
    Unended(&'static str),
    /// With these bytes, when only the beginning of the request was read.
    Unread(&'static str),
    /// Not before it is told to answer otherwise.
    Hang,
    /// The connection is closed.
    Close,
}

#[derive(Debug, Default)]
struct Seen {
    heads: Vec<String>,
    running: Option<String>,
}

/// The API, until it is dropped.
pub(super) struct Admin {
    address: String,
    seen: Arc<Mutex<Seen>>,
    answer: watch::Sender<Answer>,
    asked: watch::Receiver<usize>,
    state: Server,
    server: JoinHandle<()>,
    socket: Option<PathBuf>,
    _kept: Option<tempfile::TempDir>,
}

#[derive(Clone)]
struct Server {
    seen: Arc<Mutex<Seen>>,
    answer: watch::Receiver<Answer>,
    asked: Arc<watch::Sender<usize>>,
}

impl Admin {
    pub(super) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("admin.sock");
        let mut admin = Self::new(format!("unix/{}", path.display()), |server| listen(&path, server));
        admin.socket = Some(path);
        admin._kept = Some(directory);
        admin
    }

    /// Ends and starts again at the same socket, with nothing to run.
    pub(super) fn restart(&mut self) {
        self.stop();
        self.lose();
        self.server = listen(self.socket.as_ref().unwrap(), self.state.clone());
    }

    pub(super) async fn start_tcp() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        Self::new(address, |server| {
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(server.clone().serve(stream));
                }
            })
        })
    }

    fn new(address: String, serve: impl FnOnce(Server) -> JoinHandle<()>) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let answer = watch::Sender::new(Answer::Healthy);
        let asked = Arc::new(watch::Sender::new(0));
        let server = Server {
            seen: Arc::clone(&seen),
            answer: answer.subscribe(),
            asked: Arc::clone(&asked),
        };
        Self {
            address,
            seen,
            answer,
            asked: asked.subscribe(),
            state: server.clone(),
            server: serve(server),
            socket: None,
            _kept: None,
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn answer(&self, answer: Answer) {
        self.answer.send_replace(answer);
    }

    /// Nobody listens any more.
    pub(super) fn stop(&self) {
        self.server.abort();
        if let Some(socket) = &self.socket {
            std::fs::remove_file(socket).unwrap();
        }
    }

    /// Waits until `count` requests have come.
    pub(super) async fn asked(&self, count: usize) {
        self.asked
            .clone()
            .wait_for(|asked| *asked >= count)
            .await
            .unwrap();
    }

    /// Forgets what it was given, as a proxy does that starts with an older configuration.
    pub(super) fn lose(&self) {
        self.seen.lock().unwrap().running = None;
    }

    /// Method and target of each request.
    pub(super) fn requests(&self) -> Vec<String> {
        let line = |head: &String| head.split(" HTTP/").next().unwrap().to_owned();
        self.seen.lock().unwrap().heads.iter().map(line).collect()
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.seen.lock().unwrap().heads.clone()
    }

    pub(super) fn running(&self) -> Option<String> {
        self.seen.lock().unwrap().running.clone()
    }

    pub(super) fn marker(&self) -> Option<String> {
        marker(&self.running()?)
    }

    /// Of the first route.
    pub(super) fn upstreams(&self) -> Vec<String> {
        let running: Value = serde_json::from_str(&self.running().unwrap()).unwrap();
        let handler = &running["apps"]["http"]["servers"]["shipwick"]["routes"][0]["handle"][0];
        let upstreams = handler["upstreams"].as_array().cloned().unwrap_or_default();
        upstreams
            .iter()
            .map(|upstream| upstream["dial"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Server {
    async fn serve(mut self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let early = match &*self.answer.borrow() {
            Answer::Unread(text) => Some(*text),
            _ => None,
        };
        if let Some(text) = early {
            let _read = stream.read_buf(&mut Vec::with_capacity(100)).await;
            let _left = stream.write_all(text.as_bytes()).await;
            return;
        }
        let Some((head, body)) = read(&mut stream).await else {
            return;
        };
        self.seen.lock().unwrap().heads.push(head.clone());
        self.asked.send_modify(|asked| *asked += 1);
        let answer = self
            .answer
            .wait_for(|answer| !matches!(answer, Answer::Hang))
            .await;
        let Ok(answer) = answer.map(|answer| answer.clone()) else {
            return;
        };
        let text = match answer {
            Answer::Healthy => self.healthy(&head, body),
            Answer::Status(status, body) => response(status, body),
            Answer::Raw(text) => text.to_owned(),
            Answer::Unended(text) => {
                let _left = stream.write_all(text.as_bytes()).await;
                let _changed = self
                    .answer
                    .wait_for(|answer| !matches!(answer, Answer::Unended(_)))
                    .await;
                return;
            }
            Answer::Hang | Answer::Close | Answer::Unread(_) => return,
        };
        let _left = stream.write_all(text.as_bytes()).await;
    }

    fn healthy(&self, head: &str, body: String) -> String {
        let mut seen = self.seen.lock().unwrap();
        if head.starts_with("POST /load ") {
            seen.running = Some(body);
            return response(200, "");
        }
        let id = head
            .strip_prefix("GET /id/")
            .and_then(|rest| rest.split(' ').next());
        match (id, seen.running.as_deref().and_then(marker)) {
            (Some(id), Some(running)) if id == running => response(200, "{}"),
            _ => response(404, r#"{"error":"unknown object ID"}"#),
        }
    }
}

fn listen(socket: &Path, server: Server) -> JoinHandle<()> {
    let listener = UnixListener::bind(socket).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(server.clone().serve(stream));
        }
    })
}

fn response(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn marker(running: &str) -> Option<String> {
    let at = running.find("shipwick-config-")?;
    running.get(at..at + 32).map(str::to_owned)
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1);
            let length: usize = length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
            if body.len() >= length {
                return Some((format!("{head}\r\n"), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
