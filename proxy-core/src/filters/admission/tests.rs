//! Tests of `admissionControl`.

use super::*;
use crate::filters::trial::{Chain, Trial, all, chain, mistake};

const TEXT: &str = r#"admissionControl("app", "active", "1s", 5, 10, 0.9, 0.95, 0.5)"#;

/// One request that the backend answers with `status`. Whether it came there.
async fn ask(chain: &Chain, status: StatusCode, random: u64) -> bool {
    let mut trial = Trial::get("/");
    trial.env.random = random;
    match trial.request(chain).await {
        Ok(_) => {
            trial.status = status;
            trial.response(chain).await;
            true
        }
        Err(count) => {
            assert_eq!(trial.status, StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(trial.answer_field("admission-control"), ["true"]);
            trial.response(&chain[..count]).await;
            false
        }
    }
}

/// Requests of one window, and its end.
async fn window(chain: &Chain, well: usize, failed: usize) {
    for _ in 0..well {
        ask(chain, StatusCode::OK, u64::MAX).await;
    }
    for _ in 0..failed {
        ask(chain, StatusCode::BAD_GATEWAY, u64::MAX).await;
    }
    tokio::time::advance(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn requests_are_rejected_while_many_fail_and_pass_once_that_is_over() {
    let chain = chain(&all(), TEXT);
    window(&chain, 0, 100).await;
    assert!(!ask(&chain, StatusCode::OK, 0).await);
    // Never more than 95 of a hundred.
    assert!(ask(&chain, StatusCode::OK, u64::MAX / 100 * 96).await);
    for _ in 0..6 {
        window(&chain, 100, 0).await;
    }
    assert!(ask(&chain, StatusCode::OK, 0).await);
}

#[tokio::test(start_paused = true)]
async fn few_requests_are_not_rejected() {
    let chain = chain(&all(), TEXT);
    window(&chain, 0, 49).await;
    assert!(
        ask(&chain, StatusCode::OK, 0).await,
        "not ten a second in five seconds"
    );
    let mut now = Trial::get("/");
    now.run(&chain).await;
    window(&chain, 0, 50).await;
    assert!(!ask(&chain, StatusCode::OK, 0).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_active_only_counts() {
    for mode in ["inactive", "logInactive"] {
        let chain = chain(&all(), &TEXT.replace("active", mode));
        window(&chain, 0, 100).await;
        assert!(ask(&chain, StatusCode::OK, 0).await);
    }
}

#[tokio::test(start_paused = true)]
async fn rejections_are_not_counted_and_those_of_a_proxy_behind_are_neither() {
    let filters = all();
    let chain = chain(&filters, TEXT);
    window(&chain, 60, 20).await;
    for _ in 0..1000 {
        assert!(!ask(&chain, StatusCode::OK, 0).await);
        let mut behind = Trial::get("/").answered_with("admission-control", "true");
        behind.env.random = u64::MAX;
        behind.status = StatusCode::SERVICE_UNAVAILABLE;
        behind.run(&chain).await;
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    let terms = terms(TEXT);
    let before = terms.probability(Count { all: 80, well: 60 });
    assert!(before > 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a probability of all numbers"
    )]
    let at = |share: f64| (share * u64::MAX as f64) as u64;
    assert!(!ask(&chain, StatusCode::OK, at(before - 0.01)).await);
    assert!(ask(&chain, StatusCode::OK, at(before + 0.01)).await);
}

#[tokio::test(start_paused = true)]
async fn counts_outlive_the_table_of_the_route_and_only_the_last_filter_counts() {
    let all = all();
    window(&chain(&all, TEXT), 0, 100).await;
    let next = chain(&all, &format!("{TEXT} -> {TEXT}"));
    assert!(!ask(&next, StatusCode::OK, 0).await);
    window(&next, 10, 0).await;
    let found = chain(&all, &TEXT.replace("0.9,", "0.09,"));
    assert!(
        ask(&found, StatusCode::OK, 0).await,
        "10 of 110 are well, each once"
    );
}

fn terms(text: &str) -> Terms {
    let calls = eskip::parse_filters(text).unwrap();
    let mut args = Args::new(&calls[0].args);
    args.text("").unwrap();
    args.text("").unwrap();
    Terms::read(&mut args).unwrap()
}

#[test]
fn the_probability_is_that_of_the_formula() {
    let terms = terms(r#"x("", "", "1s", 1, 10, 0.5, 0.9, 0.5)"#);
    for (all, well, expected) in [
        (100, 100, 0.0),
        (100, 50, 0.0),
        (100, 40, (20.0_f64 / 101.0).sqrt()),
        (100, 0, 0.9),
        (9, 0, 0.0),
    ] {
        let found = terms.probability(Count { all, well });
        assert!((found - expected).abs() < 1e-9, "{all} {well}: {found}");
    }
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for (from, to) in [
        (r#""app""#, "1"),
        ("active", "on"),
        ("1s", "x"),
        ("1s", "0"),
        (" 5,", " 0,"),
        (" 5,", " 101,"),
        ("0.9,", "0,"),
        ("0.9,", "1.1,"),
        ("0.95", "0"),
        ("0.95", "2"),
        ("0.5)", "0)"),
        (", 0.5)", ")"),
        ("0.5)", "0.5, 1)"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        assert!(mistake(&text).starts_with("invalid_filter_params"), "{text}");
    }
}
