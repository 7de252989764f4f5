//! Mistakes in global options and those of servers.

use crate::caddyfile::in_the_options;

#[test]
fn global_options_say_what_is_wrong() {
    let cases = [
        ("debug yes", "2:8: unexpected argument `yes`"),
        ("debug\n\tdebug", "3:2: `debug` is given twice, first on line 2"),
        ("admin a b", "2:10: unexpected argument `b`"),
        (
            "admin off {\n\t\torigins a\n\t}",
            "2:2: `admin` takes no block here",
        ),
        (
            "admin a {\n\t\torigns a\n\t}",
            "3:3: unknown or unsupported option `origns`",
        ),
        ("auto_https", "2:2: `auto_https` needs a mode, such as off"),
        ("auto_https on", "2:13: unknown or unsupported mode `on`"),
        ("grace_period 10", "2:15: expected a duration, such as 10s"),
        ("http_port 0", "2:12: expected a port from 1 to 65535"),
        ("log a\n\tlog a", "3:2: the log `a` is defined twice"),
        (
            "log {\n\t\thostnames a\n\t}",
            "3:3: unknown or unsupported option `hostnames`",
        ),
        (
            "servers {\n\t\ttimeouts {\n\t\t\tidle 1\n\t\t}\n\t}",
            "4:9: expected a duration, such as 10s",
        ),
        (
            "servers {\n\t\ttimeouts {\n\t\t\twrite_idle 1s fast\n\t\t}\n\t}",
            "4:18: expected bytes per second, a whole number",
        ),
        (
            "servers {\n\t\ttrusted_proxies\n\t}",
            "3:3: `trusted_proxies` needs a source: `static RANGE...`",
        ),
        (
            "servers {\n\t\ttrusted_proxies dynamic\n\t}",
            "3:19: unknown or unsupported source of addresses `dynamic`",
        ),
        (
            "servers {\n\t\ttrusted_proxies static 10.0.0.0/40\n\t}",
            "3:26: expected an IP address, a network such as 10.0.0.0/8, or private_ranges",
        ),
        (
            "servers {\n\t\tmax_header_size big\n\t}",
            "3:19: expected a size, such as 32KiB",
        ),
    ];
    in_the_options(&cases);
}

#[test]
fn options_that_are_refused_say_so_and_unknown_ones_too() {
    in_the_options(&[
        ("ech a.com", "2:2: the global option `ech` is not supported"),
        ("acme_dns x", "2:2: the global option `acme_dns` is not supported"),
        ("emial a@b.c", "2:2: unknown global option `emial`"),
        (
            "servers {\n\t\tpacket_conn_wrappers {\n\t\t}\n\t}",
            "3:3: the option `packet_conn_wrappers` of `servers` is not supported",
        ),
        (
            "servers {\n\t\tprotocol h1\n\t}",
            "3:3: unknown option `protocol` of `servers`",
        ),
        (
            "metrics {\n\t\totlp\n\t}",
            "3:3: the metrics `otlp` is not supported",
        ),
        ("storage redis", "2:10: unknown or unsupported storage `redis`"),
        ("storage file_system", "2:10: `file_system` needs a root"),
        ("storage", "2:2: `storage` needs a module: `file_system`"),
        ("persist_config on", "2:17: expected `off`"),
        ("admin fd/3", "2:8: inherited descriptors are not supported"),
        ("admin {env.X}", "2:8: placeholders are not supported here"),
        (
            "admin unix//a|0444",
            "2:8: the mode of the socket lets its owner not write to it, so nobody could connect",
        ),
        ("pki {\n\t\tca other\n\t}", "3:6: there is one authority, `local`"),
        (
            "pki {\n\t\tca {\n\t\t\troot {\n\t\t\t}\n\t\t}\n\t}",
            "4:4: the option `root` of `ca` is not supported",
        ),
    ]);
}

#[test]
fn listener_wrappers_say_what_is_wrong() {
    let wrappers = |lines: &str, expected: &str| {
        let options = format!("servers {{\n\t\tlistener_wrappers {{\n\t\t\t{lines}\n\t\t}}\n\t}}");
        in_the_options(&[(&options, expected)]);
    };
    wrappers(
        "http_redirect",
        "4:4: the listener_wrappers `http_redirect` is not supported",
    );
    wrappers(
        "tailscale",
        "4:4: unknown or unsupported listener wrapper `tailscale`",
    );
    wrappers(
        "tls",
        "4:4: `tls` stands first among the listener wrappers, which is how it is without it",
    );
    wrappers(
        "proxy_protocol\n\t\t\tproxy_protocol",
        "5:4: this listener wrapper is there already",
    );
    wrappers(
        "proxy_protocol {\n\t\t\t\tallow private_ranges\n\t\t\t}",
        "5:11: expected an IP address or a network such as 10.0.0.0/8",
    );
    wrappers(
        "proxy_protocol {\n\t\t\t\tfallback_policy maybe\n\t\t\t}",
        "5:21: expected ignore, use, reject, require or skip",
    );
    wrappers(
        "proxy_protocol {\n\t\t\t\ttimeout 5\n\t\t\t}",
        "5:13: expected a duration, such as 10s",
    );
}

#[test]
fn server_options_say_what_is_wrong() {
    let cases = [
        (
            "servers {\n\t\tprotocols h1 h1\n\t}",
            "3:16: this protocol is repeated",
        ),
        (
            "servers {\n\t\tprotocols h5\n\t}",
            "3:13: expected h1, h2, h2c or h3",
        ),
        (
            "servers {\n\t\tclient_ip_headers A A\n\t}",
            "3:23: this field is repeated",
        ),
        (
            "servers {\n\t\tname x\n\t}",
            "3:3: only one server can have a name",
        ),
        (
            "servers {\n\t\tstrict_sni_host off\n\t}",
            "3:19: expected `on` or `insecure_off`",
        ),
        (
            "servers {\n\t}\n\tservers {\n\t}",
            "4:2: `servers` is given twice for the same address",
        ),
        (
            "servers :1 {\n\t\tname a\n\t}\n\tservers :2 {\n\t\tname a\n\t}",
            "6:8: another server has this name",
        ),
    ];
    in_the_options(&cases);
}
