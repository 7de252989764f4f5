//! What a pod answers, without a socket.

use doors_token::TokenCipher;
use http_body_util::BodyExt as _;

use super::*;
use crate::demo::cluster::{FIRST_POD, SECOND_POD};

/// A pod and what a browser knows of it after it loaded a page.
struct Browser {
    app: App,
    shared: Arc<Shared>,
    token: String,
    cookie: String,
    session: String,
}

// === impl Browser ===

impl Browser {
    fn new() -> Self {
        let cipher = TokenCipher::new(&doors_token::generate_secret().unwrap()).unwrap();
        let shared = Arc::new(Shared::new(cipher, Instant::now()));
        shared.change(|cluster| cluster.add_pod(SECOND_POD, shared.token(SECOND_POD)));
        let app = App::new(FIRST_POD, Arc::clone(&shared));
        let token = shared.with(|cluster| cluster.pod(FIRST_POD).unwrap().token.clone());
        let page = app.answer(&request("GET", "/", ""), &CancellationToken::new());
        assert_eq!(page.status(), StatusCode::OK);
        let cookie = set_cookies(&page)[0].split(';').next().unwrap().to_owned();
        let session = shared.with(|cluster| *cluster.pod(FIRST_POD).unwrap().sessions.keys().next().unwrap());
        Self {
            app,
            shared,
            token,
            cookie,
            session: session.to_string(),
        }
    }

    fn ask(&self, method: &str, path: &str) -> Response<Body> {
        self.app
            .answer(&request(method, path, &self.cookie), &CancellationToken::new())
    }

    fn hook(&self, hook: &str) -> StatusCode {
        self.ask("POST", &format!("/~/{}/h/{}/{hook}", self.token, self.session))
            .status()
    }

    fn drain(&self) {
        self.shared.change(|cluster| {
            cluster.roll_out(Instant::now()).unwrap();
            cluster.looked_up(SECOND_POD, Instant::now());
            cluster.tick(Instant::now());
        });
    }

    fn clicks(&self) -> u64 {
        let id = Id::parse(&self.session).unwrap();
        self.shared
            .with(|cluster| cluster.pod(FIRST_POD).unwrap().sessions[&id].clicks)
    }
}

fn request(method: &str, path: &str, cookie: &str) -> Request<()> {
    let builder = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost:8080");
    builder.header("cookie", cookie).body(()).unwrap()
}

