//! A running proxy: started from a Caddyfile, stopped by the test or when dropped.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use caddy_config::{Config, Surroundings};
use proxy_core::{Applied, Control, Options, Proxy, Report, Stats};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::h2_client::H2;
use super::net::Server;
use super::pod::{ID_COOKIE, Protocol, SECRET};
use super::tls;
use super::wait::within;
use super::wire::Wire;

/// The host of the site that [`Rig::site`] serves.
pub(crate) const HOST: &str = "app.test";

/// Names are looked up this often when their TTL is 0, so that no test has to wait for a second.
const DNS_FLOOR: Duration = Duration::from_millis(50);

/// Global options of every rig.
const GLOBAL: &str = "{\n\tadmin off\n\tauto_https disable_redirects\n\tgrace_period 5s\n}\n";

/// A running proxy.
pub(crate) struct Rig {
    addresses: Vec<SocketAddr>,
    control: Control,
    stats: Box<dyn Fn() -> Stats + Send + Sync>,
    stop: CancellationToken,
    running: Option<JoinHandle<Report>>,
}

/// The Caddyfile of a Doors site.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    servers: Vec<(String, String, u16)>,
    settings: String,
    transport: String,
}

/// What a Caddyfile says.
pub(crate) fn adapted(file: &Path, surroundings: &dyn Surroundings) -> Result<Config, String> {
    let text = fs::read_to_string(file).expect("the file is there");
    let name = file.display().to_string();
    let adapted = caddy_config::from_caddyfile_in(&name, &text, surroundings);
    Ok(adapted.map_err(|errors| errors.to_string())?.config)
}

// === impl Rig ===

impl Rig {
    /// Starts a proxy with this Caddyfile.
    pub(crate) fn caddyfile(text: &str) -> Self {
        Self::with_workers(1, text)
    }

    /// Starts a proxy with this Caddyfile on this many worker threads.
    pub(crate) fn with_workers(workers: usize, text: &str) -> Self {
        let options = Options { workers, ..options() };
        Self::with_options(&options, text)
    }

    /// Starts a proxy with this Caddyfile and these options.
    pub(crate) fn with_options(options: &Options, text: &str) -> Self {
        let proxy = match build(options, text) {
            Ok(proxy) => proxy,
            Err(error) => panic!("the proxy does not start: {error}\n{text}"),
        };
        Self::running(proxy)
    }

    /// Starts a proxy with the Caddyfile of this name, or says what is wrong with it.
    pub(crate) fn file(
        options: &Options,
        file: &Path,
        surroundings: &dyn Surroundings,
    ) -> Result<Self, String> {
        let proxy =
            Proxy::build(&adapted(file, surroundings)?, options).map_err(|errors| errors.to_string())?;
        Ok(Self::running(proxy))
    }

    fn running(proxy: Proxy) -> Self {
        let (addresses, control) = (proxy.addresses(), proxy.control());
        let stats = Box::new(proxy.stats());
        let stop = CancellationToken::new();
        let running = tokio::spawn(proxy.run(stop.clone()));
        Self {
            addresses,
            control,
            stats,
            stop,
            running: Some(running),
        }
    }

    /// Serves one plain site for [`HOST`] with these directives.
    pub(crate) fn site(directives: &str) -> Self {
        Self::site_with_workers(1, directives)
    }

    fn site_with_workers(workers: usize, directives: &str) -> Self {
        let text = format!("{GLOBAL}http://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n");
        Self::with_workers(workers, &text)
    }

    /// Serves one TLS site for [`HOST`] with these directives.
    pub(crate) fn tls_site(directives: &str) -> Self {
        let text =
            format!("{GLOBAL}https://{HOST}:0 {{\n\tbind 127.0.0.1\n\ttls internal\n{directives}\n}}\n");
        Self::caddyfile(&text)
    }

    /// A plain site that forwards everything to `upstream`.
    pub(crate) fn to(upstream: SocketAddr) -> Self {
        Self::site(&format!("\treverse_proxy {upstream}"))
    }

    /// A plain site that forwards everything to `upstream` over HTTP/2.
    pub(crate) fn to_h2c(upstream: SocketAddr) -> Self {
        Self::site(&format!("\treverse_proxy h2c://{upstream}"))
    }

    /// Replaces the configuration; the error is everything that is wrong with the new one.
    pub(crate) async fn load(&self, text: &str) -> Result<Applied, String> {
        let config = adapt(text)?;
        let loaded = within("a load", self.control.load(config)).await;
        loaded.map_err(|errors| errors.to_string())
    }

    /// Replaces the configuration by one that is good.
    pub(crate) async fn reload(&self, text: &str) -> Applied {
        match self.load(text).await {
            Ok(applied) => applied,
            Err(error) => panic!("the configuration is refused: {error}\n{text}"),
        }
    }

    /// What replaces the configuration.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// What was counted so far.
    pub(crate) fn stats(&self) -> Stats {
        (self.stats)()
    }

    /// The address of the first listener.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The addresses of all listeners.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A raw connection to the first listener.
    pub(crate) async fn wire(&self) -> Wire {
        Wire::connect(self.addr()).await
    }

