//! Tests of the filters that delay.

use std::time::Duration;

use eskip::filters::Flow;
use futures_util::FutureExt as _;
use http::StatusCode;
use http_body_util::BodyExt as _;
use tokio::time::Instant;

use crate::filters::counting::count;
use crate::filters::trial::{Trial, all, chain, mistake, pieces, read};

async fn spent(work: impl Future<Output = ()>) -> Duration {
    let begun = Instant::now();
    work.await;
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn latencies_delay_the_side_that_they_are_for() {
    let (none, some) = (Duration::ZERO, Duration::from_millis(120));
    for (text, request, response) in [
        ("latency(120)", none, some),
        (r#"latency("120ms")"#, none, some),
        ("latency(0)", none, none),
        ("backendLatency(120)", some, none),
        (r#"uniformRequestLatency("120ms", 0)"#, some, none),
        (r#"uniformResponseLatency("120ms", 0)"#, none, some),
        (r#"normalRequestLatency("120ms", 0)"#, some, none),
        (r#"normalResponseLatency("120ms", 0)"#, none, some),
        (r#"histogramRequestLatency("120ms", 1, "130ms")"#, some, none),
        (r#"histogramResponseLatency("120ms", 1, "130ms")"#, none, some),
    ] {
        let chain = chain(&all(), text);
        let mut trial = Trial::get("/");
        let to_backend = spent(async { assert_eq!(trial.request(&chain).await, Ok(1)) }).await;
        assert_eq!(to_backend, request, "{text}");
        assert_eq!(spent(trial.response(&chain)).await, response, "{text}");
    }
}

/// When each piece of the answer's body came, in milliseconds, and how long it was.
async fn times(text: &str, sent: &[&'static str]) -> Vec<(u128, usize)> {
    let chain = chain(&all(), text);
    let mut trial = Trial::get("/");
    trial.run(&chain).await;
    let begun = Instant::now();
    let (mut body, mut all) = (trial.answer(pieces(sent)), Vec::new());
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        all.push((begun.elapsed().as_millis(), data.len()));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn chunks_come_with_delays_before_them() {
    let found = times(r#"chunks(4, "100ms")"#, &["abcdef", "g", "hijkl"]).await;
    // Twelve bytes in three chunks, of which the second came in pieces.
    assert_eq!(found, [(100, 4), (200, 2), (200, 1), (200, 1), (300, 4)]);
    assert_eq!(times(r#"chunks(4, "0")"#, &["abcdef"]).await, [(0, 4), (0, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_bandwidth_is_kept() {
    const KIB: &str = match std::str::from_utf8(&[b'x'; 1024]) {
        Ok(text) => text,
        Err(_) => "",
    };
    // Each 512 bytes of 30 KiB a second take 16.7 milliseconds.
    let found = times("bandwidth(30)", &[KIB; 15]).await;
    assert_eq!(found.iter().map(|(_, length)| length).sum::<usize>(), 15 * 1024);
    let last = found.last().unwrap().0;
    assert!((500..540).contains(&last), "{last}");
    let found = times("bandwidth(3000)", &[KIB; 1500]).await;
    let last = found.last().unwrap().0;
    assert!((495..540).contains(&last), "{last}");
}

#[tokio::test(start_paused = true)]
async fn uploads_are_slowed_down_by_the_backend_variants() {
    for text in [r#"backendChunks(1, "100ms")"#, "backendBandwidth(0.01)"] {
        let chain = chain(&all(), text);
        let mut trial = Trial::post("/");
        trial.run(&chain).await;
        let (slow, fast) = (trial.upload(pieces(&["ab"])), trial.answer(pieces(&["ab"])));
        assert!(
            spent(async { assert_eq!(read(fast).await.unwrap().len(), 1) })
                .await
                .is_zero()
        );
        let slow = spent(async { drop(read(slow).await.unwrap()) }).await;
        assert!(slow >= Duration::from_millis(200), "{text}: {slow:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn trailers_follow_a_slow_body() {
    let chain = chain(&all(), r#"chunks(1, "1ms")"#);
    let mut trial = Trial::get("/");
    trial.run(&chain).await;
    let trailers = http::HeaderMap::from_iter([(http::header::EXPIRES, http::HeaderValue::from_static("0"))]);
    let body = http_body_util::Full::new(bytes::Bytes::from_static(b"ab"))
        .with_trailers(std::future::ready(Some(Ok(trailers))))
        .map_err(Into::into);
    let mut body = trial.answer(Box::pin(body));
    let mut found = Vec::new();
    while let Some(frame) = body.frame().await {
        found.push(frame.unwrap().is_trailers());
    }
    assert_eq!(found, [false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn the_tar_pit_has_no_end() {
    let chain = chain(&all(), r#"tarpit("1s")"#);
    let mut trial = Trial::get("/");
    assert!(trial.run(&chain).await);
    assert_eq!(trial.status, StatusCode::OK);
    assert_eq!(trial.body.length(), None, "it is chunked");
    let mut body = trial.answer(pieces(&[]));
    for _ in 0..1000 {
        let begun = Instant::now();
        assert!(body.frame().await.is_some());
        assert_eq!(begun.elapsed().as_secs(), 1);
    }
}

#[tokio::test]
async fn absorbed_requests_are_read_and_answered_with_200() {
    for text in ["absorb()", "absorbSilent()"] {
        let chain = chain(&all(), text);
        let mut trial = Trial::post("/");
        let Flow::Wait(mut waiting) = chain[0].request(&mut trial.cx(false)) else {
            panic!("{text} waits for the body");
        };
        assert!((&mut waiting).now_or_never().is_none());
        let (told, read) = std::sync::mpsc::channel();
        let body = count(pieces(&["a", "bc"]), move |bytes, complete| {
            told.send((bytes, complete)).unwrap();
        });
        assert!(
            trial.upload(body).frame().await.is_none(),
            "nothing is left of it"
        );
        let Flow::Serve(answer) = (waiting.await)(&mut trial.cx(false)) else {
            panic!("{text} answers");
        };
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(read.try_recv(), Ok((3, true)));
    }
}

#[tokio::test]
async fn a_request_without_a_body_is_absorbed_at_once() {
    let mut trial = Trial::get("/");
    let chain = chain(&all(), "absorbSilent()");
    let flow = chain[0].request(&mut trial.cx(false));
    drop(trial.request_body.take_change());
    let Flow::Wait(waiting) = flow else {
        panic!("it has nothing to wait for");
    };
    assert!(waiting.now_or_never().is_some());
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        "latency()",
        r#"latency("foo")"#,
        "latency(-1)",
        "latency(1, 2)",
        "bandwidth()",
        "bandwidth(0)",
        "bandwidth(-1)",
        "bandwidth(1, 2)",
        "chunks(1)",
        r#"chunks(0, "1s")"#,
        "chunks(1, 2, 3)",
        r#"uniformRequestLatency("1s")"#,
        "tarpit()",
        "tarpit(0)",
        "absorb(1)",
    ] {
        assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
    }
}
