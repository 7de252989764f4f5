//! Tests of copies, with servers that get them.

use std::time::Duration;

use super::*;
use crate::filters::registry;
use crate::filters::trial::{Trial, all, chain, mistake, pieces, read};
use crate::filters::witness::Witness;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

#[tokio::test]
async fn a_copy_has_the_method_the_fields_and_the_body_of_the_request() {
    let mut shadow = Witness::of(OK).await;
    let chain = chain(&all(), &format!("tee({:?})", shadow.url()));
    let mut trial = Trial::post("/a%2Fb?c=d")
        .with("x-a", "1")
        .with("connection", "x-hop")
        .with("x-hop", "1");
    assert_eq!(trial.request(&chain).await, Ok(1));
    assert!(
        trial.field("x-skipper-shadow-traffic").is_empty(),
        "the request itself is no copy"
    );
    let body = trial.upload(pieces(&["some ", "text"]));
    assert_eq!(read(body).await.unwrap().concat(), b"some text");

    let copy = shadow.next().await;
    assert_eq!(copy.line, "POST /a%2Fb?c=d HTTP/1.1");
    assert_eq!(copy.body.as_deref(), Some("some text"));
    assert_eq!(copy.field("x-a"), ["1"]);
    assert_eq!(copy.field("host"), [shadow.address.to_string()]);
    assert_eq!(copy.field("x-skipper-shadow-traffic"), ["yes"]);
    assert!(copy.field("x-hop").is_empty());
}

#[tokio::test]
async fn a_length_that_is_known_is_told() {
    let mut shadow = Witness::of(OK).await;
    let chain = chain(&all(), &format!("tee({:?})", shadow.url()));
    let mut trial = Trial::post("/").with("content-length", "4");
    trial.request_body = eskip::filters::BodySlot::new(Some(4));
    trial.run(&chain).await;
    read(trial.upload(pieces(&["te", "xt"]))).await.unwrap();
    let copy = shadow.next().await;
    assert_eq!(copy.field("content-length"), ["4"]);
    assert_eq!(copy.body.as_deref(), Some("text"));
}

#[tokio::test]
async fn the_path_of_a_copy_may_be_another_one() {
    let mut shadow = Witness::of(OK).await;
    for name in ["tee", "Tee", "teenf"] {
        let text = format!(
            r#"{name}({:?}, "^/v(\\d)/", "/w$1/")"#,
            format!("{}/ignored", shadow.url())
        );
        let mut trial = Trial::get("/v1/a?b");
        trial.run(&chain(&all(), &text)).await;
        assert_eq!(shadow.next().await.line, "GET /w1/a?b HTTP/1.1");
        assert_eq!(trial.parts.uri, "/v1/a?b");
    }
}

#[tokio::test]
async fn redirects_are_followed_at_the_same_server_and_only_by_some() {
    let mut elsewhere = Witness::of(OK).await;
    let target = format!("{}/stolen", elsewhere.url());
    let answer = move |asked: &crate::filters::witness::Asked| match asked.line.as_str() {
        "GET /a HTTP/1.1" => redirect("/b"),
        "GET /b HTTP/1.1" => redirect(&target),
        _ => OK.to_owned(),
    };
    let mut shadow = Witness::new(answer).await;
    let means = Means::default();
    for (name, expected) in [
        ("teenf", &["GET /a HTTP/1.1"][..]),
        ("tee", &["GET /a HTTP/1.1", "GET /b HTTP/1.1"]),
    ] {
        let chain = chain(&registry(&means), &format!("{name}({:?})", shadow.url()));
        Trial::get("/a").run(&chain).await;
        for line in expected {
            assert_eq!(shadow.next().await.line, *line, "{name}");
        }
    }
    assert_eq!(
        means.tasks.drain(Duration::from_secs(60)).await,
        crate::tasks::Drained::Complete
    );
    assert!(!shadow.was_asked() && !elsewhere.was_asked());
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_copy_is_not_copied() {
    let mut shadow = Witness::of(OK).await;
    let chain = chain(&all(), &format!("tee({:?})", shadow.url()));
    let mut trial = Trial::get("/").with("x-skipper-shadow-traffic", "yes");
    assert!(trial.run(&chain).await);
    assert_eq!(trial.status.as_u16(), 465);
    assert!(!shadow.was_asked());
}

#[tokio::test]
async fn the_copy_of_an_upload_that_breaks_off_is_cut() {
    let mut shadow = Witness::of(OK).await;
    let chain = chain(&all(), &format!("tee({:?})", shadow.url()));
    let mut trial = Trial::post("/");
    trial.run(&chain).await;
    let mut body = trial.upload(pieces(&["a", "b"]));
    http_body_util::BodyExt::frame(&mut body).await.unwrap().unwrap();
    shadow.begun().await;
    drop(body);
    assert_eq!(shadow.next().await.body, None);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left_after_a_second_and_only_so_many_wait() {
    let mut shadow = Witness::of("").await;
    let means = Means::default();
    let copies = Copies {
        tasks: means.tasks.clone(),
        room: Arc::new(Semaphore::new(1)),
    };
    let server = means
        .outside
        .server(&mut Args::new(&[Arg::Text(shadow.url())]), Redirects::Stay);
    let tee = Tee {
        server: server.unwrap(),
        path: None,
        copies,
    };
    let chain: crate::filters::trial::Chain = vec![Box::new(tee)];
    Trial::get("/").run(&chain).await;
    shadow.next().await;
    assert_eq!(
        Trial::get("/").request(&chain).await,
        Ok(1),
        "it passes without a copy"
    );
    time::pause();
    time::sleep(TIMEOUT * 2).await;
    time::resume();
    Trial::get("/last").run(&chain).await;
    assert_eq!(shadow.next().await.line, "GET /last HTTP/1.1");
}

#[tokio::test]
async fn answers_are_copied_as_posts() {
    let mut shadow = Witness::of(OK).await;
    let text = format!("teeResponse({:?})", format!("{}/here?a=b", shadow.url()));
    let mut trial = Trial::get("/x")
        .answered_with("content-type", "text/plain")
        .answered_with("set-cookie", "a=b");
    trial.run(&chain(&all(), &text)).await;
    let body = trial.answer(pieces(&["some ", "text"]));
    assert_eq!(read(body).await.unwrap().concat(), b"some text");
    let copy = shadow.next().await;
    assert_eq!(copy.line, "POST /here?a=b HTTP/1.1");
    assert_eq!(copy.body.as_deref(), Some("some text"));
    assert_eq!(copy.field("content-type"), ["text/plain"]);
    assert!(copy.field("set-cookie").is_empty());
}

#[tokio::test]
async fn a_loopback_is_left_to_who_runs_the_filters() {
    let mut trial = Trial::get("/");
    trial
        .run(&chain(&all(), r#"teeLoopback("a") -> teeLoopback("b")"#))
        .await;
    let labels = [(); 2].map(|()| trial.exchange.take_kept::<TeeLoopback>().unwrap().label);
    assert_eq!(labels.map(|label| label.to_string()), ["b", "a"]);
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        "tee()",
        r#"tee("x")"#,
        r#"tee("http://a", "(")"#,
        r#"tee("http://a", "a")"#,
        r#"tee("http://a", "a", "b", "c")"#,
        r#"teeResponse("x")"#,
        "teeLoopback()",
    ] {
        assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
    }
}
