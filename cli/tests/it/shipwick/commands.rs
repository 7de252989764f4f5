//! The commands, against Doorway's own admin API.

use serde_json::Value;

use super::pod::{Manner, Pod};
use super::proxies::{Kind, Proxy};
use crate::support::{Directory, Finished, Running, doorway, finish, finish_with_input};
use shipwick_routes::RenderOptions;

const DOCUMENT: &str = r#"{"apps": [
    {"name": "web", "domain": "web.example.com", "port": 8080, "replicas": [{"name": "web_2"}, {"name": "web_1"}]},
    {"name": "api", "domain": "api.example.com", "port": 80, "replicas": []}
], "agent": {"domain": "agent.example.com", "upstream": "3f2b9c1d7a64:9000"}}"#;

const ADMIN: &str = "unix//run/caddy/admin.sock";

fn run(directory: &Directory, arguments: &[&str]) -> Finished {
    let arguments = [&["shipwick"], arguments].concat();
    finish(&mut doorway(directory.path(), &arguments))
}

/// A running Doorway, and the options that render for it.
fn proxy() -> (Proxy, [String; 5]) {
    let proxy = Proxy::start(Kind::Doorway, RenderOptions::default());
    let socket = proxy.directory.path().join("admin.sock");
    let options = [
        "--admin".to_owned(),
        format!("unix/{}", socket.display()),
        "--plain-http".to_owned(),
        "--listen".to_owned(),
        format!("127.0.0.1:{}", proxy.port),
    ];
    (proxy, options)
}

fn with<'a>(command: &'a [&'a str], options: &'a [String]) -> Vec<&'a str> {
    let options = options.iter().map(String::as_str);
    command.iter().copied().chain(options).collect()
}

