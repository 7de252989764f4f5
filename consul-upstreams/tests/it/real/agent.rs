//! A real agent on loopback, with every port moved.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fake::Instance;

/// The longest that an agent takes to start.
const START: Duration = Duration::from_secs(60);

/// An agent that ends with this.
pub(crate) struct Agent {
    pub(crate) address: String,
    program: PathBuf,
    args: Vec<String>,
    token: Option<String>,
    /// What a GET of `/v1/status/leader` says once it is ready.
    has_leader: bool,
    directory: TempDir,
    process: Option<Child>,
}

// === impl Agent ===

impl Agent {
    /// A server of its own that keeps nothing.
    pub(crate) async fn dev() -> Option<Self> {
        Self::start(&["-dev"], &json!({}), None, true).await
    }

    /// One that denies what no token allows.
    pub(crate) async fn with_acl(token: &str) -> Option<Self> {
        let acl = json!({"acl": {"enabled": true, "default_policy": "deny", "tokens": {"master": token}}});
        Self::start(&["-dev"], &acl, Some(token), true).await
    }

    /// A server that waits for two others.
    pub(crate) async fn without_leader() -> Option<Self> {
        Self::start(&["-server", "-bootstrap-expect", "3"], &json!({}), None, false).await
    }

    /// A client of no server.
    pub(crate) async fn client() -> Option<Self> {
        Self::start(&[], &json!({}), None, false).await
    }

    async fn start(args: &[&str], config: &Value, token: Option<&str>, has_leader: bool) -> Option<Self> {
        let program = program()?;
        let directory = tempfile::tempdir().unwrap();
        let [http, server, lan, wan] = ports();
        let mut config = config.clone();
        config["disable_update_check"] = true.into();
        config["disable_anonymous_signature"] = true.into();
        let socket = directory.path().join("http.sock");
        config["addresses"] = json!({"http": format!("127.0.0.1 unix://{}", socket.display())});
        let file = directory.path().join("config.json");
        fs::write(&file, config.to_string()).unwrap();
        let mut all = vec![
            "agent",
            "-bind",
            "127.0.0.1",
            "-dns-port",
            "-1",
            "-grpc-port",
            "-1",
        ]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
        for (name, port) in [
            ("-http-port", http),
            ("-server-port", server),
            ("-serf-lan-port", lan),
            ("-serf-wan-port", wan),
        ] {
            all.extend([name.to_owned(), port.to_string()]);
        }
        all.extend(["-config-file".to_owned(), file.display().to_string()]);
        if !args.contains(&"-dev") {
            let data = directory.path().join("data");
            all.extend(["-data-dir".to_owned(), data.display().to_string()]);
        }
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        let mut agent = Self {
            address: format!("http://127.0.0.1:{http}"),
            program,
            args: all,
            token: token.map(str::to_owned),
            has_leader,
            directory,
            process: None,
        };
        agent.restart().await;
        Some(agent)
    }

    /// Starts it, and waits until it answers.
    pub(crate) async fn restart(&mut self) {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.process = Some(command.spawn().unwrap());
        let ready = async {
            loop {
                let asked = self
                    .request(reqwest::Method::GET, "/v1/status/leader", None)
                    .await;
                if let Some((200, leader)) = asked
                    && (!self.has_leader || leader.len() > 2)
                {
                    // A leader has yet to write its own node down.
                    let (_, nodes) = self.get("/v1/catalog/nodes").await;
                    if !self.has_leader || nodes.contains("127.0.0.1") || self.token.is_some() {
                        return;
                    }
                }
                // Without a leader this answers 500.
                if !self.has_leader
                    && self
                        .request(reqwest::Method::GET, "/v1/agent/self", None)
                        .await
                        .is_some()
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(START, ready).await.unwrap();
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Its unix socket.
    pub(crate) fn socket(&self) -> String {
        format!("unix://{}", self.directory.path().join("http.sock").display())
    }

    pub(crate) async fn register(&self, service: &str, all: &[Instance]) {
        for instance in all {
            self.put("/v1/catalog/register", &instance.registration(service))
                .await;
        }
    }

    pub(crate) async fn put(&self, target: &str, body: &Value) {
        // With ACLs it takes a moment until the token is known.
        let done = async {
            loop {
                let answered = self.request(reqwest::Method::PUT, target, Some(body)).await;
                match answered {
                    Some((200, _)) => return,
                    Some((400, text)) => panic!("{target}: {text}"),
                    _ => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        tokio::time::timeout(START, done).await.unwrap();
    }

    pub(crate) async fn get(&self, target: &str) -> (u16, String) {
        self.request(reqwest::Method::GET, target, None).await.unwrap()
    }

    async fn request(
        &self,
        method: reqwest::Method,
        target: &str,
        body: Option<&Value>,
    ) -> Option<(u16, String)> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_backend_preconfigured(no_tls())
            .build()
            .unwrap();
        let mut request = client.request(method, format!("{}{target}", self.address));
        if let Some(token) = &self.token {
            request = request.header("x-consul-token", token);
        }
        if let Some(body) = body.filter(|body| !body.is_null()) {
            request = request.body(body.to_string());
        }
        let response = request.send().await.ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Authorities are not needed on loopback.
pub(crate) fn no_tls() -> rustls::ClientConfig {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

#[expect(clippy::disallowed_methods, reason = "a test may be told where a program is")]
fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("DOORWAY_TEST_CONSUL") {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|directory| directory.join("consul"));
    found.into_iter().find(|file| file.is_file())
}

/// Ports that are free now.
fn ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
