//! What the flags make, and which are refused.

use caddy_config::{EskipBreakerKind, Handler, from_caddyfile, from_json};
use clap::Parser as _;

use crate::args::{Cli, Command};

use super::*;

fn parse(flags: &[&str]) -> Result<SkipperArgs, String> {
    let arguments = ["doorway", "run"].iter().chain(flags);
    match Cli::try_parse_from(arguments)
        .map_err(|error| error.to_string())?
        .command
    {
        Command::Run(run) => Ok(run.skipper),
        other => panic!("{other:?}"),
    }
}

fn config(flags: &[&str]) -> Result<Option<Config>, String> {
    parse(flags)?.config()
}

/// What a Caddyfile with the same in it is.
fn caddyfile(text: &str) -> Config {
    from_caddyfile("Caddyfile", text, &|_| None).unwrap().config
}

#[test]
fn without_a_flag_there_is_no_configuration() {
    assert_eq!(config(&["--workers", "2", "--config", "a"]), Ok(None));
}

#[test]
fn a_file_of_routes_is_a_server_on_every_address() {
    let expected = caddyfile("{\n\tmetrics\n}\n:9090 {\n\tlog\n\teskip {\n\t\tfile routes.eskip\n\t}\n}\n");
    assert_eq!(config(&["--routes-file", "routes.eskip"]), Ok(Some(expected)));
}

#[test]
fn every_flag_is_what_the_caddyfile_calls_it() {
    let made = config(&[
        "--routes-file=a.eskip,b.eskip",
        "--inline-routes",
        "a: * -> <shunt>; b: Path(\"/b\"), -> <loopback>",
        "--inline-routes=* -> status(204) -> <shunt>",
        "--routes-urls",
        "https://a.test/routes,http://b.test/routes",
        "--address=127.0.0.1:9999",
        "--source-poll-timeout=1500",
        "--default-filters-prepend",
        "flowId(\"reuse\") -> compress()",
        "--default-filters-prepend=xforward()",
        "--default-filters-append=status(200)",
        "--edit-route=/Source[(](.*)[)]/ClientIP($1)/",
        "--clone-route=#Host#HostAny#",
        "--proxy-preserve-host",
        "--ignore-trailing-slash",
        "--normalize-host",
        "--insecure",
        "--max-loopbacks=-1",
        "--default-http-status=503",
        "--breaker=type=rate,host=www.example.org,window=300,failures=30,timeout=4m",
        "--breaker=failures=5",
        "--passive-health-check=period=1s,min-requests=10,max-drop-probability=0.9",
        "--disabled-filters=static,lua",
        "--forward-backend=http://10.0.0.1:9090",
        "--access-log-disabled",
        "--wait-for-healthcheck-interval=45s",
        "--oauth2-tokeninfo-url=https://a.test/tokeninfo",
    ]);
    let expected = caddyfile(
        "{\n\tmetrics\n\tshutdown_delay 45s\n}\nhttp://:9999 {\n\tbind 127.0.0.1\n\teskip {\n\t\tfile a.eskip b.eskip\n\
         \t\tinline `a: * -> <shunt>; b: Path(\"/b\"), -> <loopback>`\n\t\tinline `* -> status(204) -> <shunt>`\n\
         \t\turl https://a.test/routes http://b.test/routes\n\t\tpoll 1500ms\n\
         \t\tdefault_filters_prepend `flowId(\"reuse\") -> compress()`\n\t\tdefault_filters_prepend xforward()\n\
         \t\tdefault_filters_append status(200)\n\t\tedit_route /Source[(](.*)[)]/ClientIP($1)/\n\
         \t\tclone_route #Host#HostAny#\n\t\tpreserve_host\n\t\tignore_trailing_slash\n\t\tnormalize_host\n\t\tinsecure\n\
         \t\tmax_loopbacks -1\n\t\tdefault_status 503\n\
         \t\tbreaker type=rate,host=www.example.org,window=300,failures=30,timeout=4m\n\t\tbreaker failures=5\n\
         \t\tpassive_health_check period=1s,min-requests=10,max-drop-probability=0.9\n\
         \t\tdisabled_filters static lua\n\t\tforward_backend http://10.0.0.1:9090\n\t\ttokeninfo_url https://a.test/tokeninfo\n\t}\n}\n"
            .replace("clone_route #", "clone_route \"#")
            .replace("HostAny#", "HostAny#\"")
            .as_str(),
    );
    assert_eq!(made, Ok(Some(expected)));
}

