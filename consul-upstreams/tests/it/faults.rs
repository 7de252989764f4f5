//! A Consul that fails in every way, and comes back.

use std::time::Duration;

use consul_upstreams::{LookupError, Settings};

use crate::fake::{Consul, Instance, Mode};
use crate::support::{Source, settings};

/// Whether an error is the one that tells a fault.
type IsTold = fn(&LookupError) -> bool;

/// How it fails, and how that is told.
fn faults() -> Vec<(Mode, IsTold)> {
    vec![
        (Mode::Hang, |error| *error == LookupError::TimedOut),
        (Mode::Close, |error| matches!(error, LookupError::Cut(_))),
        (Mode::Cut, |error| matches!(error, LookupError::Cut(_))),
        (Mode::Endless, |error| {
            matches!(error, LookupError::Long(_) | LookupError::TimedOut)
        }),
        (Mode::Million, |error| {
            matches!(error, LookupError::Long(_) | LookupError::TimedOut)
        }),
        (Mode::Body("<html>"), |error| matches!(error, LookupError::Bad(_))),
        (Mode::Body(""), |error| matches!(error, LookupError::Bad(_))),
        (Mode::Text(300_000), |error| {
            *error == LookupError::Bad("it is not of the right form at line 1 column 300003".into())
        }),
        (Mode::Status(400, "Bad"), |error| {
            *error == LookupError::Status(400, "Bad".into())
        }),
        (Mode::Status(403, "Permission denied"), |error| {
            *error == LookupError::Acl("Permission denied".into())
        }),
        (Mode::Status(404, ""), |error| {
            matches!(error, LookupError::Status(404, _))
        }),
        (
            Mode::Status(429, "Your IP is issuing too many concurrent connections"),
            |error| *error == LookupError::Overloaded(429),
        ),
        (Mode::Status(503, ""), |error| {
            *error == LookupError::Overloaded(503)
        }),
        (Mode::Status(500, "No cluster leader"), |error| {
            *error == LookupError::NoLeader
        }),
        (Mode::Status(500, "No known Consul servers"), |error| {
            *error == LookupError::NoServers
        }),
        (Mode::Status(500, "rpc error: No path to datacenter"), |error| {
            *error == LookupError::NoDatacenter
        }),
        (Mode::Status(500, "x\r\ny\u{1b}[31m"), |error| {
            *error == LookupError::Status(500, "x  y [31m".into())
        }),
        (Mode::Status(204, ""), |error| {
            matches!(error, LookupError::Status(204, _))
        }),
        (Mode::Filtered, |error| *error == LookupError::Filtered),
    ]
}

#[tokio::test]
async fn each_fault_has_its_error() {
    for (mode, is_told) in faults() {
        let consul = Consul::start().await;
        consul.mode(mode.clone());
        let source = Source::new(&Settings {
            timeout: Duration::from_millis(300),
            ..settings(&consul.address)
        });
        let error = source.addresses("api").await.unwrap_err();
        assert!(is_told(&error), "{mode:?}: {error:?}");
    }
    let nobody = Source::new(&settings("http://127.0.0.1:1"));
    assert!(matches!(
        nobody.addresses("api").await,
        Err(LookupError::Unreachable(_))
    ));
}

#[tokio::test]
async fn requests_to_known_names_go_on_through_each_fault() {
    let consul = Consul::start().await;
    consul.set("api", [Instance::at("192.0.2.1", 80)]);
    let source = Source::new(&Settings {
        timeout: Duration::from_millis(200),
        grace_period: Duration::from_nanos(1),
        ..settings(&consul.address)
    });
    let good = ["192.0.2.1:80"];
    for (mode, _) in faults() {
        assert_eq!(source.addresses("api").await.unwrap(), good);
        consul.mode(mode.clone());
        for _ in 0..3 {
            assert_eq!(source.addresses("api").await.unwrap(), good, "{mode:?}");
        }
        consul.mode(Mode::Good);
    }
    consul.set("api", [Instance::at("192.0.2.2", 80)]);
    // What was begun before may hang for as long as it may.
    let is_back = async {
        while source.addresses("api").await.unwrap() == good {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_back)
        .await
        .unwrap();
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.2:80"]);
}

#[tokio::test]
async fn a_long_answer_is_refused_before_it_is_whole() {
    for mode in [Mode::Endless, Mode::Million] {
        let consul = Consul::start().await;
        consul.mode(mode);
        let source = Source::new(&Settings {
            timeout: Duration::from_secs(120),
            ..settings(&consul.address)
        });
        let found = source.addresses("api").await;
        assert!(matches!(found, Err(LookupError::Long(_))), "{found:?}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_in_time_is_not_cut_short_by_the_client_that_asked() {
    let consul = Consul::start().await;
    consul.set("api", [Instance::at("192.0.2.1", 80)]);
    consul.mode(Mode::Slow(Duration::from_millis(200)));
    let source = Source::new(&Settings {
        refresh: Duration::from_secs(60),
        ..settings(&consul.address)
    });
    let left = tokio::time::timeout(Duration::from_millis(50), source.addresses("api")).await;
    assert!(left.is_err());
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
    assert_eq!(consul.targets().len(), 1);
}

#[tokio::test]
async fn what_a_failure_says_back_is_no_token() {
    let consul = Consul::start().await;
    consul.mode(Mode::Status(500, "you sent my-secret-token"));
    let source = Source::new(&Settings {
        token: Some("my-secret-token".into()),
        ..settings(&consul.address)
    });
    let error = source.addresses("api").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Consul answers with status 500: you sent (token)"
    );
}

#[tokio::test]
async fn neither_password_nor_the_beginning_of_a_token_comes_back_from_a_failure() {
    let consul = Consul::start().await;
    for (body, told) in [
        (
            "Authorization: Basic YTpteS1wYXNzd29yZA==",
            "Authorization: Basic (token)",
        ),
        // 256 bytes of a body are told.
        (CUT, "(token)"),
    ] {
        consul.mode(Mode::Status(500, body));
        let source = Source::new(&Settings {
            token: Some("my-secret-token".into()),
            basic_auth: Some("a:my-password".into()),
            ..settings(&consul.address)
        });
        let error = source.addresses("api").await.unwrap_err().to_string();
        assert!(error.ends_with(told) && !error.contains("my-sec"), "{error}");
    }
}

/// A token that begins with byte 246.
const CUT: &str = concat!(
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901",
    "my-secret-token"
);
