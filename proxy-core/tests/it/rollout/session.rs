//! One user with one live tab.

use std::net::SocketAddr;

use h2::RecvStream;
use http::StatusCode;

use crate::support::browser::Browser;
use crate::support::h2_client::{self, Answer, Stream};
use crate::support::pod::Pod;
use crate::support::rig::HOST;

/// A tab that counts its clicks and keeps a sync stream open.
pub(super) struct Session {
    browser: Browser,
    clicks: u64,
    frames: u64,
    sync: Option<Sync>,
}

enum Sync {
    /// Nothing has come yet, not even a head.
    Silent(Stream),
    Begun(RecvStream),
}

// === impl Session ===

impl Session {
    /// A new user who loads the page.
    pub(super) async fn start(proxy: SocketAddr) -> Self {
        let mut browser = Browser::clear(proxy, HOST).await;
        browser.load("/").await;
        Self {
            browser,
            clicks: 0,
            frames: 0,
            sync: None,
        }
    }

    /// The token of the tab's pod.
    pub(super) fn token(&self) -> &str {
        &self.browser.tab().token
    }

    /// Opens the tab's first sync stream.
    pub(super) async fn connect(&mut self, pod: &Pod) {
        self.sync = Some(Sync::Silent(self.browser.sync().await));
        pod.until_synced(&self.browser.tab().instance).await;
    }

    /// A click is counted by the pod that has counted all the others.
    pub(super) async fn click(&mut self) {
        self.clicks += 1;
        let answer = self.try_click().await;
        assert_eq!(answer.status, StatusCode::OK);
        let expected = format!("{{\"clicks\":{},\"received\":2}}", self.clicks);
        assert_eq!(
            String::from_utf8_lossy(&answer.body),
            expected,
            "the session has moved"
        );
    }

    /// A frame that the pod pushes arrives.
    pub(super) async fn frame(&mut self, pod: &Pod) {
        self.frames += 1;
        let text = format!("frame {}", self.frames);
        pod.push(&self.browser.tab().instance, &text);
        let mut body = self.body().await;
        let piece = h2_client::piece(&mut body).await.expect("the stream is open");
        assert!(piece.ends_with(text.as_bytes()));
        self.sync = Some(Sync::Begun(body));
    }

    /// The next sync stream replaces the open one, which ends as it should.
    pub(super) async fn roll(&mut self) {
        let next = self.browser.sync().await;
        let mut body = self.body().await;
        let (rest, _) = h2_client::read(&mut body).await.expect("a clean end");
        assert_eq!(rest, b"\x02\xff");
        self.sync = Some(Sync::Silent(next));
    }

    /// An in-app link within a pod that goes on.
    pub(super) async fn link_stays(&mut self) {
        assert_eq!(self.browser.follow_link().await.status, StatusCode::OK);
    }

    /// An in-app link on a draining pod: 410, and the stream says that the tab is dead.
    pub(super) async fn link_ends_here(&mut self) {
        assert_eq!(self.browser.follow_link().await.status, StatusCode::GONE);
        let mut body = self.body().await;
        let (rest, _) = h2_client::read(&mut body).await.expect("a clean end");
        assert_eq!(rest, b"\x04");
    }

    /// Loads the page again, as the Doors client does after 410.
    pub(super) async fn reload(&mut self) {
        self.browser.load("/target").await;
        (self.clicks, self.frames, self.sync) = (0, 0, None);
    }

    /// The open stream was cut by the death of its pod: no clean end.
    pub(super) async fn expect_cut(&mut self) {
        match self.sync.take().expect("an open stream") {
            Sync::Silent(mut stream) => match stream.try_response().await {
                // Nothing had come, so a proxy may have found out by asking again that the pod is gone.
                Ok(response) => {
                    assert!(matches!(
                        response.status(),
                        StatusCode::BAD_GATEWAY | StatusCode::GONE
                    ));
                }
                Err(error) => assert!(error.is_reset(), "{error}"),
            },
            Sync::Begun(mut body) => {
                assert!(
                    h2_client::read(&mut body).await.is_err(),
                    "a cut stream ends cleanly"
                );
            }
        }
    }

    /// A click, whatever its answer.
    pub(super) async fn try_click(&mut self) -> Answer {
        self.browser.click().await
    }

    /// The next sync GET, which is expected to be answered at once.
    pub(super) async fn try_sync(&mut self) -> Answer {
        self.browser.sync().await.answer().await
    }

    async fn body(&mut self) -> RecvStream {
        match self.sync.take().expect("an open stream") {
            Sync::Begun(body) => body,
            Sync::Silent(mut stream) => {
                let response = stream.response().await;
                assert_eq!(response.status(), StatusCode::OK);
                response.into_body()
            }
        }
    }
}
