//! Which raw paths are system requests, and that every path arrives as it was sent or as it was routed.

use crate::support::net::Net;
use crate::support::origin::{Recorder, Reply};
use crate::support::pod::token_for;
use crate::support::rig::{Doors, HOST, Rig};

/// What becomes of a target.
#[derive(Debug)]
enum Fate<'a> {
    /// It reaches the pod of the token, as this.
    Pod(&'a str),
    /// It reaches the fresh pod, as this.
    Page(&'a str),
    /// It is answered with this status and reaches nobody.
    Refused(u16),
}

/// A proxy, the fresh pod, and the pod whose token is in the paths.
struct Stage {
    rig: Rig,
    fresh: Recorder,
    pod: Recorder,
    token: String,
}

// === impl Stage ===

impl Stage {
    async fn start() -> Self {
        let server = Net::fresh().server(1);
        let fresh = Recorder::saying(server.pod(1), "fresh").await;
        let port = fresh.addr().port();
        let pod = Recorder::start_at((server.pod(2), port).into(), |_| Reply::ok("pod")).await;
        let rig = Doors::server(server, server.pod(1), port).start();
        Self {
            rig,
            fresh,
            pod,
            token: token_for(server.pod(2)),
        }
    }

    /// Sends a target, in which `TOK` stands for the token, and checks where it arrives.
    async fn check(&self, target: &str, fate: &Fate<'_>) {
        let seen = |recorder: &Recorder| recorder.requests().len();
        let (pages, pods) = (seen(&self.fresh), seen(&self.pod));
        let target = target.replace("TOK", &self.token);
        let request = format!("GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
        let status = self.rig.wire().await.ask(request).await.head.status();
        let (pages, pods) = (seen(&self.fresh) - pages, seen(&self.pod) - pods);
        let (wanted, arrived) = match fate {
            Fate::Pod(wanted) => (wanted, self.pod.requests()),
            Fate::Page(wanted) => (wanted, self.fresh.requests()),
            Fate::Refused(wanted) => {
                assert_eq!((status, pages, pods), (*wanted, 0, 0), "{target}: {fate:?}");
                return;
            }
        };
        let counts = if matches!(fate, Fate::Pod(_)) {
            (0, 1)
        } else {
            (1, 0)
        };
        assert_eq!((status, (pages, pods)), (200, counts), "{target}: {fate:?}");
        let arrived = arrived.last().expect("counted above").head.target().to_owned();
        assert_eq!(arrived, wanted.replace("TOK", &self.token), "{target}");
    }

    async fn check_unchanged(&self, targets: &[&str], to_pod: bool) {
        for target in targets {
            let fate = if to_pod {
                Fate::Pod(target)
            } else {
                Fate::Page(target)
            };
            self.check(target, &fate).await;
        }
    }
}

#[tokio::test]
async fn a_system_path_goes_to_the_pod_of_its_token_byte_for_byte() {
    let stage = Stage::start().await;
    let targets = [
        "/~/TOK",
        "/~/TOK/",
        "/~/TOK?x=/~/y",
        "/~/TOK/r/7Yx2.doors.js",
        "/~/TOK/s/I1?t=3&b=0123456789abcdef",
        "/~/TOK/u/I1//shop//a%2Fb%2f/?page=2&q=%zz+%20&&=",
        "/~/TOK/u/I1/?",
        "/~/TOK/h/I1/12/name%20with;p=1,x(y)'*!$@:~[]|^{}\\",
        "/~/TOK//",
    ];
    stage.check_unchanged(&targets, true).await;
}

#[tokio::test]
async fn an_encoded_tilde_is_a_system_path_and_is_forwarded_encoded() {
    let stage = Stage::start().await;
    stage
        .check_unchanged(&["/%7E/TOK/s/I1", "/%7e/TOK/s/I1?t=1"], true)
        .await;
}

#[tokio::test]
async fn an_encoded_letter_of_the_token_is_decoded_for_routing_alone() {
    let stage = Stage::start().await;
    let (first, rest) = stage.token.split_at(1);
    let encoded = format!("/~/%{:02X}{rest}/s/I1", first.as_bytes()[0]);
    stage.check_unchanged(&[encoded.as_str()], true).await;
}

#[tokio::test]
async fn what_only_looks_like_a_system_path_is_a_page() {
    let stage = Stage::start().await;
    let targets = [
        "/",
        "/~",
        "/~/",
        "/~//TOK/s/I1",
        "//~/TOK/s/I1",
        "///",
        "/~%2FTOK/s/I1",
        "/~%2fTOK/s/I1",
        "/%2F~/TOK",
        "/%257E/TOK/s/I1",
        "/%25%37%45/TOK",
        "/a%2F..%2F~/TOK",
        "/x/~/TOK/s/I1",
        "/~x/TOK",
        "/?/~/TOK/",
        "/;/~/TOK",
        "/\\~/TOK",
        "/%5C~/TOK",
        "/a;b=c/%c0%af/%zz/%/x",
        "/a//b/?c=//d/../e/./f",
        "/%E2%82%AC/%ff",
    ];
    stage.check_unchanged(&targets, false).await;
}

#[tokio::test]
async fn a_token_with_an_encoded_slash_is_no_token() {
    let stage = Stage::start().await;
    stage.check("/~/TOK%2Fs/I1", &Fate::Refused(410)).await;
    stage.check("/~/TOK%2f", &Fate::Refused(410)).await;
}

#[tokio::test]
async fn dot_segments_are_resolved_before_routing_and_never_arrive() {
    let stage = Stage::start().await;
    let cases = [
        ("/x/../~/TOK/s/I1", Fate::Pod("/~/TOK/s/I1")),
        ("/./~/TOK/s/I1", Fate::Pod("/~/TOK/s/I1")),
        ("/~/./TOK/s/I1?a=/../b", Fate::Pod("/~/TOK/s/I1?a=/../b")),
        ("/~/x/../TOK/", Fate::Pod("/~/TOK/")),
        ("/%2e%2e/~/TOK", Fate::Pod("/~/TOK")),
        ("/x/%2E%2e/%7E/TOK", Fate::Pod("/%7E/TOK")),
        ("/x/.%2e/~/TOK", Fate::Pod("/~/TOK")),
        ("/../../~/TOK/..", Fate::Page("/~/")),
        ("/~/TOK/../../page", Fate::Page("/page")),
        ("/~/TOK/../other/", Fate::Refused(410)),
        ("/a/b/../c?d", Fate::Page("/a/c?d")),
        ("/a/...", Fate::Page("/a/...")),
        ("/a/.b/..c", Fate::Page("/a/.b/..c")),
    ];
    for (target, fate) in cases {
        stage.check(target, &fate).await;
    }
}

#[tokio::test]
async fn a_nul_in_a_path_is_refused() {
    let stage = Stage::start().await;
    for target in ["/%00", "/~/TOK/%00", "/a%00b?c"] {
        stage.check(target, &Fate::Refused(400)).await;
    }
}

#[tokio::test]
async fn an_absolute_target_is_routed_by_its_path() {
    let stage = Stage::start().await;
    stage
        .check(&format!("http://{HOST}/~/TOK/s/I1"), &Fate::Pod("/~/TOK/s/I1"))
        .await;
    stage
        .check(&format!("http://{HOST}/~%2FTOK"), &Fate::Page("/~%2FTOK"))
        .await;
    stage.check(&format!("http://{HOST}"), &Fate::Page("/")).await;
    stage
        .check(&format!("http://{HOST}?q=/~/TOK"), &Fate::Page("/?q=/~/TOK"))
        .await;
}
