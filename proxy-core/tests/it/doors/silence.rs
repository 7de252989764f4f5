//! The one test that lets real time pass: streams that are silent for longer than a Doors roll.

use std::time::Duration;

use http::StatusCode;

use super::{PROTOCOLS, pod_and_rig};
use crate::support::browser::{Browser, framed};
use crate::support::h2_client::{self, Stream};
use crate::support::pod::{Pod, Protocol};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wire::Wire;

/// A sync request lives at most 20 s, 4/3 of the default roll; nothing needs to come in all that time.
const SILENCE: Duration = Duration::from_secs(21);

/// A tab whose streams say nothing, over HTTP/2 and over HTTP/1.
struct SilentTab {
    pod: Pod,
    _rig: Rig,
    instance: String,
    sync: Stream,
    report: Stream,
    _browser: Browser,
    plain_instance: String,
    plain_sync: Wire,
}

// === impl SilentTab ===

impl SilentTab {
    async fn open(protocol: Protocol) -> Self {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let instance = browser.load("/").await.instance;
        let sync = browser.sync().await;
        let report = browser.report().await;
        pod.until_synced(&instance).await;
        pod.until("the head of a report", |state| {
            (state.open_reports == 1).then_some(())
        })
        .await;

        let mut plain_sync = rig.wire().await;
        let page = plain_sync.ask(get("/")).await;
        let session = page.head.all("set-cookie")[0]
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let tab = crate::support::browser::Tab::read(&page.body).unwrap();
        let path = format!("/~/{}/s/{}?t=1", tab.token, tab.instance);
        plain_sync
            .send(format!(
                "GET {path} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {session}\r\n\r\n"
            ))
            .await;
        pod.until_synced(&tab.instance).await;
        let plain_instance = tab.instance;
        Self {
            pod,
            _rig: rig,
            instance,
            sync,
            report,
            _browser: browser,
            plain_instance,
            plain_sync,
        }
    }

    /// After the silence everything still works.
    async fn speak(mut self) {
        self.report.send(framed("[1]"));
        self.pod
            .until("a late report", |state| state.reports.first().cloned())
            .await;
        self.report.finish();
        assert_eq!(self.report.answer().await.status, StatusCode::OK);

        self.pod.push(&self.instance, "late");
        let mut body = self.sync.response().await.into_body();
        assert!(h2_client::piece(&mut body).await.unwrap().ends_with(b"late"));

        self.pod.roll(&self.plain_instance);
        assert_eq!(self.plain_sync.answer().await.body, b"\x02\xff");
        assert_eq!(self.pod.look(|state| state.aborted.clone()), [""; 0]);
    }
}

#[tokio::test]
async fn no_default_timeout_cuts_a_stream_that_is_silent_for_a_whole_roll() {
    let mut tabs = Vec::new();
    for protocol in PROTOCOLS {
        tabs.push(SilentTab::open(protocol).await);
    }
    tokio::time::sleep(SILENCE).await;
    for tab in tabs {
        tab.speak().await;
    }
}
