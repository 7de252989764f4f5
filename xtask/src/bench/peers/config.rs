//! The proxies' configurations: one worker, keep-alive on both sides, 32 KiB buffers where they can be set, and no logs
//! but where they belong to the workload.

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

/// What `write` says of a port with the certificate, if there are both.
fn over_tls(place: &Place, port: Option<u16>, write: impl FnOnce(u16, &Certificate) -> String) -> String {
    let both = port.zip(place.certificate.as_ref());
    both.map_or_else(String::new, |(port, certificate)| write(port, certificate))
}

fn doorway(place: &Place, ports: Ports) -> String {
    let origin = place.origin;
    let mut text = "{\n\tadmin off\n\tauto_https off\n}\n".to_owned();
    text.push_str(&caddyfile(place, ports, ""));
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
    let pool = format!("\t\t\tkeepalive_idle_conns {POOL}\n\t\t\tkeepalive_idle_conns_per_host {POOL}\n");
    let options =
        "{\n\tadmin off\n\tpersist_config off\n\tauto_https off\n\tlog {\n\t\toutput discard\n\t}\n}\n";
    format!("{options}{}", caddyfile(place, ports, &pool))
}

/// The sites that Doorway and Caddy have alike; `pool` is what Caddy has to be told of the connections that it keeps.
fn caddyfile(place: &Place, ports: Ports, pool: &str) -> String {
    let origin = place.origin;
    let to = format!("127.0.0.1:{origin}");
    let both = format!("127.0.0.1:{origin} 127.0.0.2:{origin}");
    let transport = |more: &str| match format!("{pool}{more}") {
        lines if lines.is_empty() => lines,
        lines => format!("\t\ttransport http {{\n{lines}\t\t}}\n"),
    };
    let full = format!("{FULL}{}", transport(""));
    let mut text = site(&plain(ports.plain), "", &to, &transport(""));
    text.extend(ports.full.map(|port| site(&plain(port), LOG, &both, &full)));
    let Some(certificate) = &place.certificate else {
        return text;
    };
    let (chain, key) = (certificate.chain.display(), certificate.key.display());
    let tls = format!("\ttls {chain} {key}\n");
    let over_tls = |port| format!("https://localhost:{port}");
    text.extend(
        ports
            .tls
            .map(|port| site(&over_tls(port), &tls, &to, &transport(""))),
    );
    let logged = format!("{tls}{LOG}");
    text.extend(
        ports
            .full_tls
            .map(|port| site(&over_tls(port), &logged, &both, &full)),
    );
    let Some(secure) = &place.secure else { return text };
    let verified = |versions: &str| {
        let trust = format!("\t\t\ttls_trust_pool file {chain}\n\t\t\ttls_server_name localhost\n");
        transport(&format!("{trust}\t\t\tversions {versions}\n"))
    };
    let to_tls = format!("https://127.0.0.1:{}", secure.tls);
    let to_h2c = format!("h2c://127.0.0.1:{}", secure.h2c);
    let ways = [
        (ports.up_tls, &to_tls, verified("1.1")),
        (ports.up_h2, &to_tls, verified("2")),
        (ports.up_h2c, &to_h2c, transport("\t\t\tversions h2c\n")),
    ];
    text.extend(
        ways.iter()
            .filter_map(|(port, to, how)| Some(site(&plain((*port)?), "", to, how))),
    );
    text
}

/// Balancing and health, as an operator would have them.
const FULL: &str =
    "\t\tlb_policy least_conn\n\t\tlb_try_duration 5s\n\t\thealth_uri /128\n\t\thealth_interval 1s\n";

/// An access log that nobody reads.
const LOG: &str = "\tlog {\n\t\toutput stdout\n\t}\n";

