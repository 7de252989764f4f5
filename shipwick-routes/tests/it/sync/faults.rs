//! Proxies that refuse, hang, answer nonsense, or are not there, and come back.

use std::time::Duration;

use shipwick_routes::sync::{Settings, Synced};
use tokio_util::sync::CancellationToken;

use super::admin::{Admin, Answer};
use super::{HOUR, doubting, settings, syncer};

#[tokio::test]
async fn a_refusal_is_told_in_the_proxys_words_and_tried_again() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    database.route("web", &["web_2"]);
    admin.answer(Answer::Status(
        400,
        r#"{"error":"loading config: no such module"}"#,
    ));
    for _ in 0..2 {
        let error = syncer.sync().await.unwrap_err().to_string();
        let said = "the proxy rejected the configuration (HTTP 400): loading config: no such module";
        assert_eq!(error, said);
        let status = syncer.status();
        assert_eq!(
            (status.reachable, status.error.as_str(), status.routes),
            (false, said, 1)
        );
    }
    assert_eq!(admin.requests().len(), 3);
    assert_eq!(admin.upstreams(), ["web_1:8080"]);
    admin.answer(Answer::Healthy);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert!(syncer.status().reachable && syncer.status().error.is_empty());
    // What was there before the refusal is there still: nothing need be sent to go back.
    admin.answer(Answer::Status(500, ""));
    database.route("web", &["web_3"]);
    syncer.sync().await.unwrap_err();
    database.route("web", &["web_2"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
}

#[tokio::test]
async fn a_long_refusal_is_shown_in_part() {
    const LONG: &str = match std::str::from_utf8(&[b'x'; 5000]) {
        Ok(text) => text,
        Err(_) => "",
    };
    let admin = Admin::start().await;
    let (_, syncer) = syncer(&admin, settings());
    admin.answer(Answer::Status(500, LONG));
    let error = syncer.sync().await.unwrap_err().to_string();
    assert_eq!(
        error.matches('x').count() - "the proxy".matches('x').count(),
        2048
    );
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_said_without_what_was_asked() {
    for tcp in [false, true] {
        let admin = if tcp {
            Admin::start_tcp().await
        } else {
            Admin::start().await
        };
        let (_, syncer) = syncer(&admin, settings());
        admin.stop();
        // The port is free once the listener is dropped.
        tokio::task::yield_now().await;
        let error = syncer.sync().await.unwrap_err().to_string();
        assert!(
            error.starts_with("cannot reach the proxy's admin endpoint: "),
            "{error}"
        );
        assert!(!error.contains("/load"), "{error}");
        assert_eq!(syncer.status().error, error);
    }
}

#[tokio::test]
async fn every_nonsense_is_an_error_and_the_next_sync_recovers() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, doubting());
    database.route("web", &["web_1"]);
    for answer in [
        Answer::Close,
        Answer::Raw("nonsense\r\n\r\n"),
        Answer::Raw("HTTP/1.1 200"),
        Answer::Raw("HTTP/1.1 9999 x\r\n\r\n"),
        Answer::Raw(""),
        Answer::Status(500, ""),
        Answer::Status(403, "host not allowed"),
        Answer::Status(301, ""),
        Answer::Status(204, ""),
    ] {
        // When it is loaded, and when it is asked for.
        for loaded in [false, true] {
            admin.lose();
            let (database, syncer) = super::syncer(&admin, doubting());
            database.route("web", &["web_1"]);
            if loaded {
                syncer.sync().await.unwrap();
            }
            admin.answer(answer.clone());
            syncer.sync().await.unwrap_err();
            assert!(!syncer.status().reachable, "{answer:?}");
            admin.answer(Answer::Healthy);
            syncer.sync().await.unwrap();
            assert_eq!(admin.upstreams(), ["web_1:8080"], "{answer:?}");
        }
    }
    syncer.sync().await.unwrap();
}

/// Caddy does that to whoever comes while it replaces its endpoint after a load; a swap of a rollout must not fail by it.
#[tokio::test]
async fn a_connection_that_is_closed_unanswered_is_no_trouble() {
    let admin = Admin::start().await;
    for loaded in [false, true] {
        let (database, syncer) = syncer(&admin, doubting());
        database.route("web", &["web_1"]);
        if loaded {
            syncer.sync().await.unwrap();
        }
        let before = admin.requests().len();
        admin.answer(Answer::Close);
        let once = async {
            admin.asked(before + 1).await;
            admin.answer(Answer::Healthy);
        };
        let (synced, ()) = tokio::join!(syncer.sync(), once);
        let expected = if loaded { Synced::Verified } else { Synced::Loaded };
        assert_eq!(synced.unwrap(), expected);
        assert_eq!(admin.requests().len(), before + 2);
    }
    // Nor is it tried for ever.
    let (_database, syncer) = syncer(&admin, settings());
    let before = admin.requests().len();
    admin.answer(Answer::Close);
    syncer.sync().await.unwrap_err();
    assert_eq!(admin.requests().len(), before + 3);
}

