//! What a token costs: `cargo bench -p doors-token`.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a benchmark stops by panicking")]

use std::{hint::black_box, net::IpAddr};

use criterion::{Criterion, criterion_group, criterion_main};
use doors_token::{MAX_TOKEN_LEN, TokenCipher, generate_secret};

/// One secret for each key size.
const SECRETS: [(&str, &str); 3] = [
    ("aes128", "MDEyMzQ1Njc4OWFiY2RlZg=="),
    ("aes192", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"),
    ("aes256", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
];

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode");
    for (key, secret) in SECRETS {
        let cipher = TokenCipher::new(secret).unwrap();
        for address in ["10.0.0.5", "2001:db8::1"] {
            let token = cipher.encode(address.parse().unwrap());
            group.bench_function(format!("{key}/{address}"), |b| {
                b.iter(|| cipher.decode(black_box(&token)))
            });
        }
    }
    group.finish();
}

fn refuse(c: &mut Criterion) {
    let one = TokenCipher::new(SECRETS[2].1).unwrap();
    let two = TokenCipher::with_secrets([SECRETS[2].1, SECRETS[1].1]).unwrap();
    let foreign = TokenCipher::new(&generate_secret().unwrap())
        .unwrap()
        .encode(IpAddr::from([10, 0, 0, 5]));
    let overlong = "A".repeat(1 << 16);
    let longest = "A".repeat(MAX_TOKEN_LEN);

    let mut group = c.benchmark_group("refuse");
    group.bench_function("foreign token, one key", |b| {
        b.iter(|| one.decode(black_box(&foreign)))
    });
    group.bench_function("foreign token, two keys", |b| {
        b.iter(|| two.decode(black_box(&foreign)))
    });
    group.bench_function("longest text that is read", |b| {
        b.iter(|| one.decode(black_box(&longest)))
    });
    group.bench_function("64 KiB", |b| b.iter(|| one.decode(black_box(&overlong))));
    group.finish();
}

fn encode(c: &mut Criterion) {
    let cipher = TokenCipher::new(SECRETS[2].1).unwrap();
    c.bench_function("encode/aes256/10.0.0.5", |b| {
        b.iter(|| cipher.encode(black_box(IpAddr::from([10, 0, 0, 5]))))
    });
}

criterion_group!(benches, decode, refuse, encode);
criterion_main!(benches);
