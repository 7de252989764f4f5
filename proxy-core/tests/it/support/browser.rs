//! A browser with one tab on a Doors app: a cookie jar, one HTTP/2 connection, and the Doors client's requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use super::h2_client::{Answer, H2, Stream};
use super::pod::{CLICK, ID_COOKIE, LINK};

/// A browser and its tab.
pub(crate) struct Browser {
    connection: H2,
    jar: BTreeMap<String, String>,
    track: u64,
    tab: Option<Tab>,
}

/// What the page in the tab says about itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Tab {
    /// The pod's token.
    pub(crate) token: String,
    pub(crate) instance: String,
}

// === impl Browser ===

impl Browser {
    /// A browser without cookies, connected in the clear by prior knowledge.
    pub(crate) async fn clear(addr: SocketAddr, host: &str) -> Self {
        Self::over(H2::clear(addr, host).await)
    }

    /// A browser without cookies, connected over TLS.
    pub(crate) async fn tls(addr: SocketAddr, host: &str) -> Self {
        Self::over(H2::tls(addr, host).await)
    }

    fn over(connection: H2) -> Self {
        Self {
            connection,
            jar: BTreeMap::new(),
            track: 0,
            tab: None,
        }
    }

    /// The page in the tab.
    pub(crate) fn tab(&self) -> &Tab {
        self.tab.as_ref().expect("a page is loaded")
    }

    /// The value of the id cookie.
    pub(crate) fn id_cookie(&self) -> Option<&str> {
        self.jar.get(ID_COOKIE).map(String::as_str)
    }

    /// The value of any cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        self.jar.get(name).map(String::as_str)
    }

    /// Sets a cookie by hand.
    pub(crate) fn set_cookie(&mut self, name: &str, value: &str) {
        self.jar.insert(name.to_owned(), value.to_owned());
    }

    /// Loads a page into the tab and gives what it says; fails unless the answer is a page.
    pub(crate) async fn load(&mut self, path: &str) -> Tab {
        let answer = self.try_load(path).await;
        assert_eq!(
            answer.status,
            StatusCode::OK,
            "the page loads: {:?}",
            String::from_utf8_lossy(&answer.body)
        );
        self.tab().clone()
    }

    /// Loads a page into the tab, whatever the answer is.
    pub(crate) async fn try_load(&mut self, path: &str) -> Answer {
        let answer = self.exchange(Method::GET, path, &[]).await;
        self.tab = Tab::read(&answer.body);
        answer
    }

    /// Clicks the counter of the page.
    pub(crate) async fn click(&mut self) -> Answer {
        self.hook(CLICK, b"{}").await
    }

    /// Follows the in-app link of the page.
    pub(crate) async fn follow_link(&mut self) -> Answer {
        self.hook(LINK, b"{}").await
    }

    /// Calls a hook of the page.
    pub(crate) async fn hook(&mut self, hook: &str, body: &[u8]) -> Answer {
        self.track += 1;
        let path = self.system(&format!("h/{}/{hook}?t={}", self.tab().instance, self.track));
        self.exchange(Method::POST, &path, body).await
    }

    /// Goes back in the history, to `page`.
    pub(crate) async fn undo(&mut self, page: &str) -> Answer {
        let path = self.system(&format!("u/{}{page}", self.tab().instance));
        self.exchange(Method::GET, &path, &[]).await
    }

    /// Opens the next sync GET.
    pub(crate) async fn sync(&mut self) -> Stream {
        let path = self.sync_path();
        self.open(Method::GET, &path, true).await
    }

    /// Opens the next streamed report.
    pub(crate) async fn report(&mut self) -> Stream {
        let path = self.sync_path();
        self.open(Method::POST, &path, false).await
    }

    /// Sends a request and reads the whole answer, keeping its cookies.
    pub(crate) async fn exchange(&mut self, method: Method, path: &str, body: &[u8]) -> Answer {
        let mut stream = self.open(method, path, body.is_empty()).await;
        if !body.is_empty() {
            stream
                .body
                .send_data(Bytes::copy_from_slice(body), true)
                .expect("the stream is open");
        }
        let answer = stream.answer().await;
        self.keep_cookies(&answer.headers);
        answer
    }

    /// Sends the head of a request with all cookies.
    pub(crate) async fn open(&mut self, method: Method, path: &str, ended: bool) -> Stream {
        let mut request = self.connection.request(method, path);
        if !ended {
            request = request.header("content-type", "application/octet-stream");
        }
        // One field per pair, as browsers send them over HTTP/2.
        for (name, value) in &self.jar {
            request = request.header("cookie", format!("{name}={value}"));
        }
        self.connection
            .open(request.body(()).expect("a valid request"), ended)
            .await
    }

    /// Keeps the cookies an answer sets.
    pub(crate) fn keep_cookies(&mut self, headers: &HeaderMap) {
        for line in headers.get_all("set-cookie") {
            let line = line.to_str().expect("a cookie is text");
            let pair = line.split(';').next().and_then(|pair| pair.split_once('='));
            let (name, value) = pair.expect("a cookie is a pair");
            self.jar.insert(name.to_owned(), value.to_owned());
        }
    }

    fn sync_path(&mut self) -> String {
        self.track += 1;
        self.system(&format!(
            "s/{}?t={}&b=0123456789abcdef",
            self.tab().instance,
            self.track
        ))
    }

    fn system(&self, rest: &str) -> String {
        format!("/~/{}/{rest}", self.tab().token)
    }
}

// === impl Tab ===

impl Tab {
    /// Reads the attributes of the page's script.
    pub(crate) fn read(html: &[u8]) -> Option<Self> {
        let html = String::from_utf8_lossy(html);
        let attribute = |name: &str| {
            let value = html.split_once(&format!("{name}=\""))?.1;
            Some(value.split('"').next().unwrap_or_default().to_owned())
        };
        let prefix = attribute("data-prefix")?;
        let token = prefix
            .strip_prefix("/~/")
            .expect("the prefix is a system path")
            .to_owned();
        Some(Self {
            token,
            instance: attribute("data-instance")?,
        })
    }
}

/// One streamed report: its length, then itself.
pub(crate) fn framed(json: &str) -> Vec<u8> {
    let length = u32::try_from(json.len()).expect("a short report");
    [&length.to_be_bytes(), json.as_bytes()].concat()
}
