//! A running proxy with its admin API, and a client of that.

use std::net::SocketAddr;
use std::sync::Arc;

use caddy_config::Surroundings;
use proxy_core::{Admin, AdminOptions, Control, Options, Proxy, Report};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::rig::options;
use super::wait::within;
use super::wire::{Message, Wire};

/// A proxy whose configuration is changed over its admin API.
pub(crate) struct AdminRig {
    pub(crate) admin: Admin,
    pub(crate) control: Control,
    stop: CancellationToken,
    running: Option<JoinHandle<Report>>,
}

/// Who asks where: one connection for each request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
}

/// A request to the API.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    method: String,
    path: String,
    fields: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// One variable, and no files.
struct Variables;

// === impl AdminRig ===

impl AdminRig {
    /// Starts a proxy with this document.
    pub(crate) async fn start(document: &str) -> Self {
        // Caddy's usual port may be somebody's.
        let options = AdminOptions {
            address: "off".to_owned(),
            ..AdminOptions::default()
        };
        Self::with_options(document, options).await
    }

    /// Starts a proxy with this Caddyfile.
    pub(crate) async fn caddyfile(text: &str) -> Self {
        let adapted = caddy_config::from_caddyfile("Caddyfile", text, &|_| None);
        let config = adapted.unwrap_or_else(|found| panic!("{found}")).config;
        Self::start(&config.to_json()).await
    }

    /// Starts a proxy with this document and these options.
    pub(crate) async fn with_options(document: &str, given: AdminOptions) -> Self {
        let config = match document {
            "null" => caddy_config::Config::default(),
            document => caddy_config::from_json("config", document).unwrap_or_else(|found| panic!("{found}")),
        };
        let options = Options {
            workers: 1,
            ..options()
        };
        let proxy = Proxy::build(&config, &options).unwrap_or_else(|errors| panic!("{errors}"));
        let given = AdminOptions {
            surroundings: Arc::new(Variables),
            ..given
        };
        let control = proxy.control();
        let started = Admin::start(&control, document, given).await;
        let stop = CancellationToken::new();
        let running = tokio::spawn(proxy.run(stop.clone()));
        Self {
            admin: started.unwrap_or_else(|error| panic!("{error}")),
            control,
            stop,
            running: Some(running),
        }
    }

    /// A client of the API where it is now.
    pub(crate) async fn client(&self) -> Client {
        let address = self.admin.address().await.expect("the API is served");
        let address = address.replace("localhost", "127.0.0.1").parse();
        Client {
            address: address.expect("the address is one of IPv4"),
        }
    }

    /// The address of the first listener of the proxy itself.
    pub(crate) fn site(&self) -> SocketAddr {
        self.control.addresses()[0]
    }

    /// Ends the API, then the proxy.
    pub(crate) async fn stop(mut self) -> Report {
        within("the end of the API", self.admin.clone().close()).await;
        self.stop.cancel();
        let running = self.running.take().expect("taken only here");
        within("the end of the proxy", running)
            .await
            .expect("it does not panic")
    }
}

impl Drop for AdminRig {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// === impl Client ===

impl Client {
    /// Asks on a connection of its own.
    pub(crate) async fn ask(&self, ask: &Ask) -> Message {
        let mut wire = self.wire().await;
        wire.send(ask.bytes(&format!("localhost:{}", self.address.port())))
            .await;
        wire.answer_to(&ask.method).await
    }

    /// Asks, and wants to hear that it was done.
    pub(crate) async fn done(&self, ask: &Ask) {
        let answer = self.ask(ask).await;
        assert_eq!(
            (answer.head.status(), answer.text().as_str()),
            (200, ""),
            "{}",
            String::from_utf8_lossy(&ask.bytes("HOST"))
        );
    }

    /// Asks, and wants to be refused with this status; why.
    pub(crate) async fn refused(&self, status: u16, ask: &Ask) -> String {
        let answer = self.ask(ask).await;
        let body = answer.text();
        assert_eq!(answer.head.status(), status, "{body}");
        assert_eq!(answer.head.all("content-type"), ["application/json"]);
        let error: serde_json::Value = serde_json::from_str(&body).expect("an error is JSON");
        error["error"].as_str().expect("an error says why").to_owned()
    }

    /// A value of the configuration as the API prints it.
    pub(crate) async fn get(&self, path: &str) -> String {
        self.ask(&Ask::new("GET", path)).await.text()
    }

    /// A connection to the API.
    pub(crate) async fn wire(&self) -> Wire {
        Wire::connect(self.address).await
    }
}

// === impl Ask ===

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            ..Self::default()
        }
    }

    /// With a body of JSON.
    pub(crate) fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.body(body).field("Content-Type", "application/json")
    }

    /// With a body of no type.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// With one more field, or another host.
    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What is sent; the field `Host` is `host` unless the request has one of its own.
    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.path);
        if !self.fields.iter().any(|(name, _)| name == "Host") {
            text.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }
}

// === impl Message ===

impl Message {
    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the body is text")
    }
}

// === impl Variables ===

impl Surroundings for Variables {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "GREETING").then(|| "hello".to_owned())
    }
}
