//! Sync streams and reports: everything passes on at once, in both directions, and so does an abort.

use bytes::Bytes;
use h2::Reason;
use http::{Method, StatusCode};
use serde_json::json;

use super::{PROTOCOLS, pod_and_doors, pod_and_rig};
use crate::support::browser::{Browser, Tab, framed};
use crate::support::h2_client;
use crate::support::net::Net;
use crate::support::origin::Origin;
use crate::support::pod::{Pod, Protocol, token_for};
use crate::support::rig::{Doors, HOST, get};
use crate::support::wire::End;

const ROLL: Bytes = Bytes::from_static(b"\x02\xff");

#[tokio::test]
async fn each_frame_of_a_sync_stream_arrives_before_the_next_one_is_made() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let mut sync = browser.sync().await;
        pod.until_synced(&tab.instance).await;

        pod.push(&tab.instance, "first");
        let response = sync.response().await;
        assert_eq!(response.status(), StatusCode::OK);
        let mut body = response.into_body();
        assert!(h2_client::piece(&mut body).await.unwrap().ends_with(b"first"));
        for text in ["second", "third"] {
            pod.push(&tab.instance, text);
            assert!(
                h2_client::piece(&mut body)
                    .await
                    .unwrap()
                    .ends_with(text.as_bytes())
            );
        }
        pod.roll(&tab.instance);
        assert_eq!(h2_client::piece(&mut body).await, Some(ROLL));
        assert_eq!(h2_client::piece(&mut body).await, None);
    }
}

#[tokio::test]
async fn an_idle_sync_get_over_http1_gives_no_byte_until_it_is_rolled() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut wire = rig.wire().await;
        let page = wire.ask(get("/")).await;
        let cookie = page.head.all("set-cookie")[0]
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let Tab { token, instance } = Tab::read(&page.body).unwrap();
        let request =
            format!("GET /~/{token}/s/{instance}?t=1 HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\n\r\n");
        wire.send(request).await;
        pod.until_synced(&instance).await;

        // The proxy has one worker: once it has answered something else, it has done all it would do for this one.
        rig.canary().await;
        assert_eq!(wire.pending().await, b"");
        pod.roll(&instance);
        let answer = wire.answer().await;
        assert_eq!(
            (answer.head.status(), answer.body.as_slice()),
            (200, ROLL.as_ref())
        );
    }
}

#[tokio::test]
async fn a_report_reaches_the_pod_before_its_first_byte_and_then_frame_by_frame() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        browser.load("/").await;
        let mut report = browser.report().await;
        pod.until("the head of a report", |state| {
            (state.open_reports == 1).then_some(())
        })
        .await;

        for number in 1..=3_usize {
            report.send(framed(&format!("[{number}]")));
            let newest = pod
                .until("a report", |state| state.reports.get(number - 1).cloned())
                .await;
            assert_eq!(newest.json, json!([number]));
        }
        report.finish();
        assert_eq!(report.answer().await.status, StatusCode::OK);
        assert_eq!(pod.look(|state| state.aborted.clone()), [""; 0]);
    }
}

#[tokio::test]
async fn a_report_frame_split_over_two_writes_is_joined_by_the_pod_alone() {
    let (pod, rig) = pod_and_rig(Protocol::Http1).await;
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    browser.load("/").await;
    let mut report = browser.report().await;
    let frame = framed("[\"a long one\"]");
    let (head, tail) = frame.split_at(6);
    report.send(head.to_vec());
    pod.until("the head of a report", |state| {
        (state.open_reports == 1).then_some(())
    })
    .await;
    report.send(tail.to_vec());
    pod.until("a report", |state| state.reports.first().cloned())
        .await;
}