fn set_cookies(answer: &Response<Body>) -> Vec<String> {
    let lines = answer.headers().get_all(header::SET_COOKIE).iter();
    lines.map(|line| line.to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_page_sets_the_session_cookie_named_by_the_token_and_the_affinity_cookie() {
    let browser = Browser::new();
    let page = browser.ask("GET", "/garden");
    let cookies = set_cookies(&page);
    assert_eq!(cookies.len(), 2);
    assert!(
        cookies[0].starts_with(&format!("{}; ", browser.cookie)),
        "the session goes on"
    );
    assert!(browser.cookie.starts_with(&format!("{}=", browser.token)));
    assert!(cookies[1].starts_with(&format!("upstream={}; ", browser.token)));
    assert!(
        cookies
            .iter()
            .all(|cookie| cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"))
    );
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"));
}

#[test]
fn a_draining_pod_serves_its_sessions_but_pins_nobody() {
    let browser = Browser::new();
    browser.drain();
    let path = format!("/~/{}/h/{}/1", browser.token, browser.session);
    let answer = browser.ask("POST", &path);
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(set_cookies(&answer).len(), 1, "no affinity cookie");
    assert_eq!(browser.clicks(), 1);
    assert_eq!(browser.hook("3/garden"), StatusCode::GONE, "a link leads away");
    assert_eq!(browser.hook("1"), StatusCode::GONE);
}

#[test]
fn a_link_on_a_fresh_pod_keeps_the_session() {
    let browser = Browser::new();
    assert_eq!(browser.hook("3/garden"), StatusCode::OK);
    assert_eq!(browser.hook("1"), StatusCode::OK);
    assert_eq!(browser.hook("3/cellar"), StatusCode::NOT_FOUND);
}

#[test]
fn a_roll_out_while_one_is_under_way_is_a_conflict() {
    let browser = Browser::new();
    assert_eq!(browser.hook("2"), StatusCode::OK);
    assert_eq!(browser.hook("2"), StatusCode::CONFLICT);
}

#[test]
fn without_the_cookie_of_its_session_nothing_can_be_done() {
    let mut browser = Browser::new();
    let other = Browser::new();
    for cookie in [String::new(), format!("{}=nonsense", browser.token), other.cookie] {
        browser.cookie = cookie;
        assert_eq!(browser.hook("2"), StatusCode::GONE);
        let stream = format!("/~/{}/s/{}", browser.token, browser.session);
        assert_eq!(browser.ask("GET", &stream).status(), StatusCode::GONE);
    }
}

#[test]
fn unknown_paths_and_methods_make_no_session() {
    let browser = Browser::new();
    let known = format!("/~/{}/h/{}/1", browser.token, browser.session);
    for (method, path) in [
        ("GET", "/favicon.ico"),
        ("POST", "/"),
        ("HEAD", "/"),
        ("GET", known.as_str()),
        ("GET", "/~/"),
        ("GET", "/~/token"),
        ("GET", "/~/token/s/not-an-id"),
        ("POST", "/~/token/h/"),
    ] {
        let answer = browser.ask(method, path);
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method} {path}");
    }
    let sessions = browser
        .shared
        .with(|cluster| cluster.pod(FIRST_POD).unwrap().sessions.len());
    assert_eq!(sessions, 1);
}

#[test]
fn a_foreign_host_name_is_refused() {
    let browser = Browser::new();
    for (host, local) in [
        ("localhost", true),
        ("LocalHost:8080", true),
        ("127.0.0.1:9", true),
        ("127.0.0.2", true),
        ("[::1]:8080", true),
        ("evil.example:8080", false),
        ("10.0.0.1", false),
        ("127.0.0.1.evil.example", false),
        ("", false),
    ] {
        let request = Request::builder().uri("/").header("host", host).body(()).unwrap();
        let answer = browser.app.answer(&request, &CancellationToken::new());
        assert_eq!(answer.status() == StatusCode::OK, local, "{host}");
    }
    let request = Request::builder().uri("/").body(()).unwrap();
    let answer = browser.app.answer(&request, &CancellationToken::new());
    assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST);
}

/// The next line of a stream; each line is one frame.
async fn line(body: &mut Body) -> serde_json::Value {
    let frame = body.frame().await.unwrap().unwrap();
    serde_json::from_slice(&frame.into_data().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stream_tells_every_change_until_a_newer_one_takes_over() {
    let browser = Browser::new();
    let path = format!("/~/{}/s/{}?t=1", browser.token, browser.session);
    let mut first = browser.ask("GET", &path);
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(line(first.body_mut()).await["session"]["clicks"], 0);
    assert_eq!(browser.hook("1"), StatusCode::OK);
    assert_eq!(line(first.body_mut()).await["session"]["clicks"], 1);

    let mut second = browser.ask("GET", &path);
    assert_eq!(line(first.body_mut()).await["end"], "replaced");
    assert!(first.body_mut().frame().await.is_none());
    assert_eq!(line(second.body_mut()).await["session"]["clicks"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_the_pod_and_with_its_time() {
    let browser = Browser::new();
    let path = format!("/~/{}/s/{}", browser.token, browser.session);
    let stop = CancellationToken::new();
    let mut stopped = browser.app.answer(&request("GET", &path, &browser.cookie), &stop);
    line(stopped.body_mut()).await;
    stop.cancel();
    assert_eq!(line(stopped.body_mut()).await["end"], "stopped");

    let mut long = browser.ask("GET", &path);
    line(long.body_mut()).await;
    let begun = Instant::now();
    assert_eq!(line(long.body_mut()).await["end"], "limit");
    assert_eq!(begun.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_loses_its_session_after_a_while() {
    let browser = Browser::new();
    let path = format!("/~/{}/s/{}", browser.token, browser.session);
    let mut stream = browser.ask("GET", &path);
    line(stream.body_mut()).await;
    drop(stream);
    let live = || {
        browser
            .shared
            .with(|cluster| cluster.pod(FIRST_POD).unwrap().sessions.len())
    };
    let (begun, second) = (Instant::now(), std::time::Duration::from_secs(1));
    while live() == 1 {
        // Each tick is a change, and with it the stream notices that nobody reads it.
        browser.shared.change(|cluster| cluster.tick(Instant::now()));
        tokio::time::sleep(second).await;
        assert!(begun.elapsed() < second * 10, "the session is still there");
    }
    assert_eq!(browser.hook("1"), StatusCode::GONE);
}
