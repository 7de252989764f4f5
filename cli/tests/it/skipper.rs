//! `doorway run` with Skipper's flags in the place of a configuration file.

use crate::support::{Client, Directory, Running, doorway, finish, free_port};

/// A route that says `text` in a field.
fn saying(text: &str) -> String {
    format!(r#"a: Path("/a/:x") -> setResponseHeader("X-Said", "{text} ${{x}}") -> <shunt>;"#)
}

/// What the answer to a request for `path` says, and its status.
fn said(client: &Client, path: &str) -> (u16, Option<String>) {
    let answer = client.get(path);
    let head = answer.head.to_ascii_lowercase();
    let said = head.lines().find_map(|line| line.strip_prefix("x-said: "));
    (answer.status, said.map(str::to_owned))
}

#[test]
fn routes_of_flags_are_run_and_their_file_is_followed() {
    let port = free_port();
    let client = Client::new(port);
    let directory = Directory::with("routes.eskip", &saying("one"));
    // What lies there is not read.
    directory.write("Caddyfile", "nonsense {\n\tnonsense\n}\n");
    let mut command = doorway(directory.path(), &["run", "--workers", "1"]);
    command
        .args(["--routes-file", "routes.eskip", "--source-poll-timeout", "20"])
        .args([
            "--inline-routes",
            r#"b: Path("/b") -> setResponseHeader("X-Said", "b") -> <shunt>"#,
        ])
        .args(["--default-http-status", "410", "--address"])
        .arg(format!("127.0.0.1:{port}"));
    let running = Running::start(&mut command);
    running.stderr_line("listening");
    assert_eq!(said(&client, "/a/7"), (404, Some("one 7".to_owned())));
    assert_eq!(said(&client, "/b"), (404, Some("b".to_owned())));
    assert_eq!(said(&client, "/c"), (410, None));

    directory.write("routes.eskip", &saying("two"));
    let followed = (0..100_000).any(|_| said(&client, "/a/8") == (404, Some("two 8".to_owned())));
    assert!(followed, "the file is not read again");

    running.signal("USR1");
    running.stderr_line("the signal is ignored");
    running.signal("TERM");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_balancer_can_see_that_the_process_stops() {
    let port = free_port();
    let client = Client::new(port);
    let directory = Directory::with(
        "routes.eskip",
        r#"up: Path("/health") -> status(200) -> <shunt>;
           stopping: Path("/health") && Shutdown() -> status(503) -> <shunt>;"#,
    );
    let mut command = doorway(directory.path(), &["run", "--workers", "1"]);
    command
        .args([
            "--routes-file",
            "routes.eskip",
            "--wait-for-healthcheck-interval",
            "1h",
        ])
        .args(["--address", &format!("127.0.0.1:{port}")]);
    let running = Running::start(&mut command);
    running.stderr_line("listening");
    assert_eq!(client.get("/health").status, 200);
    // Skipper's own way: every request has a line unless it is told otherwise.
    running.stderr_line("handled request");

    running.signal("TERM");
    let seen = (0..100_000).any(|_| client.get("/health").status == 503);
    assert!(seen, "nobody can see that it stops");
    running.signal("TERM");
    assert_eq!(running.end().0, Some(2));
}

#[test]
fn routes_that_do_not_parse_are_told_at_the_start() {
    let directory = Directory::new();
    let arguments = [
        "run",
        "--address",
        "127.0.0.1:0",
        "--inline-routes",
        "a: * -> status(1,) -> <shunt>",
    ];
    let finished = finish(&mut doorway(directory.path(), &arguments));
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("1:18")
            && finished
                .stderr
                .contains("no comma stands behind the last argument"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let directory = Directory::with("Caddyfile", ":0 {\n\teskip {\n\t\tfile missing.eskip\n\t}\n}\n");
    let finished = finish(&mut doorway(directory.path(), &["validate"]));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("missing.eskip: No such file"),
        "{}",
        finished.stderr
    );
}
