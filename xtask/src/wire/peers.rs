//! The proxies, each in front of an origin of its own: a plain reverse proxy and not one setting more.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::origin::Origin;
use crate::bench::launch::Running;
use crate::bench::peers::{Peer, Proxy};

/// A start that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// One that runs.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) proxy: Proxy,
    pub(super) address: SocketAddr,
    pub(super) origin: Origin,
    running: Running,
}

// === impl Server ===

impl Server {
    /// Starts `peer` with its files in `directory`, and waits until it listens.
    pub(super) fn start(peer: &Peer, directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let origin = Origin::start()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let file = directory.join("config");
        fs::write(&file, config(peer.proxy, port, &origin, directory))?;
        let mut command = Command::new(&peer.program);
        match peer.proxy {
            Proxy::Nginx => command.arg("-p").arg(directory).args(["-e", "stderr", "-c"]),
            Proxy::Haproxy => command.args(["-db", "-f"]),
            _ => command.args(["run", "--adapter", "caddyfile", "--config"]),
        };
        command
            .arg(&file)
            .env("HOME", directory)
            .env("XDG_DATA_HOME", directory)
            .env("XDG_CONFIG_HOME", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut running = Running::start(peer.proxy.name(), command, directory)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            running.must_run()?;
            ensure!(begin.elapsed() < PATIENCE, "{} does not start", peer.proxy);
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self {
            proxy: peer.proxy,
            address,
            origin,
            running,
        })
    }

    /// Fails if a case has ended it.
    pub(super) fn must_run(&mut self) -> Result<()> {
        self.running.must_run()
    }
}

fn config(proxy: Proxy, port: u16, origin: &Origin, directory: &Path) -> String {
    let (origin, directory) = (origin.address, directory.display());
    match proxy {
        Proxy::Nginx => format!(
            "daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log stderr error;
events {{
}}
http {{
	access_log off;
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
	upstream origin {{
		server {origin};
		keepalive 8;
	}}
	server {{
		listen 127.0.0.1:{port};
		location / {{
			proxy_pass http://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection \"\";
			proxy_set_header Host $host;
		}}
	}}
}}
"
        ),
        Proxy::Haproxy => format!(
            "defaults
	mode http
	timeout connect 5s
	timeout client 30s
	timeout server 30s
frontend front
	bind 127.0.0.1:{port}
	default_backend origin
backend origin
	server origin {origin}
"
        ),
        _ => format!(
            "{{\n\tadmin off\n\tpersist_config off\n}}\nhttp://:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy {origin}\n}}\n"
        ),
    }
}