fn document(ports: &[u16]) -> String {
    let replicas: Vec<String> = ports
        .iter()
        .map(|port| format!(r#"{{"name": "127.0.0.1", "port": {port}}}"#))
        .collect();
    format!(
        r#"{{"apps": [{{"name": "web", "domain": "web.example.com", "replicas": [{}]}}]}}"#,
        replicas.join(", ")
    )
}

#[test]
fn what_is_rendered_is_that_of_the_library() {
    let directory = Directory::with("desired.json", DOCUMENT);
    let rendered = run(&directory, &["render", "desired.json", "--admin", ADMIN]);
    assert_eq!(rendered.code, Some(0), "{}", rendered.stderr);
    let mut read = shipwick_routes::Document::parse(DOCUMENT).unwrap();
    read.set_admin(ADMIN);
    let expected = shipwick_routes::render(&read.check().unwrap(), &RenderOptions::default());
    assert_eq!(rendered.stdout.as_bytes(), expected.bytes());
    let mut piped = doorway(directory.path(), &["shipwick", "render", "--fingerprint"]);
    let piped = finish_with_input(piped.env("SHIPWICK_CADDY_ADMIN", ADMIN), DOCUMENT);
    assert_eq!(piped.stdout, format!("{}\n", expected.fingerprint()));
}

#[test]
fn the_bytes_of_0_1_0_are_an_option() {
    let document = r#"{"admin": "unix//run/caddy/admin.sock"}"#;
    let directory = Directory::with("desired.json", document);
    let old = run(
        &directory,
        &["render", "desired.json", "--compat", "0.1.0", "--fingerprint"],
    );
    assert_eq!(old.stdout, "0f98c2b1b3904f3a\n", "{}", old.stderr);
}

#[test]
fn what_is_wrong_is_said_at_once_with_its_place() {
    let directory = Directory::new();
    for (text, said) in [
        ("{", "error: desired.json:1:1: EOF while parsing an object"),
        (r#"{"aps": 1}"#, "error: desired.json:1:6: unknown field `aps`"),
        (
            r#"{"apps": [{"name": "a", "domain": "a.com", "port": 1, "replicas": []},
                {"name": "b", "domain": "A.com", "port": 0, "replicas": []}]}"#,
            "error: invalid desired.json\n\napps[1].port:\n  the port must be between 1 and 65535\napps[1].domain:\n  \
             already served by application \"a\"",
        ),
    ] {
        directory.write("desired.json", text);
        let refused = run(&directory, &["render", "desired.json", "--admin", ADMIN]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        assert!(refused.stderr.starts_with(said), "{}", refused.stderr);
    }
    let nowhere = run(&directory, &["render", "nothing.json"]);
    assert!(
        nowhere.stderr.starts_with("error: cannot read nothing.json: "),
        "{}",
        nowhere.stderr
    );
    directory.write("desired.json", DOCUMENT);
    let addressless = run(&directory, &["render", "desired.json"]);
    assert!(
        addressless.stderr.ends_with(
            "admin:\n  is required: where the proxy's admin API is\n\n  help: say it with --admin, in \
             SHIPWICK_CADDY_ADMIN or in the document\n"
        ),
        "{}",
        addressless.stderr
    );
    let wrong = run(&directory, &["status", "--admin", "caddy:2019"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let expected = "invalid value \"caddy:2019\": expected unix//absolute/path.sock or http://host:port\n";
    assert_eq!(wrong.stderr, format!("error: --admin: {expected}"));
    let mut command = doorway(directory.path(), &["shipwick", "render", "desired.json"]);
    let wrong = finish(command.env("SHIPWICK_CADDY_ADMIN", "caddy:2019"));
    assert_eq!(
        (wrong.code, wrong.stderr),
        (Some(2), format!("error: SHIPWICK_CADDY_ADMIN: {expected}"))
    );
}

#[test]
fn a_document_that_is_too_long_is_not_cut() {
    let directory = Directory::new();
    let mut command = doorway(directory.path(), &["shipwick", "render", "--admin", ADMIN]);
    let long = finish_with_input(&mut command, &format!("{}{{}}", " ".repeat(64 << 20)));
    assert_eq!(
        (long.code, long.stderr.as_str()),
        (
            Some(1),
            "error: cannot read standard input: it is longer than 64 MiB\n"
        )
    );
    std::fs::create_dir(directory.path().join("routes")).unwrap();
    for name in ["a", "b"] {
        directory.write(
            &format!("routes/{name}.json"),
            &format!("{}{{}}", " ".repeat(40 << 20)),
        );
    }
    let long = run(&directory, &["render", "routes", "--admin", ADMIN]);
    assert!(
        long.stderr.starts_with("error: cannot read routes/b.json: "),
        "{}",
        long.stderr
    );
}

#[test]
fn a_directory_is_put_together() {
    let directory = Directory::new();
    std::fs::create_dir(directory.path().join("routes")).unwrap();
    directory.write(
        "routes/20.json",
        r#"{"apps": [{"name": "b", "domain": "b.com", "port": 1, "replicas": []}]}"#,
    );
    directory.write("routes/10.json", r#"{"admin": "unix//x/y"}"#);
    directory.write(
        "routes/30.json",
        r#"{"apps": [{"name": "a", "domain": "b.com", "port": 1, "replicas": []}]}"#,
    );
    directory.write("routes/README", "no JSON");
    let refused = run(&directory, &["render", "routes"]);
    let said =
        "error: invalid routes\n\nroutes/20.json: apps[0].domain:\n  already served by application \"a\"\n";
    assert_eq!(refused.stderr, said);
    directory.write("routes/30.json", r#"{"admin": "unix//x/z"}"#);
    let twice = run(&directory, &["render", "routes"]);
    assert_eq!(
        twice.stderr,
        "error: routes/30.json: admin: another file has it already; leave it to one\n"
    );
    std::fs::remove_file(directory.path().join("routes/30.json")).unwrap();
    let good = run(&directory, &["render", "routes"]);
    assert!(good.stdout.contains(r#""listen":"unix//x/y""#), "{}", good.stderr);
}

#[test]
fn routes_are_compared_applied_and_told() {
    let (proxy, options) = proxy();
    let pod = Pod::start(Manner::Answers);
    proxy.directory.write("desired.json", &document(&[pod.port()]));
    let run = |command: &[&str]| run(&proxy.directory, &with(command, &options));
    let status = |format: &[&str]| {
        let command = [&["shipwick", "status", &options[0], &options[1]], format].concat();
        finish(&mut doorway(proxy.directory.path(), &command))
    };
    let before = status(&["--json"]);
    assert_eq!(
        before.stdout,
        "{\"enabled\":true,\"error\":\"\",\"fingerprint\":null,\"reachable\":true,\"routes\":0}\n"
    );
    let differs = run(&["diff", "desired.json"]);
    assert_eq!(differs.code, Some(1), "{}", differs.stderr);
    let line = format!("+ web.example.com -> 127.0.0.1:{}", pod.port());
    assert!(differs.stdout.contains(&line), "{}", differs.stdout);
    let applied = run(&["apply", "desired.json"]);
    assert!(
        applied.stdout.starts_with("1 route, fingerprint "),
        "{}{}",
        applied.stdout,
        applied.stderr
    );
    assert_eq!(proxy.get("web.example.com").body, pod.port().to_string());
    let same = run(&["diff", "desired.json"]);
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (Some(0), ""),
        "{}",
        same.stderr
    );
    // An address may have the mode of the socket behind it.
    let with_mode = format!("{}|0660", options[1]);
    let seen = finish(&mut doorway(
        proxy.directory.path(),
        &["shipwick", "status", "--admin", &with_mode],
    ));
    assert!(seen.stdout.contains("routes       1\n"), "{}", seen.stderr);
    let after = status(&[]);
    let fingerprint = applied.stdout.trim().rsplit(' ').next().unwrap();
    let shown = format!("enabled      yes\nreachable    yes\nroutes       1\nfingerprint  {fingerprint}\n");
    assert_eq!(after.stdout, shown);
}

#[test]
fn without_a_proxy_there_is_a_status_too() {
    let directory = Directory::new();
    let none = run(&directory, &["status"]);
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (Some(0), "enabled      no\nreachable    no\nroutes       0\n")
    );
    assert_eq!(
        none.stderr,
        "no proxy is named: say with --admin or in SHIPWICK_CADDY_ADMIN where its admin API is\n"
    );
    let socket = directory.path().join("none.sock");
    let admin = format!("unix/{}", socket.display());
    let gone = run(&directory, &["status", "--json", "--admin", &admin]);
    let shown: Value = serde_json::from_str(&gone.stdout).unwrap();
    assert_eq!((gone.code, &shown["reachable"]), (Some(1), &Value::Bool(false)));
    assert_eq!(shown["error"], format!("nothing listens on {admin}"));
    assert_eq!(
        gone.stderr,
        format!(
            "error: nothing listens on {admin}\n  help: start the proxy, or say with --admin where its admin API is\n"
        )
    );
}

#[test]
fn a_refusal_of_the_proxy_is_told() {
    let (proxy, options) = proxy();
    proxy.directory.write("desired.json", &document(&[1]));
    let options: Vec<String> = options
        .iter()
        .map(|option| option.replace("127.0.0.1:", "not an address "))
        .collect();
    let refused = run(&proxy.directory, &with(&["apply", "desired.json"], &options));
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .starts_with("error: the proxy rejected the configuration (HTTP 400): "),
        "{}",
        refused.stderr
    );
}

#[test]
fn what_is_watched_is_kept_in_place() {
    let (proxy, options) = proxy();
    let (old, new) = (Pod::start(Manner::Answers), Pod::start(Manner::Answers));
    proxy.directory.write("desired.json", &document(&[old.port()]));
    let command = with(&["shipwick", "watch", "desired.json"], &options);
    let watching = Running::start(&mut doorway(proxy.directory.path(), &command));
    watching.stderr_line("keeping the proxy at the desired routes");
    let serves = |pod: &Pod| {
        let port = pod.port().to_string();
        // It looks once a second.
        std::iter::repeat_with(|| proxy.get_if_served("web.example.com"))
            .take(20_000)
            .any(|body| body == port)
    };
    assert!(serves(&old));
    // What is wrong is said, and changes nothing.
    proxy.directory.write("desired.json", "{");
    let said = watching.stderr_line("the routes stay as they are");
    assert!(said.contains("desired.json:1:1"), "{said}");
    assert!(serves(&old));
    proxy.directory.write("desired.json", &document(&[new.port()]));
    watching.stderr_line("what is read is right again");
    assert!(serves(&new));
    watching.signal("TERM");
    let (code, _) = watching.end();
    assert_eq!(code, Some(0));
    assert!(serves(&new));
}

#[test]
fn the_example_is_rendered() {
    let directory = Directory::with("desired.json", include_str!("../../../../examples/desired.json"));
    let rendered = run(&directory, &["render", "desired.json"]);
    assert_eq!((rendered.code, rendered.stderr.as_str()), (Some(0), ""));
    assert!(
        rendered.stdout.contains("shipwick_web_7_1:8080") && !rendered.stdout.contains("shipwick_web_7_2")
    );
}

#[test]
fn the_schema_is_one() {
    let directory = Directory::new();
    let schema: Value = serde_json::from_str(&run(&directory, &["schema"]).stdout).unwrap();
    assert_eq!(schema["title"], "Desired routes");
    assert_eq!(schema["properties"]["apps"]["items"]["$ref"], "#/$defs/App");
}
