//! Routes in Skipper's language, and what stands beside them.

use std::time::Duration;

use caddy_config::{Eskip, EskipBreaker, EskipBreakerKind, EskipPassiveHealth};
use proptest::{collection::vec, option, prelude::*};
use serde_json::Number;

use super::{duration, text};

pub(super) fn eskip() -> impl Strategy<Value = Eskip> {
    let texts = || vec(text(), 0..3);
    let edits = || vec("/[a-z]{0,4}/[a-z$1]{0,4}/", 0..2);
    // One file at least, so that there are routes.
    let sources = (
        vec("[a-z/.]{1,8}", 1..3),
        texts(),
        vec("https?://[a-z]{1,5}/[a-z.]{0,5}", 0..2),
        vec("[a-z0-9_.-]{1,5}", 0..2),
        duration(),
    );
    let changes = (texts(), texts(), edits(), edits());
    let switches = any::<[bool; 4]>();
    let answers = (
        option::of(prop_oneof![Just(-1), 1_i32..]),
        option::of(100_u16..=511),
        option::of("(http|https|h2c)://[a-z]{1,5}(:80)?"),
        vec("[a-zA-Z_][a-zA-Z0-9_]{0,5}", 0..2),
        option::of("https?://[a-z]{1,5}/[a-z.]{0,5}"),
    );
    let health = (vec(breaker(), 0..3), option::of(passive_health()));
    (sources, changes, switches, answers, health).prop_map(|(sources, changes, switches, answers, health)| {
        Eskip {
            files: sources.0,
            inline: sources.1,
            urls: sources.2,
            sources: sources.3,
            poll: sources.4,
            default_filters_prepend: changes.0,
            default_filters_append: changes.1,
            edit_routes: changes.2,
            clone_routes: changes.3,
            preserve_host: switches[0],
            ignore_trailing_slash: switches[1],
            normalize_host: switches[3],
            insecure: switches[2],
            max_loopbacks: answers.0,
            default_status: answers.1,
            forward_backend: answers.2,
            tokeninfo_url: answers.4,
            disabled_filters: answers.3,
            breakers: health.0,
            passive_health: health.1,
        }
    })
}

fn breaker() -> impl Strategy<Value = EskipBreaker> {
    let kind = prop_oneof![
        (1_u32..).prop_map(|failures| EskipBreakerKind::Consecutive { failures }),
        (1_u32..=1_000, 1_000_u32..=65_536)
            .prop_map(|(failures, window)| EskipBreakerKind::Rate { failures, window }),
        Just(EskipBreakerKind::Disabled),
    ];
    (
        kind,
        option::of("[a-z]{1,5}(:80)?"),
        duration(),
        option::of(1_u32..),
        duration(),
    )
        .prop_map(
            |(kind, host, timeout, half_open_requests, idle_ttl)| EskipBreaker {
                kind,
                host,
                timeout,
                half_open_requests,
                idle_ttl,
            },
        )
}

fn passive_health() -> impl Strategy<Value = EskipPassiveHealth> {
    let number = |percent: u8| Number::from_f64(f64::from(percent) / 100.0).unwrap();
    let period = duration().prop_map(|period| period.unwrap_or(Duration::from_secs(1)));
    let part = || option::of((0_u8..=50).prop_map(number));
    (period, 1_u32.., (50_u8..=100).prop_map(number), part(), part()).prop_map(
        |(
            period,
            min_requests,
            max_drop_probability,
            min_drop_probability,
            max_unhealthy_endpoints_ratio,
        )| {
            EskipPassiveHealth {
                period,
                min_requests,
                max_drop_probability,
                min_drop_probability,
                max_unhealthy_endpoints_ratio,
            }
        },
    )
}