/// Its status is what counts, and what it says is one line of a terminal.
#[tokio::test]
async fn a_refusal_is_told_though_its_text_does_not_end() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    admin.answer(Answer::Unended(
        "HTTP/1.1 400 x\r\nContent-Length: 99\r\n\r\n\u{1b}[2Jno such\nmodule",
    ));
    let error = syncer.sync().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the proxy rejected the configuration (HTTP 400): [2Jno such module"
    );
}

#[tokio::test]
async fn a_refusal_is_told_though_the_configuration_was_not_read() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    // More than a socket holds.
    for number in 0..3000 {
        database.route(&format!("web{number}"), &["web_1"]);
    }
    admin.answer(Answer::Unread(
        "HTTP/1.1 403 x\r\nContent-Length: 16\r\n\r\nhost not allowed",
    ));
    let error = syncer.sync().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the proxy rejected the configuration (HTTP 403): host not allowed"
    );
}

/// While the proxy was away the routes went back to what it had: it is asked nevertheless.
#[tokio::test]
async fn after_trouble_the_proxy_is_asked() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    database.route("web", &["web_2"]);
    admin.answer(Answer::Close);
    syncer.sync().await.unwrap_err();
    admin.answer(Answer::Healthy);
    admin.lose();
    database.route("web", &["web_1"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
}

#[tokio::test]
async fn a_proxy_that_hangs_is_given_up_and_doubted() {
    let admin = Admin::start().await;
    let short = Settings {
        timeout: Duration::from_millis(50),
        ..settings()
    };
    let (database, syncer) = syncer(&admin, short);
    database.route("web", &["web_1"]);
    admin.answer(Answer::Hang);
    let error = syncer.sync().await.unwrap_err().to_string();
    assert!(error.ends_with("no answer within 50ms"), "{error}");
    // The load that nobody waits for is taken now.
    database.route("web", &["web_2"]);
    admin.answer(Answer::Healthy);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
}

/// A load that was given up may be taken after the one that was not: the proxy is asked until that is past.
#[tokio::test]
async fn after_a_load_that_was_given_up_the_proxy_is_not_believed() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    admin.answer(Answer::Hang);
    {
        let given_up = std::pin::pin!(syncer.sync());
        tokio::select! {
            _ = given_up => panic!("nobody answers"),
            () = admin.asked(1) => {}
        }
    }
    // Nothing was said of it.
    assert_eq!(syncer.status().error, "");
    admin.answer(Answer::Healthy);
    database.route("web", &["web_2"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Verified);
    admin.lose();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
}

#[tokio::test]
async fn a_look_gives_its_turn_up_and_the_status_waits_for_nobody() {
    let admin = Admin::start().await;
    let looking = Settings {
        tick: HOUR,
        ..settings()
    };
    let (database, syncer) = syncer(&admin, looking);
    database.route("web", &["web_1"]);
    admin.answer(Answer::Hang);
    let stop = CancellationToken::new();
    let work = async {
        admin.asked(1).await;
        assert!(syncer.status().enabled);
        database.route("web", &["web_2"]);
        let swap = syncer.sync();
        let answered = async {
            // The look's request still hangs when the other one comes.
            admin.asked(2).await;
            admin.answer(Answer::Healthy);
        };
        let (swap, ()) = tokio::join!(swap, answered);
        assert_eq!(swap.unwrap(), Synced::Loaded);
        stop.cancel();
    };
    tokio::join!(syncer.run(stop.clone()), work);
    // The load that was given up may have been taken last; the proxy is asked, and has the newer routes in the end.
    assert_ne!(syncer.sync().await.unwrap(), Synced::Unchanged);
    assert_eq!(admin.upstreams(), ["web_2:8080"]);
}

/// It is not believed for ten seconds: its socket is another one.
#[tokio::test]
async fn a_proxy_that_has_started_again_is_noticed_by_its_socket() {
    let mut admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    admin.restart();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert_eq!(admin.upstreams(), ["web_1:8080"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    // Gone, it is asked for at each look.
    admin.stop();
    syncer.sync().await.unwrap_err();
    syncer.sync().await.unwrap_err();
}
