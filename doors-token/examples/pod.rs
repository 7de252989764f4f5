//! A small Doors-like pod: an app whose sessions live in its memory, so that every request of an open page must come
//! back to the pod that rendered it. Run one alone, or two behind a proxy, all three with one secret:
//!
//! ```text
//! cargo run -p doors-token --example pod -- 127.0.0.2:8080 MDEyMzQ1Njc4OWFiY2RlZg==
//! ```
//!
//! All that a proxy needs is in three names, each made from the pod's token: the system paths of a page, the session
//! cookie, and the id cookie. Ctrl-C or SIGTERM drains: whoever is here may stay, nobody new is bound to this pod, and
//! the program ends when the last open page is gone. A second one ends it at once.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to whoever runs it"
)]

use std::{
    collections::HashMap,
    convert::Infallible,
    error::Error,
    net::IpAddr,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use doors_token::TokenCipher;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Instant, interval, sleep, timeout},
};

const USAGE: &str = "\
usage: pod ADDRESS [SECRET]

  ADDRESS  where to listen; its IP is what the token holds, for example 127.0.0.2:8080
  SECRET   base64 AES key that the proxy has, too; without it one is made and printed";

/// The cookie that tells the proxy which server a session is on.
const ID_COOKIE: &str = "upstream";

/// How long a sync request may stay silent before it is ended, and the next one takes its place.
const ROLL: Duration = Duration::from_secs(15);

/// A page whose last sync request began longer ago than this has been closed.
const PAGE_TTL: Duration = Duration::from_secs(60);

const PAGE: &str = include_str!("pod.html");

/// The app: all open pages, and the name that brings their requests back here.
#[derive(Debug)]
pub struct Pod {
    ip: IpAddr,
    token: String,
    /// By the id of the page. Whoever waits for the end of pages hears of each change.
    pages: watch::Sender<HashMap<String, Page>>,
    draining: AtomicBool,
}

/// One open page (Doors says: an instance).
#[derive(Debug)]
struct Page {
    session: String,
    clicks: u64,
    last_sync: Instant,
}

impl Pod {
    /// A pod that is reached at `ip`.
    pub fn new(cipher: &TokenCipher, ip: IpAddr) -> Self {
        let (token, pages) = (cipher.encode(ip), watch::Sender::default());
        Self {
            ip,
            token,
            pages,
            draining: AtomicBool::new(false),
        }
    }

    /// What this pod's system paths and session cookie are named by.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Begins to drain, and returns when the last open page is gone.
    pub async fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        // This fails only without a sender, and the sender is in `self`.
        drop(self.pages.subscribe().wait_for(HashMap::is_empty).await);
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        // Without a session that has a page here, a new one begins: whatever the request is for.
        let session = self.session(request.headers()).unwrap_or_else(new_id);
        let mut response = match (request.uri().path().strip_prefix("/~/"), request.method()) {
            (Some(system), _) => self.system(system, &session).await,
            (None, &Method::GET) => self.page(session.clone()),
            (None, _) => reply(StatusCode::NOT_FOUND, ""),
        };
        let headers = response.headers_mut();
        headers.append(SET_COOKIE, cookie(&self.token, &session));
        if !self.draining.load(Ordering::Relaxed) {
            headers.append(SET_COOKIE, cookie(ID_COOKIE, &self.token));
        }
        response
    }

    /// The session of the request's cookie, if it is alive: the cookie's name is the token.
    fn session(&self, headers: &HeaderMap) -> Option<String> {
        let pages = self.pages.borrow();
        let lines = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|line| line.to_str().ok());
        lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().strip_prefix(&self.token)?.strip_prefix('='))
            .find(|id| pages.values().any(|page| page.session == *id))
            .map(ToOwned::to_owned)
    }

    /// Renders a new page of `session`.
    fn page(&self, session: String) -> Response<Full<Bytes>> {
        let instance = new_id();
        let html = PAGE
            .replace("{ip}", &self.ip.to_string())
            .replace("{token}", &self.token)
            .replace("{instance}", &instance);
        let (clicks, last_sync) = (0, Instant::now());
        let page = Page {
            session,
            clicks,
            last_sync,
        };
        self.pages.send_modify(|pages| drop(pages.insert(instance, page)));
        let mut response = reply(StatusCode::OK, html);
        let html = HeaderValue::from_static("text/html");
        response.headers_mut().insert(CONTENT_TYPE, html);
        response
    }

    /// Answers a request of an open page, whose path `/~/` began: `<token>/<kind>/<instance>[/<name>]`. The proxy has
    /// read the token; here the session cookie decides.
    async fn system(&self, path: &str, session: &str) -> Response<Full<Bytes>> {
        let segments: Vec<&str> = path.splitn(4, '/').collect();
        let [_token, kind, instance, ref name @ ..] = *segments else {
            return reply(StatusCode::NOT_FOUND, "");
        };
        let owner = self.pages.borrow().get(instance).map(|page| page.session.clone());
        if owner.as_deref() != Some(session) {
            return reply(StatusCode::GONE, ""); // the one status upon which a page loads anew
        }
        match (kind, name) {
            ("h", ["click"]) => self.click(instance),
            ("h", ["link"]) => self.link(instance),
            ("s", []) => self.sync(instance).await,
            _ => reply(StatusCode::NOT_FOUND, ""),
        }
    }

    fn click(&self, instance: &str) -> Response<Full<Bytes>> {
        let mut clicks = 0;
        self.change(instance, |page| {
            page.clicks = page.clicks.saturating_add(1);
            clicks = page.clicks;
        });
        reply(StatusCode::OK, clicks.to_string())
    }

    /// Follows a link within the app; while draining, it sends the page away to a fresh pod instead.
    fn link(&self, instance: &str) -> Response<Full<Bytes>> {
        if !self.draining.load(Ordering::Relaxed) {
            return reply(StatusCode::OK, "");
        }
        self.pages.send_modify(|pages| drop(pages.remove(instance)));
        reply(StatusCode::GONE, "")
    }

    /// Keeps the page alive, silently, until it is time for the next sync request or the page has ended.
    async fn sync(&self, instance: &str) -> Response<Full<Bytes>> {
        self.change(instance, |page| page.last_sync = Instant::now());
        let mut pages = self.pages.subscribe();
        let ended = pages.wait_for(|pages| !pages.contains_key(instance));
        let status = timeout(ROLL, ended)
            .await
            .map_or(StatusCode::OK, |_| StatusCode::GONE);
        reply(status, "")
    }

    /// Changes a page without waking those who wait for its end.
    fn change(&self, instance: &str, change: impl FnOnce(&mut Page)) {
        self.pages.send_if_modified(|pages| {
            pages.get_mut(instance).map(change);
            false
        });
    }

    fn forget_closed_pages(&self) {
        self.pages.send_if_modified(|pages| {
            let before = pages.len();
            pages.retain(|_, page| page.last_sync.elapsed() < PAGE_TTL);
            pages.len() != before
        });
    }
}

