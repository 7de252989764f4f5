//! Answers that are kept, and those that are not.

use std::time::Duration;

use tokio::time;

use crate::filters::trial::{Chain, Trial, all, chain, mistake, pieces, read};

/// Asks, and gives whether the backend was not asked, the status, and what X-Cache says.
async fn ask(chain: &Chain, trial: Trial, status: u16, fields: &[(&str, &str)]) -> (bool, u16, String) {
    let mut trial = trial;
    if let Ok(count) = trial.request(chain).await {
        for (name, value) in fields {
            trial = trial.answered_with(name, value);
        }
        trial.status = http::StatusCode::from_u16(status).unwrap();
        trial.response(&chain[..count]).await;
        let kept = trial.answer_field("x-cache").join("");
        if kept.is_empty() {
            let body = trial.answer(pieces(&["ab", "c"]));
            read(body).await.unwrap();
        }
        return (false, trial.status.as_u16(), kept);
    }
    (
        true,
        trial.status.as_u16(),
        trial.answer_field("x-cache").join(""),
    )
}

/// Whether the second of two requests is answered by what the first one had.
async fn is_kept(text: &str, first: Trial, second: Trial, status: u16, fields: &[(&str, &str)]) -> bool {
    let chain = chain(&all(), text);
    assert!(!ask(&chain, first, status, fields).await.0);
    ask(&chain, second, status, fields).await.0
}