#[tokio::test]
async fn a_tab_runs_two_syncs_two_reports_a_hook_and_a_page_on_one_tls_connection() {
    for protocol in PROTOCOLS {
        let (pod, doors) = pod_and_doors(protocol).await;
        let rig = doors.start_tls();
        let mut browser = Browser::tls(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let mut old_sync = browser.sync().await;
        pod.until_synced(&tab.instance).await;
        let mut old_report = browser.report().await;
        let mut new_report = browser.report().await;
        pod.until("both reports", |state| (state.open_reports == 2).then_some(()))
            .await;
        let _new_sync = browser.sync().await;

        assert_eq!(
            old_sync.response().await.status(),
            StatusCode::OK,
            "rolled by the newer one"
        );
        pod.until_syncs(&tab.instance, 2).await;
        assert_eq!(browser.click().await.status, StatusCode::OK);
        old_report.finish();
        assert_eq!(old_report.answer().await.status, StatusCode::OK);
        new_report.send(framed("[2]"));
        pod.until("a report on the newer stream", |state| {
            state.reports.first().cloned()
        })
        .await;
        browser.load("/other").await;
        assert_eq!(pod.look(|state| state.aborted.clone()), [""; 0]);
    }
}

#[tokio::test]
async fn the_proxys_own_410_waits_for_no_body_over_http2() {
    let (_pod, rig) = pod_and_rig(Protocol::Http1).await;
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    let mut report = browser.open(Method::POST, "/~/garbage/s/I1?t=1", false).await;
    report.send(framed("[1]"));
    assert_eq!(report.response().await.status(), StatusCode::GONE);
    assert_eq!(
        report.until_reset().await,
        Reason::NO_ERROR,
        "the upload is stopped"
    );
}

#[tokio::test]
async fn the_proxys_own_410_waits_for_no_body_over_http1() {
    let (_pod, rig) = pod_and_rig(Protocol::Http1).await;
    let mut wire = rig.wire().await;
    wire.send(format!(
        "POST /~/garbage/s/I1 HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n"
    ))
    .await;
    assert_eq!(wire.answer().await.head.status(), 410);
    assert_eq!(wire.rest().await, (Vec::new(), End::Fin));
}

#[tokio::test]
async fn a_pods_early_answer_to_a_report_is_delivered_and_ends_the_upload() {
    let server = Net::fresh().server(1);
    let origin = Origin::bind(server.pod(1)).await;
    let rig = Doors::server(server, server.pod(1), origin.addr().port()).start();
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    let path = format!("/~/{}/s/I1?t=1", token_for(server.pod(1)));
    let mut report = browser.open(Method::POST, &path, false).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ndead")
        .await;

    let (head, mut body) = report.response().await.into_parts();
    assert_eq!(head.status, StatusCode::GONE);
    assert_eq!(h2_client::read(&mut body).await.unwrap().0, b"dead");
    assert_eq!(report.until_reset().await, Reason::NO_ERROR);
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_sync_and_its_report_with_it() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let sync = browser.sync().await;
        pod.until_synced(&tab.instance).await;
        sync.cancel();
        pod.until("an aborted sync", |state| {
            state.aborted.contains(&"sync").then_some(())
        })
        .await;

        let report = browser.report().await;
        pod.until("the head of a report", |state| {
            (state.open_reports == 1).then_some(())
        })
        .await;
        report.cancel();
        pod.until("an aborted report", |state| {
            state.aborted.contains(&"report").then_some(())
        })
        .await;
        assert_eq!(
            browser.click().await.status,
            StatusCode::OK,
            "the connection goes on"
        );
    }
}

#[tokio::test]
async fn a_browser_that_quits_takes_all_its_streams_with_it() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let _sync = browser.sync().await;
        let _report = browser.report().await;
        pod.until_synced(&tab.instance).await;
        pod.until("the head of a report", |state| {
            (state.open_reports == 1).then_some(())
        })
        .await;
        drop(browser);
        pod.until("both aborted", |state| (state.aborted.len() == 2).then_some(()))
            .await;
    }
}

#[tokio::test]
async fn a_sync_stream_that_the_pod_cuts_never_ends_cleanly() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let mut sync = browser.sync().await;
        pod.until_synced(&tab.instance).await;
        pod.push(&tab.instance, "last words");
        let mut body = sync.response().await.into_body();
        assert!(
            h2_client::piece(&mut body)
                .await
                .unwrap()
                .ends_with(b"last words")
        );
        pod.cut(&tab.instance);
        assert!(
            h2_client::read(&mut body).await.is_err(),
            "a reset, no end of the stream"
        );
    }
}

#[tokio::test]
async fn a_killed_pod_resets_the_streams_that_it_had_begun() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let mut sync = browser.sync().await;
        pod.until_synced(&tab.instance).await;
        pod.push(&tab.instance, "last words");
        let mut body = sync.response().await.into_body();
        h2_client::piece(&mut body).await.unwrap();
        pod.kill().await;
        assert!(
            h2_client::read(&mut body).await.is_err(),
            "a reset, no end of the stream"
        );
    }
}

#[tokio::test]
async fn a_hook_posts_megabytes_while_a_sync_stream_stays_open() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let mut sync = browser.sync().await;
        pod.until_synced(&tab.instance).await;
        let upload = vec![b'u'; 9 << 20];
        let answer = browser.hook("1", &upload).await;
        assert_eq!(answer.status, StatusCode::OK, "no limit unless one is set");
        assert!(String::from_utf8_lossy(&answer.body).contains(&format!("\"received\":{}", upload.len())));
        pod.push(&tab.instance, "after");
        let mut body = sync.response().await.into_body();
        assert!(h2_client::piece(&mut body).await.unwrap().ends_with(b"after"));
    }
}

#[tokio::test]
async fn undo_reaches_the_pod_and_ends_a_draining_instance() {
    let (pod, rig): (Pod, _) = pod_and_rig(Protocol::Http1).await;
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    browser.load("/").await;
    let answer = browser.undo("//shop/a%2Fb/?page=2").await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::OK, 0));
    let target = pod.look(|state| state.seen.last().unwrap().clone());
    assert!(target.ends_with("//shop/a%2Fb/?page=2"), "{target}");
    pod.drain();
    assert_eq!(browser.undo("/shop").await.status, StatusCode::GONE);
    pod.until_empty().await;
}
