//! What backends are told of where a request came from and which one it is.

use std::time::SystemTime;

use http::header::{self, HeaderName, HeaderValue};

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use super::settings::{Origin, RouteSettings};
use crate::Arg;
use crate::routing::ArgsError;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FLOW_ID: HeaderName = HeaderName::from_static("x-flow-id");

/// What ids of flows are made of, six bits to a character.
const FLOW_CHARACTERS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

/// Adds the client to the addresses that a request has passed, and says which host it asked for.
#[derive(Debug)]
struct XForward {
    /// Whether it comes before them.
    first: bool,
}

/// Takes the dot from the end of the host.
#[derive(Debug)]
struct RfcHost;

/// Gives the request an id.
#[derive(Debug)]
struct FlowId {
    /// One that it has already stays.
    reuses: bool,
}

/// Says what the route was made of.
#[derive(Debug)]
struct OriginMarker(Origin);

pub(super) fn add(all: &mut Filters) {
    for (name, first, does) in [
        (
            "xforward",
            false,
            "adds the client's address to the end of X-Forwarded-For, and sets X-Forwarded-Host",
        ),
        (
            "xforwardFirst",
            true,
            "adds the client's address to the begin of X-Forwarded-For, and sets X-Forwarded-Host",
        ),
    ] {
        let example = if first { "xforwardFirst()" } else { "xforward()" };
        all.add(name, (does, example), move |args| {
            Args::new(args).end()?;
            Ok(XForward { first })
        });
    }
    all.add(
        "rfcHost",
        ("takes the dot from the end of the host", "rfcHost()"),
        |args| {
            Args::new(args).end()?;
            Ok(RfcHost)
        },
    );
    all.add(
        "flowId",
        (
            r#"sets X-Flow-Id to a random id; with "reuse" a fitting one of the client stays"#,
            r#"flowId("reuse")"#,
        ),
        FlowId::create,
    );
    all.add(
        "originMarker",
        (
            "says what the route was made of: what kind of thing, which one, and when that was created",
            r#"originMarker("ingress", "default/app", "2024-05-01T10:00:00Z")"#,
        ),
        OriginMarker::create,
    );
}

// === impl XForward ===