fn get() -> Trial {
    Trial::get("/a?b")
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_as_long_as_it_says() {
    let chain = chain(&all(), "cache()");
    let fields = [("cache-control", "max-age=10"), ("etag", "\"1\"")];
    assert!(!ask(&chain, get(), 200, &fields).await.0);
    assert_eq!(
        ask(&chain, get(), 200, &fields).await,
        (true, 200, "HIT".to_owned())
    );
    let known = get().with("if-none-match", "W/\"1\", \"2\"");
    assert_eq!(
        ask(&chain, known, 200, &fields).await,
        (true, 304, "HIT".to_owned())
    );
    time::advance(Duration::from_secs(9)).await;
    assert!(ask(&chain, get(), 200, &fields).await.0);
    time::advance(Duration::from_secs(1)).await;
    assert!(!ask(&chain, get(), 200, &fields).await.0);
}

#[tokio::test(start_paused = true)]
async fn only_what_every_client_may_see_is_kept() {
    let long = ("cache-control", "max-age=60");
    assert!(is_kept("cache()", get(), get(), 200, &[long]).await);
    for fields in [
        &[][..],
        &[("cache-control", "max-age=60, private")],
        &[("cache-control", "no-store")],
        &[("cache-control", "no-cache, max-age=60")],
        &[long, ("set-cookie", "a=b")],
        &[long, ("vary", "*")],
        &[long, ("content-range", "bytes 0-1/2")],
        &[long, ("age", "60")],
        &[("expires", "0")],
    ] {
        assert!(!is_kept("cache()", get(), get(), 200, fields).await, "{fields:?}");
    }
    let known = || get().with("authorization", "Bearer a");
    assert!(!is_kept("cache()", known(), get(), 200, &[long]).await);
    assert!(
        is_kept(
            "cache()",
            known(),
            get(),
            200,
            &[("cache-control", "public, max-age=60")]
        )
        .await
    );
    assert!(
        !is_kept(
            "cache()",
            get().with("cache-control", "no-store"),
            get(),
            200,
            &[long]
        )
        .await
    );
    assert!(
        !is_kept(
            "cache()",
            get(),
            get().with("cache-control", "no-cache"),
            200,
            &[long]
        )
        .await
    );
    assert!(!is_kept("cache()", get().with("range", "bytes=0-1"), get(), 206, &[long]).await);
    assert!(!is_kept("cache()", Trial::post("/a?b"), get(), 200, &[long]).await);
    assert!(!is_kept("cache()", get(), get(), 500, &[long]).await);
    assert!(!is_kept("cache()", get(), Trial::get("/a?c"), 200, &[long]).await);
}

#[tokio::test(start_paused = true)]
async fn answers_that_say_nothing_are_kept_as_the_filter_says() {
    assert!(is_kept(r#"cache("1m", "0", "0")"#, get(), get(), 200, &[]).await);
    assert!(is_kept(r#"cache("0", "1m", "0")"#, get(), get(), 404, &[]).await);
    assert!(!is_kept(r#"cache("1m", "0", "0")"#, get(), get(), 404, &[]).await);
    assert!(!is_kept(r#"cache("1m", "1m", "0")"#, get(), get(), 302, &[]).await);
}

#[tokio::test(start_paused = true)]
async fn answers_are_told_apart_by_what_they_vary_with() {
    let with = |value: &str| get().with("accept-language", value);
    let fields = [("cache-control", "max-age=60"), ("vary", "Accept-Language")];
    assert!(is_kept("cache()", with("de"), with("de"), 200, &fields).await);
    assert!(!is_kept("cache()", with("de"), with("fr"), 200, &fields).await);
    let keyed = r#"cache("1m", "0", "0", "0", "Accept-Language, X-Tenant")"#;
    assert!(!is_kept(keyed, with("de"), with("fr"), 200, &[]).await);
    assert!(is_kept(keyed, with("de"), with("de"), 200, &[]).await);
}

#[tokio::test(start_paused = true)]
async fn an_old_answer_serves_while_one_request_asks_and_instead_of_errors() {
    let chain = chain(&all(), r#"cache("10s", "0", "10s", "1h")"#);
    assert!(!ask(&chain, get(), 200, &[]).await.0);
    time::advance(Duration::from_secs(11)).await;
    let mut asking = get();
    assert!(asking.request(&chain).await.is_ok(), "one asks");
    assert_eq!(
        ask(&chain, get(), 200, &[]).await,
        (true, 200, "STALE".to_owned())
    );
    asking.status = http::StatusCode::BAD_GATEWAY;
    asking.response(&chain).await;
    assert_eq!(
        (asking.status.as_u16(), asking.answer_field("x-cache")),
        (200, vec!["STALE"])
    );
    time::advance(Duration::from_secs(600)).await;
    assert_eq!(
        ask(&chain, get(), 503, &[]).await,
        (false, 200, "STALE".to_owned())
    );
    time::advance(Duration::from_secs(3600)).await;
    assert_eq!(ask(&chain, get(), 503, &[]).await, (false, 503, String::new()));
}

#[tokio::test(start_paused = true)]
async fn a_change_forgets_what_was_kept_and_a_cut_body_is_not_kept() {
    let chain = chain(&all(), r#"cache("1m", "0", "0")"#);
    assert!(!ask(&chain, get(), 200, &[]).await.0);
    assert!(ask(&chain, get(), 200, &[]).await.0);
    assert!(!ask(&chain, Trial::post("/a?b"), 200, &[]).await.0);
    let mut cut = get();
    assert!(cut.request(&chain).await.is_ok());
    cut.response(&chain).await;
    drop(cut.answer(pieces(&["ab", "c"])));
    assert!(!ask(&chain, get(), 200, &[]).await.0);
    assert!(ask(&chain, get(), 200, &[]).await.0);
}

#[test]
fn what_is_kept_is_bounded() {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::rules::Terms;
    use super::store::{Entry, Key, Store};

    let store = Store::default();
    let terms = Terms {
        fresh: Duration::from_secs(60),
        while_asking: Duration::ZERO,
        instead_of_error: Duration::ZERO,
        age: Duration::ZERO,
    };
    let now = time::Instant::now().into_std();
    let key = |number: usize| {
        Key::new(
            (0, "r"),
            ("h", false),
            &format!("/{number}").parse().unwrap(),
            std::iter::empty(),
        )
    };
    for number in 0..1000 {
        let entry = Entry::new(StatusCode::OK, HeaderMap::new(), (Vec::new(), terms), now);
        store.insert(key(number), entry, Bytes::from(vec![0; 1 << 20]));
        assert!(store.bytes() <= 64 << 20);
    }
    for _ in 0..10_000 {
        let entry = Entry::new(StatusCode::OK, HeaderMap::new(), (Vec::new(), terms), now);
        store.insert(key(999), entry, Bytes::new());
    }
    assert!(store.remembered() <= 200, "{}", store.remembered());
    assert!(store.find(&key(0), &HeaderMap::new(), now).is_none());
    assert!(store.find(&key(999), &HeaderMap::new(), now).is_some());
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        r#"cache("x")"#,
        r#"cache("1m")"#,
        r#"cache("1m", "1m", "1m", "1m", "a b")"#,
        r#"cache("1m", "1m", "1m", "1m", "a", "b")"#,
    ] {
        assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
    }
}
