//! Tests of the filters that let requests wait.

use std::time::Duration;

use eskip::filters::Filters;
use futures_util::FutureExt as _;
use http::StatusCode;

use crate::filters::trial::{Chain, Trial, all, chain, mistake, pieces, read};

/// A request that has come through.
async fn passes(chain: &Chain) -> Trial {
    let mut trial = Trial::get("/");
    assert_eq!(trial.request(chain).await, Ok(chain.len()));
    trial
}

/// Whether a request has to wait.
fn waits(chain: &Chain) -> bool {
    Trial::get("/").request(chain).now_or_never().is_none()
}

/// The status of a request that does not come through.
async fn refusal(chain: &Chain) -> StatusCode {
    let mut trial = Trial::get("/");
    assert!(trial.request(chain).await.is_err());
    trial.status
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_answers_503_and_a_wait_that_is_too_long_502() {
    for text in [
        r#"fifo(1, 1, "3s")"#,
        r#"fifoWithBody(1, 1, "3s")"#,
        r#"lifo(1, 1, "3s")"#,
        r#"lifoGroup("g", 1, 1, "3s")"#,
    ] {
        let chain = chain(&all(), text);
        let _working = passes(&chain).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(refusal(&chain).await, StatusCode::BAD_GATEWAY, "{text}");
        assert_eq!(begun.elapsed(), Duration::from_secs(3), "{text}");
        // Of two that wait, one finds no room: of a stack that is the one that came first.
        let (mut one, mut other) = (Box::pin(refusal(&chain)), Box::pin(refusal(&chain)));
        assert_eq!((&mut one).now_or_never(), None);
        let other = (&mut other).now_or_never();
        let found = if text.starts_with("fifo") {
            other
        } else {
            one.now_or_never()
        };
        assert_eq!(found, Some(StatusCode::SERVICE_UNAVAILABLE), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_free_when_the_answer_has_come_or_the_client_has_left() {
    for text in [
        r#"fifo(1, 0, "1s")"#,
        r#"lifo(1, 0, "1s")"#,
        r#"lifoGroup("g", 1, 0, "1s")"#,
    ] {
        let chain = chain(&all(), text);
        let mut answered = passes(&chain).await;
        assert_eq!(refusal(&chain).await, StatusCode::SERVICE_UNAVAILABLE);
        answered.response(&chain).await;
        let left = passes(&chain).await;
        assert_eq!(refusal(&chain).await, StatusCode::SERVICE_UNAVAILABLE);
        drop(left);
        passes(&chain).await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_body_a_slot_is_free_when_the_body_has_ended() {
    for text in [
        r#"fifoWithBody(1, 0, "1s")"#,
        r#"lifoWithBody(1, 0, "1s")"#,
        r#"lifoGroupWithBody("g", 1, 0, "1s")"#,
    ] {
        let chain = chain(&all(), text);
        let mut answered = passes(&chain).await;
        answered.response(&chain).await;
        let body = answered.answer(pieces(&["a"]));
        drop(answered);
        assert_eq!(refusal(&chain).await, StatusCode::SERVICE_UNAVAILABLE, "{text}");
        read(body).await.unwrap();
        let mut cut = passes(&chain).await;
        cut.response(&chain).await;
        drop(cut.answer(pieces(&["a"])));
        passes(&chain).await;
    }
}

#[test]
fn slots_are_given_back_when_something_fails() {
    for text in [r#"fifo(1, 1, "1s")"#, "lifo()", r#"lifoGroup("g")"#] {
        let chain = chain(&all(), text);
        assert!(chain[0].wants().errors, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_outlives_the_table_of_its_route() {
    let all = all();
    let old = chain(&all, r#"fifo(1, 1, "1m")"#);
    let working = passes(&old).await;
    let mut waiting = Box::pin(async { Trial::get("/").request(&old).await });
    assert_eq!((&mut waiting).now_or_never(), None);

    let new = chain(&all, r#"fifo(2, 1, "1m")"#);
    assert!(
        waits(&new),
        "the place that is new goes to the one that came first"
    );
    assert_eq!((&mut waiting).now_or_never(), Some(Ok(1)));
    drop(waiting);
    let _second = passes(&old).await;
    assert!(waits(&old), "the old filter does not bring its settings back");
    drop(working);
    passes(&new).await;
}

#[tokio::test(start_paused = true)]
async fn only_the_last_of_a_route_works() {
    let all = all();
    let lifo = chain(&all, r#"lifo(1, 0, "1s") -> lifoWithBody(2, 0, "1s")"#);
    let _two = [passes(&lifo).await, passes(&lifo).await];
    assert_eq!(refusal(&lifo).await, StatusCode::SERVICE_UNAVAILABLE);
    let fifo = chain(&all, r#"fifo(1, 0, "1s") -> fifo(2, 0, "1s")"#);
    let _two = [passes(&fifo).await, passes(&fifo).await];
    assert_eq!(refusal(&fifo).await, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_route_may_be_stricter_than_its_group() {
    let all = all();
    let strict = chain(&all, r#"lifoGroup("g") -> lifo(1, 0, "1s")"#);
    let other = chain(&all, r#"lifoGroup("g", 2, 0, "1s")"#);
    let _first = passes(&strict).await;
    assert_eq!(refusal(&strict).await, StatusCode::SERVICE_UNAVAILABLE);
    let mut route = Trial::get("/");
    route.exchange.route = "other".to_owned();
    assert_eq!(route.request(&other).await, Ok(1));
    assert_eq!(refusal(&other).await, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_group_has_the_settings_of_its_latest_filter_that_says_any() {
    let all = all();
    let first = chain(&all, r#"lifoGroup("g", 1, 0, "1s")"#);
    let silent = chain(&all, r#"lifoGroup("g")"#);
    {
        let _working = passes(&silent).await;
        assert_eq!(refusal(&silent).await, StatusCode::SERVICE_UNAVAILABLE);
    }
    let last = chain(&all, r#"lifoGroup("g", 2, 0, "1s")"#);
    let _two = [passes(&first).await, passes(&silent).await];
    assert_eq!(refusal(&first).await, StatusCode::SERVICE_UNAVAILABLE);
    drop(last);
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_wait_for_itself() {
    let chain = chain(&all(), r#"lifo(1, 0, "1s")"#);
    let mut trial = passes(&chain).await;
    assert_eq!(trial.request(&chain).await, Ok(1));
    trial.response(&chain).await;
    passes(&chain).await;
}

#[tokio::test(start_paused = true)]
async fn routes_have_queues_of_their_own() {
    let chain = chain(&all(), r#"fifo(1, 0, "1s")"#);
    let _working = passes(&chain).await;
    let mut other = Trial::get("/");
    other.exchange.route = "other".to_owned();
    assert_eq!(other.request(&chain).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn queues_that_nobody_is_in_are_forgotten() {
    let mut all = Filters::default();
    let queues = std::sync::Arc::new(super::Queues::default());
    let made = std::sync::Arc::clone(&queues);
    all.add("fifo", ("", ""), move |args| {
        super::Queued::create(args, &made, &super::Kind::Fifo, false)
    });
    let chain = chain(&all, r#"fifo(1, 0, "1s")"#);
    let mut held = Vec::new();
    for route in 0..10 {
        let mut trial = Trial::get("/");
        trial.exchange.route = route.to_string();
        assert_eq!(trial.request(&chain).await, Ok(1));
        if route == 0 {
            held.push(trial);
        }
    }
    assert_eq!(super::lock(&queues.known).queues.len(), 10);
    tokio::time::advance(super::KEPT).await;
    passes(&chain).await;
    assert_eq!(
        super::lock(&queues.known).queues.len(),
        2,
        "one is in use, one is new"
    );
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for (text, expected) in [
        ("fifo()", "argument 1: expected how many requests go on at once"),
        ("fifo(1, 2)", "argument 2: expected how long a request waits"),
        (
            "lifo(1.5)",
            "argument 1: expected how many requests go on at once",
        ),
        (
            r#"lifo(1, 2, "x")"#,
            "argument 3: expected how long a request waits",
        ),
        ("lifoGroup(1)", "argument 1: expected the name of a group"),
        (r#"lifo(1, 2, "1s", 4)"#, "expected at most 3 arguments, found 4"),
    ] {
        assert!(mistake(text).ends_with(expected), "{}", mistake(text));
    }
}

#[test]
fn without_arguments_a_hundred_go_on_and_a_hundred_wait_for_ten_seconds() {
    let settings = super::settings(&mut eskip::filters::Args::new(&[]), false).unwrap();
    assert_eq!(settings, super::Settings::default());
    assert_eq!((settings.at_once, settings.waiting), (100, 100));
    assert_eq!(settings.timeout, Duration::from_secs(10));
}