fn plain(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn site(address: &str, lines: &str, to: &str, how: &str) -> String {
    let block = if how.is_empty() {
        String::new()
    } else {
        format!(" {{\n{how}\t}}")
    };
    format!("{address} {{\n\tbind 127.0.0.1\n{lines}\treverse_proxy {to}{block}\n}}\n")
}

fn nginx(place: &Place, ports: Ports, connections: u32) -> String {
    let (origin, directory, plain) = (place.origin, place.directory.display(), ports.plain);
    let listen = |port| {
        over_tls(place, port, |port, certificate| {
            format!(
                "listen 127.0.0.1:{port} ssl http2;\n\t\tssl_certificate {};\n\t\tssl_certificate_key {};",
                certificate.chain.display(),
                certificate.key.display()
            )
        })
    };
    let secure = listen(ports.tls);
    let full = ports.full.map_or_else(String::new, |port| {
        let more = listen(ports.full_tls);
        let lines = format!("listen 127.0.0.1:{port};\n\t\t{more}\n\t\taccess_log /dev/stdout combined;");
        nginx_server(&lines, "http://both", "")
    });
    let up_tls = ports.up_tls.zip(place.certificate.as_ref()).map_or_else(String::new, |(port, certificate)| {
        let verified = format!(
            "proxy_ssl_verify on;\n\t\t\tproxy_ssl_trusted_certificate {};\n\t\t\tproxy_ssl_name localhost;\n\t\t\t\
             proxy_ssl_server_name on;",
            certificate.chain.display()
        );
        nginx_server(&format!("listen 127.0.0.1:{port};"), "https://secure", &verified)
    });
    let plain = nginx_server(
        &format!("listen 127.0.0.1:{plain};\n\t\t{secure}"),
        "http://origin",
        "",
    );
    // A name without a server is an error, so it stands for the plain origin where nobody uses it.
    let to_tls = place.secure.as_ref().map_or(origin, |secure| secure.tls);
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
	upstream both {{
		least_conn;
		server 127.0.0.1:{origin};
		server 127.0.0.2:{origin};
		keepalive {POOL};
		keepalive_requests 1000000000;
	}}
	upstream secure {{
		server 127.0.0.1:{to_tls};
		keepalive {POOL};
		keepalive_requests 1000000000;
	}}
{plain}{full}{up_tls}}}
"
    )
}

fn nginx_server(lines: &str, to: &str, more: &str) -> String {
    format!(
        "	server {{
		{lines}
		location / {{
			proxy_pass {to};
			proxy_http_version 1.1;
			proxy_set_header Connection \"\";
			{more}
		}}
	}}
"
    )
}

fn haproxy(place: &Place, ports: Ports, connections: u32) -> String {
    let origin = place.origin;
    let bind = |port| {
        over_tls(place, port, |port, certificate| {
            format!(
                "bind 127.0.0.1:{port} ssl crt {} alpn h2,http/1.1",
                certificate.both.display()
            )
        })
    };
    let to = format!("server origin 127.0.0.1:{origin} pool-max-conn {POOL}");
    let mut text = format!(
        "global
	nbthread 1
	maxconn {connections}
	no strict-limits
	tune.bufsize 32768
	log stdout format raw local0
defaults
	mode http
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	timeout http-keep-alive 1h
	option http-keep-alive
	http-reuse always
"
    );
    text.push_str(&haproxy_proxy("plain", ports.plain, &bind(ports.tls), &to));
    if let Some(port) = ports.full {
        let lines = format!("{}\n\tlog global\n\toption httplog", bind(ports.full_tls));
        let both = [1, 2].map(|number| {
            format!("server origin{number} 127.0.0.{number}:{origin} pool-max-conn {POOL} check inter 1s")
        });
        let checked = format!(
            "balance leastconn\n\toption httpchk GET /128\n\tretries 3\n\toption redispatch\n\t{}",
            both.join("\n\t")
        );
        text.push_str(&haproxy_proxy("full", port, &lines, &checked));
    }
    let (Some(secure), Some(certificate)) = (&place.secure, &place.certificate) else {
        return text;
    };
    let verified = |protocol: &str| {
        format!(
            "server origin 127.0.0.1:{} pool-max-conn {POOL} ssl verify required ca-file {} verifyhost localhost sni \
             str(localhost) alpn {protocol}",
            secure.tls,
            certificate.chain.display()
        )
    };
    let h2c = format!(
        "server origin 127.0.0.1:{} pool-max-conn {POOL} proto h2",
        secure.h2c
    );
    for (name, port, to) in [
        ("up-tls", ports.up_tls, verified("http/1.1")),
        ("up-h2", ports.up_h2, verified("h2")),
        ("up-h2c", ports.up_h2c, h2c),
    ] {
        text.extend(port.map(|port| haproxy_proxy(name, port, "", &to)));
    }
    text
}

fn haproxy_proxy(name: &str, port: u16, lines: &str, to: &str) -> String {
    format!(
        "frontend {name}
	bind 127.0.0.1:{port}
	{lines}
	default_backend to-{name}
backend to-{name}
	{to}
"
    )
}
