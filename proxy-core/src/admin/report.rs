//! Answers about what runs beside the configuration: upstreams, pods, the internal authority.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::reply::Reply;
use crate::control::{Authority, GeoState, PodState, UpstreamState};

/// The one authority there is.
const LOCAL: &str = "local";

const PEM_CHAIN: HeaderValue = HeaderValue::from_static("application/pem-certificate-chain");

/// Characters of a line of PEM.
const PEM_LINE: usize = 64;

/// `/reverse_proxy/upstreams`: the fields that Caddy has, in its order, and what it does not tell after them.
pub(super) fn upstreams(all: &[UpstreamState]) -> Reply {
    // By hand, as the order of the fields is not theirs by name.
    let one = |upstream: &UpstreamState| {
        let address = Value::from(upstream.address.as_str());
        let (requests, fails) = (upstream.requests, upstream.fails);
        let caddys = format!("\"address\":{address},\"num_requests\":{requests},\"fails\":{fails}");
        let mut more = format!("\"healthy\":{}", upstream.healthy);
        if let Some(passing) = upstream.active {
            let checks = if passing { "passing" } else { "failing" };
            more.push_str(&format!(",\"active\":\"{checks}\""));
        }
        if let Some(breaker) = upstream.breaker {
            more.push_str(&format!(",\"breaker\":\"{}\"", breaker.as_str()));
        }
        format!("{{{caddys},{more}}}")
    };
    let all: Vec<String> = all.iter().map(one).collect();
    Reply::json(format!("[{}]\n", all.join(",")))
}

/// `/doors/pods`: who still has something to do. Tokens are not among it.
pub(super) fn pods(all: &[PodState], now: SystemTime) -> Reply {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let one = |pod: &PodState| {
        json!({
            "address": pod.address.to_string(),
            "server": pod.server,
            "requests": pod.requests,
            "streams": pod.streams,
            "last_request": since_epoch.saturating_sub(pod.idle).as_secs(),
            "idle_seconds": pod.idle.as_secs(),
            "fresh": pod.fresh,
        })
    };
    Reply::value(&Value::from(all.iter().map(one).collect::<Vec<_>>()))
}

/// `/doors/geo`: how old what is known of clients' countries is, and what keeps it from being renewed.
pub(super) fn geo(all: &[GeoState]) -> Reply {
    let one = |geo: &GeoState| {
        json!({
            "source": geo.source,
            "age_seconds": geo.age.map(|age| age.as_secs()),
            "countries": geo.countries,
            "ipv4": geo.ipv4,
            "ipv6": geo.ipv6,
            "bytes": geo.bytes,
            "last_error": geo.last_error,
            "failures": geo.failures,
            "next_try_seconds": geo.next_try.map(|next| next.as_secs()),
        })
    };
    Reply::value(&Value::from(all.iter().map(one).collect::<Vec<_>>()))
}

/// Everything below `/pki/`. Unlike in Caddy, asking makes no authority.
pub(super) fn pki(path: &str, authority: impl FnOnce() -> Option<Authority>) -> Reply {
    let missing = |error: String| Reply::error(StatusCode::NOT_FOUND, &error);
    let parts: Vec<&str> = path.split('/').collect();
    let (id, wants_chain) = match parts.as_slice() {
        ["", "pki", "ca", id] if !id.is_empty() => (*id, false),
        ["", "pki", "ca", id, "certificates"] if !id.is_empty() => (*id, true),
        _ => return missing(format!("resource not found: {path}")),
    };
    if id != LOCAL {
        return missing(format!("no certificate authority configured with id: {id}"));
    }
    let Some(Authority { name, root }) = authority() else {
        return missing(format!(
            "the certificate authority {id} is not made yet; a site with `tls internal` makes it"
        ));
    };
    let root = pem(&root);
    if wants_chain {
        return Reply::of_type(PEM_CHAIN, root);
    }
    // The root signs by itself: there is no intermediate.
    Reply::json(format!(
        "{{\"id\":\"{LOCAL}\",\"name\":{name},\"root_common_name\":{name},\"intermediate_common_name\":\"\",\
         \"root_certificate\":{root},\"intermediate_certificate\":\"\"}}\n",
        name = Value::from(name),
        root = Value::from(root),
    ))
}

