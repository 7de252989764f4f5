//! The example pod keeps the rules that a proxy relies on.

#[allow(
    dead_code,
    unreachable_pub,
    reason = "the example's own `main` is not called here"
)]
#[path = "../../examples/pod.rs"]
mod example;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use doors_token::TokenCipher;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};

use super::{SECRETS, cipher, ip};

/// Ends a test that hangs; no test waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A pod on a free port of the loopback, what drains it, and what tells its end.
struct Running {
    pod: Client,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

/// Where the pod is, and its name.
struct Client {
    address: SocketAddr,
    token: String,
}

/// What the pod answered.
struct Reply {
    status: u16,
    cookies: Vec<String>,
    body: String,
}

impl Running {
    async fn start(cipher: &TokenCipher) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let pod = Arc::new(example::Pod::new(cipher, address.ip()));
        let token = pod.token().to_owned();
        let (stop, stopped) = oneshot::channel();
        #[expect(clippy::disallowed_methods, reason = "`served` is awaited by the test")]
        let served = tokio::spawn(example::serve(pod, listener, async { drop(stopped.await) }));
        Self {
            pod: Client { address, token },
            stop,
            served,
        }
    }
}

impl Client {
    async fn send(&self, method: &str, path: &str, cookies: &str) -> Reply {
        timeout(PATIENCE, self.exchange(method, path, cookies))
            .await
            .unwrap()
    }

    async fn exchange(&self, method: &str, path: &str, cookies: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: pod\r\ncookie: {cookies}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let cookies = head.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
        let cookies = cookies
            .map(|line| line.split(';').next().unwrap().to_owned())
            .collect();
        Reply {
            status,
            cookies,
            body: body.to_owned(),
        }
    }

    /// Loads a page: its id, and the session cookie.
    async fn open(&self, cookies: &str) -> (String, String) {
        let page = self.send("GET", "/", cookies).await;
        assert_eq!(page.status, 200);
        let (_, rest) = page
            .body
            .split_once(&format!("/~/{}/${{kind}}/", self.token))
            .unwrap();
        (
            rest.split('$').next().unwrap().to_owned(),
            page.cookies[0].clone(),
        )
    }

    fn path(&self, kind: &str, instance: &str, name: &str) -> String {
        format!("/~/{}/{kind}/{instance}{name}", self.token)
    }
}

#[tokio::test]
async fn the_pod_is_found_by_its_token_and_names_its_cookies_after_it() {
    let cipher = cipher(SECRETS[2]);
    let Running { pod, stop: _stop, .. } = Running::start(&cipher).await;
    assert_eq!(cipher.decode(&pod.token), Ok(ip("127.0.0.1")));

    let page = pod.send("GET", "/any/page", "").await;

    assert_eq!(page.status, 200);
    assert!(page.cookies[0].starts_with(&format!("{}=", pod.token)));
    assert_eq!(page.cookies[1..], [format!("upstream={}", pod.token)]);
}

#[tokio::test]
async fn only_the_session_of_a_page_reaches_it() {
    let Running { pod, stop: _stop, .. } = Running::start(&cipher(SECRETS[2])).await;
    let (instance, session) = pod.open("").await;
    let click = pod.path("h", &instance, "/click");

    assert_eq!(pod.send("POST", &click, &session).await.body, "1");
    assert_eq!(
        pod.send("POST", &click, &format!("a=b; {session}")).await.body,
        "2"
    );
    assert_eq!(pod.send("POST", &click, "").await.status, 410);
    assert_eq!(
        pod.send("POST", &pod.path("h", "unknown", "/click"), &session)
            .await
            .status,
        410
    );
    assert_eq!(
        pod.send("POST", &pod.path("x", &instance, ""), &session)
            .await
            .status,
        404
    );
    assert_eq!(pod.send("POST", "/", &session).await.status, 404);
}

#[tokio::test]
async fn a_session_is_kept_as_long_as_it_has_a_page() {
    let Running { pod, stop: _stop, .. } = Running::start(&cipher(SECRETS[2])).await;
    let (_, session) = pod.open("").await;
    let (_, again) = pod.open(&session).await;
    assert_eq!(again, session);
    let (_, other) = pod.open(&format!("{}=made-up", pod.token)).await;
    assert_ne!(other, session);
    assert!(!other.ends_with("made-up"));
}

#[tokio::test]
async fn a_draining_pod_keeps_its_pages_binds_nobody_and_ends_with_the_last_one() {
    let Running { pod, stop, served } = Running::start(&cipher(SECRETS[2])).await;
    let (instance, session) = pod.open("").await;
    let (click, link) = (
        pod.path("h", &instance, "/click"),
        pod.path("h", &instance, "/link"),
    );
    assert_eq!(pod.send("POST", &link, &session).await.status, 200);

    stop.send(()).unwrap();
    // The pod hears of it by itself; from then on it sends no id cookie.
    let bound = async { while pod.send("POST", &click, &session).await.cookies.len() == 2 {} };
    timeout(PATIENCE, bound).await.unwrap();
    let reply = pod.send("POST", &click, &session).await;
    assert_eq!((reply.status, reply.cookies), (200, vec![session.clone()]));

    // The page's silent sync request ends with the page, whichever comes first.
    let sync = pod.path("s", &instance, "");
    let (link, sync) = tokio::join!(
        pod.send("POST", &link, &session),
        pod.send("GET", &sync, &session)
    );
    assert_eq!((link.status, sync.status), (410, 410));
    timeout(PATIENCE, served).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_pod_without_pages_drains_at_once() {
    let Running { stop, served, .. } = Running::start(&cipher(SECRETS[2])).await;
    stop.send(()).unwrap();
    timeout(PATIENCE, served).await.unwrap().unwrap();
}
