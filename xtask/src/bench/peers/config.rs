//! The proxies' configurations: one worker, keep-alive on both sides, 32 KiB buffers where they can be set, no logs.

use std::path::Path;

use super::certificate::Certificate;
use super::{Place, Ports, Proxy};
use crate::bench::workload::SECRET;

/// Idle connections that each proxy may keep to the origin: more than 16 times 16 streams need.
const POOL: u32 = 512;

/// The configuration of `proxy`. Pingora has none but its command line.
pub(crate) fn text(proxy: Proxy, place: &Place, ports: Ports, connections: u32) -> String {
    match proxy {
        Proxy::Doorway | Proxy::Before => doorway(place, ports),
        Proxy::Nginx => nginx(place, ports, connections),
        Proxy::Haproxy => haproxy(place, ports, connections),
        Proxy::Caddy => caddy(place, ports),
        Proxy::Pingora => String::new(),
    }
}

/// The command line that reads it from `file`.
pub(crate) fn arguments(proxy: Proxy, file: &Path, place: &Place, ports: Ports) -> Vec<String> {
    let (file, directory) = (file.display(), place.directory.display());
    match proxy {
        Proxy::Doorway | Proxy::Before => words(&["run", "--config", &file.to_string()]),
        Proxy::Nginx => words(&[
            "-p",
            &directory.to_string(),
            "-c",
            &file.to_string(),
            "-e",
            "stderr",
        ]),
        Proxy::Haproxy => words(&["-db", "-f", &file.to_string()]),
        Proxy::Caddy => words(&["run", "--adapter", "caddyfile", "--config", &file.to_string()]),
        Proxy::Pingora => vec![
            ports.plain.to_string(),
            place.origin.to_string(),
            POOL.to_string(),
        ],
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn tls(place: &Place, ports: Ports) -> Option<(u16, &Certificate)> {
    ports.tls.zip(place.certificate.as_ref())
}

fn doorway(place: &Place, ports: Ports) -> String {
    let origin = place.origin;
    let mut text = format!(
        "{{\n\tadmin off\n\tauto_https off\n}}\n{}",
        caddyfile_site(ports.plain, origin, "")
    );
    if let Some((port, certificate)) = tls(place, ports) {
        text.push_str(&caddyfile_tls_site(port, certificate, origin, ""));
    }
    if let Some(port) = ports.doors {
        text.push_str(&format!(
            "http://127.0.0.1:{port} {{
	bind 127.0.0.1
	doors_handler {{
		secret {SECRET}
		upstream {{
			pod_cidr 127.0.0.2/32
			host 127.0.0.1
			upstream_port {origin}
		}}
	}}
	reverse_proxy {{
		dynamic doors_upstreams
	}}
}}
"
        ));
    }
    text
}

fn caddy(place: &Place, ports: Ports) -> String {
    let pool = format!(
        " {{\n\t\ttransport http {{\n\t\t\tkeepalive_idle_conns {POOL}\n\t\t\tkeepalive_idle_conns_per_host {POOL}\n\t\t}}\n\t}}"
    );
    let options =
        "{\n\tadmin off\n\tpersist_config off\n\tauto_https off\n\tlog {\n\t\toutput discard\n\t}\n}\n";
    let mut text = format!("{options}{}", caddyfile_site(ports.plain, place.origin, &pool));
    if let Some((port, certificate)) = tls(place, ports) {
        text.push_str(&caddyfile_tls_site(port, certificate, place.origin, &pool));
    }
    text
}

fn caddyfile_site(port: u16, origin: u16, pool: &str) -> String {
    format!("http://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy 127.0.0.1:{origin}{pool}\n}}\n")
}

fn caddyfile_tls_site(port: u16, certificate: &Certificate, origin: u16, pool: &str) -> String {
    let (chain, key) = (certificate.chain.display(), certificate.key.display());
    format!(
        "https://localhost:{port} {{\n\tbind 127.0.0.1\n\ttls {chain} {key}\n\treverse_proxy 127.0.0.1:{origin}{pool}\n}}\n"
    )
}

fn nginx(place: &Place, ports: Ports, connections: u32) -> String {
    let (origin, directory, plain) = (place.origin, place.directory.display(), ports.plain);
    let secure = tls(place, ports).map_or_else(String::new, |(port, certificate)| {
        format!(
            "listen 127.0.0.1:{port} ssl http2;\n\t\tssl_certificate {};\n\t\tssl_certificate_key {};",
            certificate.chain.display(),
            certificate.key.display()
        )
    });
    format!(
        "daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log stderr error;
events {{
	worker_connections {connections};
}}
http {{
	access_log off;
	sendfile on;
	tcp_nopush on;
	tcp_nodelay on;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	client_body_buffer_size 64k;
	client_body_temp_path {directory}/nginx-body;
	proxy_temp_path {directory}/nginx-proxy;
	fastcgi_temp_path {directory}/nginx-fastcgi;
	uwsgi_temp_path {directory}/nginx-uwsgi;
	scgi_temp_path {directory}/nginx-scgi;
	proxy_buffer_size 32k;
	proxy_buffers 8 32k;
	proxy_busy_buffers_size 64k;
	upstream origin {{
		server 127.0.0.1:{origin};
		keepalive {POOL};
		keepalive_requests 1000000000;
	}}
	server {{
		listen 127.0.0.1:{plain};
		{secure}
		location / {{
			proxy_pass http://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection \"\";
		}}
	}}
}}
"
    )
}

fn haproxy(place: &Place, ports: Ports, connections: u32) -> String {
    let (origin, plain) = (place.origin, ports.plain);
    let secure = tls(place, ports).map_or_else(String::new, |(port, certificate)| {
        format!(
            "bind 127.0.0.1:{port} ssl crt {} alpn h2,http/1.1",
            certificate.both.display()
        )
    });
    format!(
        "global
	nbthread 1
	maxconn {connections}
	no strict-limits
	tune.bufsize 32768
defaults
	mode http
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	timeout http-keep-alive 1h
	option http-keep-alive
	http-reuse always
frontend front
	bind 127.0.0.1:{plain}
	{secure}
	default_backend origin
backend origin
	server origin 127.0.0.1:{origin} pool-max-conn {POOL}
"
    )
}
