//! A second server behind the proxies, which speaks TLS and HTTP/2: nginx, with a fixed answer of 128 bytes.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::launch::{Lane, Running, pinned};
use super::peers::Certificate;
use crate::contest::free_port;
use crate::process::find;

/// A start that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server as its parent sees it.
#[derive(Debug)]
pub(crate) struct SecureOrigin {
    running: Running,
    /// TLS, with HTTP/1.1 or HTTP/2.
    pub(crate) tls: u16,
    /// HTTP/2 by prior knowledge.
    pub(crate) h2c: u16,
}

// === impl SecureOrigin ===

impl SecureOrigin {
    /// Starts it on the CPU of the load.
    pub(super) fn start(directory: &Path, lane: Lane, certificate: &Certificate) -> Result<Self> {
        let nginx = find("nginx").context("nginx is not here")?;
        let (tls, h2c) = (free_port()?, free_port()?);
        let file = directory.join("secure-origin.conf");
        fs::write(&file, config(directory, tls, h2c, certificate))?;
        let mut command = pinned(lane.load, &nginx);
        command
            .args(["-e", "stderr", "-p"])
            .arg(directory)
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null());
        let mut running = Running::start("secure-origin", command, directory)?;
        let begin = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, h2c)).is_err() {
            running.must_run()?;
            ensure!(begin.elapsed() < PATIENCE, "nginx does not start as an origin");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { running, tls, h2c })
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.running.pids()
    }
}

fn config(directory: &Path, tls: u16, h2c: u16, certificate: &Certificate) -> String {
    let directory = directory.display();
    format!(
        "daemon off;
worker_processes 1;
pid {directory}/secure-origin.pid;
error_log stderr error;
events {{
	worker_connections 4096;
}}
http {{
	access_log off;
	tcp_nodelay on;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	http2_max_concurrent_streams 256;
	default_type text/plain;
	client_body_temp_path {directory}/secure-body;
	proxy_temp_path {directory}/secure-proxy;
	fastcgi_temp_path {directory}/secure-fastcgi;
	uwsgi_temp_path {directory}/secure-uwsgi;
	scgi_temp_path {directory}/secure-scgi;
	server {{
		listen 127.0.0.1:{tls} ssl http2;
		listen 127.0.0.1:{h2c} http2;
		ssl_certificate {};
		ssl_certificate_key {};
		location / {{
			return 200 {};
		}}
	}}
}}
",
        certificate.chain.display(),
        certificate.key.display(),
        "x".repeat(128)
    )
}
