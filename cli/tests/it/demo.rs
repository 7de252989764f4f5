//! `doorway demo`: a session through a rollout, over real sockets and DNS.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::Value;

use crate::support::{Client, Directory, Lines, Running, doorway, finish};

/// A page as a browser has it.
struct Page {
    client: Client,
    base: String,
    session: String,
    pod: String,
}

// === impl Page ===

impl Page {
    fn load(mut client: Client, path: &str) -> Self {
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{}", answer.head);
        client.cookie = answer.cookies();
        let field = |name: &str| {
            let (_, rest) = answer.body.split_once(&format!("data-{name}=\"")).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        Self {
            client,
            base: field("base"),
            session: field("session"),
            pod: field("pod"),
        }
    }

    fn hook(&self, hook: &str) -> u16 {
        self.client
            .ask("POST", &format!("{}/h/{}/{hook}", self.base, self.session))
            .status
    }

    fn stream(&self) -> Lines {
        self.client
            .stream(&format!("{}/s/{}?t=1", self.base, self.session))
    }
}

fn start() -> (Running, Client, Directory) {
    let directory = Directory::new();
    let running = Running::start(&mut doorway(
        directory.path(),
        &["demo", "--port", "0", "--workers", "1"],
    ));
    let line = running.stdout_line("http://127.0.0.1:");
    let (_, rest) = line.split_once("127.0.0.1:").unwrap();
    let port = rest.split('/').next().unwrap().parse().unwrap();
    (running, Client::new(port), directory)
}

/// Reads events until one fits, and checks that the session counts without a gap meanwhile.
fn until(lines: &mut Lines, fits: impl Fn(&Value) -> bool) -> Value {
    let mut before = None;
    for _ in 0..1000 {
        let event = lines.next().expect("the stream goes on");
        let ticks = event["session"]["ticks"]
            .as_u64()
            .expect("an event of the session");
        if let Some(before) = before {
            assert!(ticks == before || ticks == before + 1, "from {before} to {ticks}");
        }
        before = Some(ticks);
        if fits(&event) {
            return event;
        }
    }
    panic!("no event fits");
}

fn counted(event: &Value) -> u64 {
    event["session"]["ticks"].as_u64().unwrap()
}

#[test]
fn a_session_keeps_counting_through_a_roll_out_and_its_end_stops_the_old_pod() {
    let (running, client, _directory) = start();
    let old = Page::load(client.clone(), "/");
    assert_eq!(old.pod, "127.0.0.2");
    let mut counting = old.stream();
    until(&mut counting, |event| counted(event) >= 2);
    assert_eq!(old.hook("1"), 200);
    until(&mut counting, |event| event["session"]["clicks"] == 1);

    assert_eq!(old.hook("2"), 200, "the rollout begins");
    let draining = until(&mut counting, |event| event["phase"] == "draining");
    assert_eq!(draining["fresh"], "127.0.0.3");
    let history = draining["history"].to_string();
    assert!(
        history.contains("the proxy looked the name up and got 127.0.0.3"),
        "{history}"
    );

    // A stranger and the old session's own browser both land on the fresh pod.
    let mut fresh = Page::load(client, "/");
    while fresh.pod != "127.0.0.3" {
        until(&mut counting, |event| counted(event) > counted(&draining));
        fresh = Page::load(Client::new(fresh.client.port), "/");
    }
    assert_eq!(Page::load(old.client.clone(), "/garden").pod, "127.0.0.3");

    let before = until(&mut counting, |_| true);
    until(&mut counting, |event| counted(event) > counted(&before) + 2);
    assert_eq!(old.hook("1"), 200, "the old session still answers");
    assert_eq!(old.hook("3/garden"), 410, "a link leads away from a draining pod");

    let mut watching = fresh.stream();
    let gone = |event: &Value| {
        event["pods"]
            .as_array()
            .unwrap()
            .iter()
            .all(|pod| pod["address"] != old.pod.as_str())
    };
    until(&mut watching, gone);
    assert_eq!(old.hook("1"), 410, "the old pod is gone, and so is its session");

    running.signal("TERM");
    let end = std::iter::from_fn(|| watching.next()).last().unwrap();
    assert_eq!(end["end"], "stopped", "the page is told");
    let (code, stderr) = running.end();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.ends_with("The demo has ended."), "{stderr}");
}

#[test]
fn without_token_and_cookie_of_a_session_nothing_can_be_rolled_out() {
    let (running, client, _directory) = start();
    let page = Page::load(client.clone(), "/");
    let garbage = client.ask("POST", "/~/garbage/h/x/2");
    assert_eq!(garbage.status, 410);
    let stranger = Client::new(client.port);
    let path = format!("{}/h/{}/2", page.base, page.session);
    assert_eq!(
        stranger.ask("POST", &path).status,
        410,
        "without the cookie there is no session"
    );
    running.signal("INT");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_port_that_is_taken_is_named_with_a_way_out() {
    let taken = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 3), 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let directory = Directory::new();
    let failed = finish(&mut doorway(
        directory.path(),
        &["demo", "--port", &port.to_string()],
    ));
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(
        failed.stderr.contains(&format!("127.0.0.3:{port} is in use")),
        "{}",
        failed.stderr
    );
    assert!(
        failed.stderr.contains("doorway demo --port "),
        "{}",
        failed.stderr
    );
}

#[test]
fn the_shown_configuration_is_one_that_run_accepts() {
    let directory = Directory::new();
    let shown = finish(&mut doorway(directory.path(), &["demo", "--show-config"]));
    assert_eq!(shown.code, Some(0));
    directory.write("Caddyfile", &shown.stdout);
    let mut validate = doorway(directory.path(), &["validate"]);
    let valid = finish(validate.env("SECRET", crate::support::SECRET));
    assert_eq!((valid.code, valid.stderr.as_str()), (Some(0), ""));
}