    /// A raw HTTP/1.1 connection over TLS to the first listener.
    pub(crate) async fn tls_wire(&self) -> Wire {
        Wire::over(tls::connect(self.addr(), HOST, &[b"http/1.1"]).await)
    }

    /// An HTTP/2 connection by prior knowledge to the first listener.
    pub(crate) async fn h2(&self) -> H2 {
        H2::clear(self.addr(), HOST).await
    }

    /// A GET for `path` on a connection of its own.
    pub(crate) async fn get(&self, path: &str) -> super::wire::Message {
        self.wire().await.ask(get(path)).await
    }

    /// A clean request on a new connection must still be answered, whatever happened before.
    pub(crate) async fn canary(&self) {
        let answer = within("the canary", self.get("/canary")).await;
        assert_eq!(answer.head.status(), 200, "the canary is answered");
    }

    /// Asks the proxy to stop without waiting.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the proxy has stopped by itself or as asked.
    pub(crate) async fn until_stopped(mut self) -> Report {
        let running = self.running.take().expect("taken only here");
        within("the proxy's stop", running)
            .await
            .expect("the proxy does not panic")
    }

    /// Stops the proxy and waits for it.
    pub(crate) async fn stop(self) -> Report {
        self.begin_stop();
        self.until_stopped().await
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// === impl Doors ===

impl Doors {
    /// A site in front of one server, whose fresh pod is at `host`.
    pub(crate) fn server(server: Server, host: impl ToString, port: u16) -> Self {
        Self::default().and(server, host, port)
    }

    /// One more server.
    #[expect(clippy::needless_pass_by_value, reason = "a name or an address, as it stands")]
    pub(crate) fn and(mut self, server: Server, host: impl ToString, port: u16) -> Self {
        self.servers.push((server.cidr(), host.to_string(), port));
        self
    }

    /// A site in front of one server whose pods are in `cidr`.
    pub(crate) fn in_network(cidr: &str, host: &str, port: u16) -> Self {
        Self {
            servers: vec![(cidr.to_owned(), host.to_owned(), port)],
            ..Self::default()
        }
    }

    /// One more line in `doors_handler`.
    pub(crate) fn setting(mut self, line: &str) -> Self {
        writeln!(self.settings, "\t\t{line}").expect("writing to memory");
        self
    }

    /// One more line in the transport.
    pub(crate) fn transport(mut self, line: &str) -> Self {
        writeln!(self.transport, "\t\t\t{line}").expect("writing to memory");
        self
    }

    /// Talks to pods that speak `protocol`.
    pub(crate) fn speaking(self, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => self,
            Protocol::H2c => self.transport("versions h2c"),
        }
    }

    /// Resolves names at this server.
    pub(crate) fn resolver(self, address: SocketAddr) -> Self {
        self.transport(&format!("resolvers {address}"))
    }

    /// The directives of the site.
    pub(crate) fn directives(&self) -> String {
        let Self {
            servers,
            settings,
            transport,
        } = self;
        let mut text =
            format!("\tdoors_handler {{\n\t\tsecret {SECRET}\n\t\tcookie_name {ID_COOKIE}\n{settings}");
        for (cidr, host, port) in servers {
            let lines = [
                format!("pod_cidr {cidr}"),
                format!("host {host}"),
                format!("upstream_port {port}"),
            ];
            write!(
                text,
                "\t\tupstream {{\n\t\t\t{}\n\t\t}}\n",
                lines.join("\n\t\t\t")
            )
            .expect("writing to memory");
        }
        text.push_str("\t}\n\treverse_proxy {\n\t\tdynamic doors_upstreams\n");
        if !transport.is_empty() {
            write!(text, "\t\ttransport http {{\n{transport}\t\t}}\n").expect("writing to memory");
        }
        text.push_str("\t}");
        text
    }

    /// Serves the site in the clear.
    pub(crate) fn start(&self) -> Rig {
        Rig::site(&self.directives())
    }

    /// Serves the site in the clear on this many worker threads.
    pub(crate) fn start_with_workers(&self, workers: usize) -> Rig {
        Rig::site_with_workers(workers, &self.directives())
    }

    /// Serves the site over TLS.
    pub(crate) fn start_tls(&self) -> Rig {
        Rig::tls_site(&self.directives())
    }
}

/// Options that suit a test.
pub(crate) fn options() -> Options {
    Options {
        dns_floor: DNS_FLOOR,
        ..Options::default()
    }
}

/// Builds a proxy from a Caddyfile; the error is everything that is wrong with it.
pub(crate) fn build(options: &Options, text: &str) -> Result<Proxy, String> {
    Proxy::build(&adapt(text)?, options).map_err(|errors| format!("{errors}"))
}

fn adapt(text: &str) -> Result<Config, String> {
    let adapted = caddy_config::from_caddyfile("Caddyfile", text, &|_| None);
    Ok(adapted.map_err(|errors| format!("{errors:?}"))?.config)
}

/// A GET for `path` at [`HOST`].
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
}

/// A POST of `body` to `path` at [`HOST`].
pub(crate) fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
