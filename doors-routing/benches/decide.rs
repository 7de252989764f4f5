//! What a decision costs: `cargo bench -p doors-routing`.

#![allow(clippy::unwrap_used, reason = "a benchmark stops by panicking")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use doors_routing::{Router, UpstreamBlock};
use doors_token::TokenCipher;

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// A router for `servers` servers: pods in `10.0.<n>.0/24`.
fn router(servers: usize) -> Router {
    let block =
        |n| UpstreamBlock::parse(&format!("10.0.{n}.0/24"), &format!("svc-{n}.local"), "8080").unwrap();
    let cipher = TokenCipher::new(SECRET).unwrap();
    Router::try_new(
        cipher,
        Some("upstream".to_owned()),
        (0..servers).map(block).collect(),
    )
    .unwrap()
}

fn without_token(c: &mut Criterion) {
    let (one, two) = (router(1), router(2));
    // What a browser sends after three roll-outs, and has no affinity cookie yet.
    let token = |ip: [u8; 4]| TokenCipher::new(SECRET).unwrap().encode(ip.into());
    let session = |n| format!("{}=7fJcV3sYqPq1yTzWbE9uXa; ", token([10, 0, 0, n]));
    let sessions = (1..=3).map(session).collect::<String>() + "theme=dark";

    let mut group = c.benchmark_group("page without token");
    group.bench_function("one server", |b| {
        b.iter(|| one.decide(black_box("/docs/start"), []))
    });
    group.bench_function("two servers, no cookie", |b| {
        b.iter(|| two.decide(black_box("/docs/start"), []))
    });
    group.bench_function("two servers, one cookie", |b| {
        b.iter(|| two.decide(black_box("/docs/start"), [black_box(b"theme=dark".as_slice())]));
    });
    group.bench_function(
        format!("two servers, {} bytes of other cookies", sessions.len()),
        |b| {
            b.iter(|| two.decide(black_box("/docs/start"), [black_box(sessions.as_bytes())]));
        },
    );
    group.finish();
}

fn with_token(c: &mut Criterion) {
    let cipher = TokenCipher::new(SECRET).unwrap();
    let token = cipher.encode([10, 0, 1, 7].into());
    let system = format!("/~/{token}/h/3kT9/17");
    let (first, rest) = token.split_at(1);
    let encoded = format!("/%7E/%{:x}{rest}/h/3kT9/17", first.as_bytes()[0]);
    let foreign = format!("/~/{}/h/3kT9/17", "A".repeat(43));
    let cookie = format!("theme=dark; upstream={token}");
    let bad = "upstream=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA; ".repeat(50);

    for servers in [2, 200] {
        let router = router(servers);
        let mut group = c.benchmark_group(format!("{servers} servers"));
        group.bench_function("system path", |b| {
            b.iter(|| router.decide(black_box(&system), []))
        });
        group.bench_function("system path, percent-encoded", |b| {
            b.iter(|| router.decide(black_box(&encoded), []))
        });
        group.bench_function("system path, foreign token", |b| {
            b.iter(|| router.decide(black_box(&foreign), []))
        });
        group.bench_function("page, affinity cookie", |b| {
            b.iter(|| router.decide(black_box("/docs/start"), [black_box(cookie.as_bytes())]));
        });
        group.bench_function("page, 50 bad affinity cookies", |b| {
            b.iter(|| router.decide(black_box("/docs/start"), [black_box(bad.as_bytes())]));
        });
        group.bench_function("server of a pod", |b| {
            b.iter(|| router.server_of(black_box([10, 0, 1, 7].into())))
        });
        group.finish();
    }
}

criterion_group!(benches, without_token, with_token);
criterion_main!(benches);