impl Filter for XForward {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let headers = &mut cx.request.headers;
        if let Some(ip) = cx.exchange.peer_ip() {
            let ip = ip.to_string();
            // A line that is no text is no list of addresses.
            let lines = headers.get_all(FORWARDED_FOR).iter();
            let lines = lines
                .filter_map(|line| line.to_str().ok())
                .filter(|line| !line.is_empty());
            let mut all: Vec<&str> = lines.collect();
            let place = if self.first { 0 } else { all.len() };
            all.insert(place, &ip);
            if let Ok(all) = HeaderValue::try_from(all.join(", ")) {
                headers.insert(FORWARDED_FOR, all);
            }
        }
        if let Ok(host) = HeaderValue::from_str(&cx.exchange.host) {
            headers.insert(FORWARDED_HOST, host);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl RfcHost ===

impl Filter for RfcHost {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(host) = without_dot(&cx.exchange.host) {
            cx.exchange.host = host;
        }
        let fixed = |value: &HeaderValue| without_dot(value.to_str().ok()?)?.parse().ok();
        if let Some(value) = cx.request.headers.get_mut(header::HOST)
            && let Some(host) = fixed(value)
        {
            *value = host;
        }
        if let Some(value) = &mut cx.exchange.outgoing_host
            && let Some(host) = fixed(value)
        {
            *value = host;
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

/// The host without the dot at its end, if it has one.
fn without_dot(host: &str) -> Option<String> {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name.strip_suffix('.').map(|name| format!("{name}:{port}")),
        _ => host.strip_suffix('.').map(str::to_owned),
    }
}

// === impl FlowId ===

impl FlowId {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let reuses = args.has_more();
        if reuses && !args.text("reuse")?.eq_ignore_ascii_case("reuse") {
            return Err(args.expected("reuse"));
        }
        args.end()?;
        Ok(Self { reuses })
    }
}

impl Filter for FlowId {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let headers = &mut cx.request.headers;
        let is_kept = |value: &HeaderValue| self.reuses && is_flow_id(value.as_bytes());
        if !headers.get(FLOW_ID).is_some_and(is_kept) {
            let id = flow_id(cx.env.random(), cx.env.random());
            if let Ok(id) = HeaderValue::from_bytes(&id) {
                headers.insert(FLOW_ID, id);
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

fn is_flow_id(id: &[u8]) -> bool {
    (8..=64).contains(&id.len()) && id.iter().all(|byte| FLOW_CHARACTERS.contains(byte))
}

/// An id of 48 bits of each number. It tells requests apart and is no secret.
fn flow_id(left: u64, right: u64) -> [u8; 16] {
    let mut bits = u128::from(left) << 48 | u128::from(right & 0xFFFF_FFFF_FFFF);
    [(); 16].map(|()| {
        let index = usize::try_from(bits & 63).unwrap_or_default();
        bits >>= 6;
        FLOW_CHARACTERS.get(index).copied().unwrap_or(b'0')
    })
}

// === impl OriginMarker ===

impl OriginMarker {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let kind = args.text("what kind of thing")?.to_owned();
        let id = args.text("which one")?.to_owned();
        let created = args.text("a date of RFC 3339")?.parse::<jiff::Timestamp>();
        let created = created.map_err(|_| args.expected("a date of RFC 3339"))?;
        args.end()?;
        Ok(Self(Origin {
            kind,
            id,
            created: SystemTime::try_from(created).map_err(|_| args.expected("a date of RFC 3339"))?,
        }))
    }
}

impl Filter for OriginMarker {
    fn wants(&self) -> Wants {
        Wants::NONE
    }

    fn settle(&self, route: &mut RouteSettings) {
        route.origin = Some(self.0.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::filters::trial::Trial;

    #[test]
    fn the_client_is_added_to_where_the_request_has_passed() {
        let mut trial = Trial::get("/")
            .with("x-forwarded-for", "10.0.0.1, 10.0.0.2")
            .with("x-forwarded-for", "10.0.0.3")
            .with("x-forwarded-host", "forged.test");
        trial.request("xforward()");
        assert_eq!(
            trial.field("x-forwarded-for"),
            ["10.0.0.1, 10.0.0.2, 10.0.0.3, 192.0.2.7"]
        );
        assert_eq!(trial.field("x-forwarded-host"), ["www.example.org"]);
    }

    #[test]
    fn the_client_can_be_the_first() {
        let mut trial = Trial::get("/").with("x-forwarded-for", "10.0.0.1");
        trial.request("xforwardFirst()");
        assert_eq!(trial.field("x-forwarded-for"), ["192.0.2.7, 10.0.0.1"]);
        let mut trial = Trial::get("/");
        trial.request("xforwardFirst()");
        assert_eq!(trial.field("x-forwarded-for"), ["192.0.2.7"]);
    }

    #[test]
    fn a_client_without_an_address_is_not_added() {
        let mut trial = Trial::get("/");
        trial.exchange.peer = None;
        trial.request("xforward()");
        assert!(trial.field("x-forwarded-for").is_empty());
    }

    #[test]
    fn a_host_loses_the_dot_at_its_end() {
        for (host, expected) in [
            ("www.example.org.", "www.example.org"),
            ("www.example.org.:80", "www.example.org:80"),
            ("www.example.org", "www.example.org"),
            ("[::1]", "[::1]"),
        ] {
            let mut trial = Trial::get("/").with("host", host);
            host.clone_into(&mut trial.exchange.host);
            trial.exchange.outgoing_host = Some(host.parse().unwrap());
            trial.request("rfcHost()");
            assert_eq!(trial.exchange.host, expected);
            assert_eq!(trial.field("host"), [expected]);
            assert_eq!(trial.exchange.outgoing_host.unwrap(), expected);
        }
    }

    #[test]
    fn requests_get_ids_of_16_characters() {
        let mut trial = Trial::get("/").with("x-flow-id", "12345678");
        trial.env.random = 0x0123_4567_89AB_CDEF;
        trial.request("flowId()");
        let id = trial.field("x-flow-id")[0].to_owned();
        assert_eq!(id.len(), 16);
        assert!(is_flow_id(id.as_bytes()) && id != "12345678");
        assert_ne!(flow_id(1, 2), flow_id(2, 1));
        assert_ne!(flow_id(u64::MAX, 0), flow_id(0, 0));
    }

    #[test]
    fn a_fitting_id_is_used_again() {
        for (given, stays) in [
            ("12345678", true),
            ("aB+-1234", true),
            ("1234567", false),
            ("1234 678", false),
            (&"a".repeat(64), true),
            (&"a".repeat(65), false),
        ] {
            let mut trial = Trial::get("/").with("x-flow-id", given);
            trial.request(r#"flowId("Reuse")"#);
            assert_eq!(trial.field("x-flow-id")[0] == given, stays, "{given}");
        }
        assert!(Trial::mistake(r#"flowId("again")"#).contains("argument 1: expected reuse"));
    }

    #[test]
    fn a_route_says_what_it_was_made_of() {
        let settings = Trial::settings(r#"originMarker("ingress", "a/b", "1970-01-01T00:01:00Z")"#);
        let origin = settings.origin.unwrap();
        assert_eq!((origin.kind.as_str(), origin.id.as_str()), ("ingress", "a/b"));
        assert_eq!(origin.created, SystemTime::UNIX_EPOCH + Duration::from_secs(60));
        assert!(Trial::mistake(r#"originMarker("ingress", "a/b", "today")"#).contains("argument 3"));
    }
}