#[test]
fn what_the_flags_make_can_be_loaded_again() {
    let made = config(&[
        "--routes-file=a.eskip",
        "--tls-cert=a.pem,b.pem",
        "--tls-key=a.key,b.key",
        "--breaker=type=disabled",
        "--address=unix//run/doorway.sock",
        "--max-loopbacks=0",
    ])
    .unwrap()
    .unwrap();
    assert_eq!(from_json("made", &made.to_json()).unwrap(), made);

    let server = &made.apps.http.as_ref().unwrap().servers["srv0"];
    assert_eq!(server.listen[0].to_string(), "unix//run/doorway.sock");
    assert_eq!(
        server.tls_connection_policies.as_deref(),
        Some(&[Default::default()][..])
    );
    let certificates = made.apps.tls.as_ref().unwrap().certificates.as_ref().unwrap();
    let pairs: Vec<_> = certificates
        .load_files
        .iter()
        .map(|file| (file.certificate.to_str().unwrap(), file.key.to_str().unwrap()))
        .collect();
    assert_eq!(pairs, [("a.pem", "a.key"), ("b.pem", "b.key")]);
    let Handler::Eskip(eskip) = &server.routes[0].handlers[0] else {
        panic!("another handler");
    };
    assert_eq!(eskip.breakers[0].kind, EskipBreakerKind::Disabled);
    assert_eq!(eskip.max_loopbacks, None);
}

#[test]
fn a_time_is_milliseconds_or_a_duration() {
    for (text, milliseconds) in [("3000", 3000), ("1", 1), ("10s", 10_000), ("1m30s", 90_000)] {
        assert_eq!(
            parse_time(text),
            Ok(Duration::from_millis(milliseconds)),
            "{text}"
        );
    }
    for text in ["", "0", "0s", "-1", "1.5", "often", "18446744073709551615"] {
        assert!(parse_time(text).is_err(), "{text}");
    }
}

#[test]
fn routes_and_a_configuration_file_do_not_go_together() {
    for flags in [
        &["--routes-file=a", "--config=b"][..],
        &["--inline-routes=* -> <shunt>", "Caddyfile"],
        &["--address=:80", "--config=b"],
        &["--routes-file=a", "--watch"],
        &["--routes-file=a", "--resume"],
        &["--routes-file=a", "--adapter=json"],
        &["--insecure", "--config=b"],
    ] {
        let error = config(flags).unwrap_err();
        assert!(error.contains("cannot be used with"), "{flags:?}: {error}");
    }
}

#[test]
fn mistakes_name_their_flag_and_the_way_out() {
    for (flags, expected) in [
        (
            &["--address=:80"][..],
            "add --routes-file, --inline-routes or --routes-urls",
        ),
        (&["--routes-file=a", "--tls-cert=a"], "--tls-key <FILES>"),
        (
            &["--routes-file=a", "--tls-cert=a,b", "--tls-key=c"],
            "--tls-cert names 2 files and --tls-key 1",
        ),
        (
            &["--routes-file=a,"],
            "'--routes-file <FILES>': the path is empty",
        ),
        (
            &["--routes-urls=a.test"],
            "'--routes-urls <URLS>': this is not a URL that begins with https:// or http://",
        ),
        (
            &["--routes-file=a", "--address=9090"],
            "write host:port, such as 127.0.0.1:8080",
        ),
        (
            &["--routes-file=a", "--edit-route=/a/b"],
            "expected `/regular expression/replacement/`",
        ),
        (
            &["--routes-file=a", "--clone-route=/(/b/"],
            "this regular expression is wrong: unclosed group",
        ),
        (&["--routes-file=a", "--max-loopbacks=-2"], "-2 is not in -1.."),
        (
            &["--routes-file=a", "--default-http-status=512"],
            "512 is not in 100..=511",
        ),
        (
            &["--routes-file=a", "--breaker=failure=5"],
            "did you mean `failures`?",
        ),
        (
            &["--routes-file=a", "--breaker=type=rate,failures=5"],
            "'--breaker <SETTINGS>': `window` is missing",
        ),
        (
            &["--routes-file=a", "--passive-health-check=period=1s"],
            "`min-requests` is missing",
        ),
        (
            &["--routes-file=a", "--disabled-filters=a,b-c"],
            "this is not the name of a filter",
        ),
        (
            &["--routes-file=a", "--forward-backend=a.test"],
            "expected an address such as http://10.0.0.1:9090",
        ),
        (
            &["--routes-file=a", "--source-poll-timeout=0"],
            "expected milliseconds, or a duration such as 10s",
        ),
    ] {
        let error = config(flags).unwrap_err();
        assert!(error.contains(expected), "{flags:?}: {error}");
    }
}