/// Serves `pod` until `stop` completes and the last page is gone after it.
pub async fn serve(pod: Arc<Pod>, listener: TcpListener, stop: impl Future<Output = ()>) {
    let connections = GracefulShutdown::new();
    let mut tick = interval(Duration::from_secs(1));
    let mut drained = std::pin::pin!(async {
        stop.await;
        println!("draining; open pages: {}", pod.pages.borrow().len());
        pod.drain().await;
    });
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => converse(Arc::clone(&pod), stream, &connections),
                Err(error) => {
                    eprintln!("accept failed: {error}");
                    sleep(Duration::from_millis(100)).await;
                }
            },
            _ = tick.tick() => pod.forget_closed_pages(),
            () = &mut drained => break,
        }
    }
    // The last page ended *within* a request: end the connections, not the process, or its 410 is never sent.
    connections.shutdown().await;
}

fn converse(pod: Arc<Pod>, stream: TcpStream, connections: &GracefulShutdown) {
    let service = service_fn(move |request| {
        let pod = Arc::clone(&pod);
        async move { Ok::<_, Infallible>(pod.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    let connection = http
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    #[expect(clippy::disallowed_methods, reason = "`connections` waits for it")]
    tokio::spawn(async move { drop(connection.await) });
}

fn cookie(name: &str, value: &str) -> HeaderValue {
    // Behind HTTPS, add `; Secure`.
    let line = format!("{name}={value}; Path=/; Max-Age=2400; HttpOnly; SameSite=Lax");
    HeaderValue::try_from(line).expect("names and values are tokens, or digits of an id")
}

fn reply(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    response
}

/// An id that nobody can guess.
fn new_id() -> String {
    let high = getrandom::u64().expect("the system gives random bytes");
    let low = getrandom::u64().expect("the system gives random bytes");
    format!("{high:016x}{low:016x}")
}

async fn run(address: &str, secret: Option<&str>) -> Result<(), Box<dyn Error>> {
    let secret = match secret {
        Some(secret) => secret.to_owned(),
        None => doors_token::generate_secret().inspect(|secret| println!("secret {secret}"))?,
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let pod = Arc::new(Pod::new(&TokenCipher::new(&secret)?, address.ip()));
    println!("open http://{address}/ (token {})", pod.token());
    tokio::select! {
        () = serve(pod, listener, asked_to_stop()) => println!("drained"),
        () = async { asked_to_stop().await; asked_to_stop().await } => println!("stopped"),
    }
    Ok(())
}

/// Waits for Ctrl-C or, where there is one, SIGTERM.
async fn asked_to_stop() {
    #[cfg(unix)]
    let terminated = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        [address] => run(address, None).await,
        [address, secret] => run(address, Some(secret)).await,
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