fn pem(der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = base64.as_str();
    while let Some((line, further)) = rest
        .split_at_checked(PEM_LINE.min(rest.len()))
        .filter(|_| !rest.is_empty())
    {
        text.push_str(line);
        text.push('\n');
        rest = further;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::BreakerState;

    fn text(reply: &Reply) -> (u16, &str) {
        (reply.status.as_u16(), std::str::from_utf8(&reply.body).unwrap())
    }

    fn authority() -> Option<Authority> {
        Some(Authority {
            name: "Doorway Local Authority".to_owned(),
            root: vec![0xff; 50],
        })
    }

    #[test]
    fn upstreams_are_written_as_by_caddy() {
        let upstream = |address: &str, requests| UpstreamState {
            address: address.to_owned(),
            requests,
            fails: 0,
            healthy: true,
            active: None,
            breaker: None,
            panic: false,
        };
        let down = UpstreamState {
            fails: 2,
            healthy: false,
            active: Some(false),
            breaker: Some(BreakerState::HalfOpen),
            ..upstream("localhost:9", 3)
        };
        assert_eq!(text(&upstreams(&[])), (200, "[]\n"));
        assert_eq!(
            text(&upstreams(&[upstream("127.0.0.1:7", 0), down])),
            (
                200,
                "[{\"address\":\"127.0.0.1:7\",\"num_requests\":0,\"fails\":0,\"healthy\":true},\
                 {\"address\":\"localhost:9\",\"num_requests\":3,\"fails\":2,\"healthy\":false,\
                 \"active\":\"failing\",\"breaker\":\"half_open\"}]\n"
            )
        );
    }

    #[test]
    fn pods_are_told_with_their_times() {
        let pod = PodState {
            address: "10.0.0.7:8080".parse().unwrap(),
            server: "app:8080".to_owned(),
            requests: 1,
            streams: 2,
            idle: Duration::from_secs(5),
            fresh: false,
        };
        assert_eq!(
            text(&pods(&[pod], UNIX_EPOCH + Duration::from_millis(100_500))),
            (
                200,
                "[{\"address\":\"10.0.0.7:8080\",\"fresh\":false,\"idle_seconds\":5,\"last_request\":95,\
                 \"requests\":1,\"server\":\"app:8080\",\"streams\":2}]\n"
            )
        );
    }

    #[test]
    fn the_authority_is_shown_and_nothing_else_is_found() {
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n//8=\n-----END CERTIFICATE-----\n",
            "/".repeat(64)
        );
        assert_eq!(
            text(&pki("/pki/ca/local/certificates", authority)),
            (200, pem.as_str())
        );
        let shown = pki("/pki/ca/local", authority);
        let shown: Value = serde_json::from_slice(&shown.body).unwrap();
        assert_eq!(shown["root_certificate"], pem);
        assert_eq!(shown["root_common_name"], "Doorway Local Authority");
        for (path, error) in [
            ("/pki/", "resource not found: /pki/"),
            ("/pki/ca/", "resource not found: /pki/ca/"),
            ("/pki/ca/local/", "resource not found: /pki/ca/local/"),
            ("/pki/ca/local/x", "resource not found: /pki/ca/local/x"),
            (
                "/pki/ca/nope",
                "no certificate authority configured with id: nope",
            ),
        ] {
            let reply = pki(path, authority);
            assert_eq!(
                text(&reply),
                (404, format!("{{\"error\":\"{error}\"}}\n").as_str()),
                "{path}"
            );
        }
        assert_eq!(pki("/pki/ca/local", || None).status, 404);
    }
}
