//! The body of the fuzz target `cookies`: Cookie fields of a client that may name an upstream.
//!
//! Each line of an input is a field; the bytes 1 to 3 stand for the names that the three upstreams have in cookies, and
//! 4 for one of an upstream that is not there.

use std::sync::{Arc, LazyLock};

use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, Version};

use super::fields::{lines, values};
use crate::forward::outgoing;
use crate::forward::view::{ClusterId, View};
use crate::http::connection::Connection;
use crate::http::forwarded::Client;
use crate::http::marks::Marks;
use crate::memory;
use crate::request::Context;
use crate::snapshot::Snapshot;
use crate::upstream::cluster::Upstream;

/// Three upstreams, of which the cookie `lb` names one.
const CADDYFILE: &str = "\
{
	admin off
	auto_https off
}
http://a.test {
	reverse_proxy 127.0.0.1:9001 127.0.0.1:9002 127.0.0.1:9003 {
		lb_policy cookie lb hush {
			fallback first
			max_age 1h
		}
	}
}
";

/// More fields than this are left out.
const MOST: usize = 80;

/// The upstreams and their names in cookies.
struct Stage {
    view: Arc<View>,
    upstreams: Vec<Upstream>,
    names: Vec<String>,
}

static STAGE: LazyLock<Stage> = LazyLock::new(|| {
    let view: Arc<Snapshot<View>> = memory::view(CADDYFILE);
    let view = view.current();
    let upstreams: Vec<Upstream> = view
        .clusters()
        .flat_map(|cluster| cluster.source.upstreams())
        .cloned()
        .collect();
    let mut stage = Stage {
        view,
        upstreams,
        names: Vec::new(),
    };
    stage.names = (0..3)
        .map(|index| {
            let field = stage
                .set(index, &HeaderMap::new(), false)
                .expect("a cookie is set");
            let text = field.to_str().expect("it is text");
            let value = text.strip_prefix("lb=").and_then(|rest| rest.split(';').next());
            value.expect("it names an upstream").to_owned()
        })
        .collect();
    stage
});

pub(super) fn check(data: &[u8]) {
    let fields = read(data);
    let named = STAGE.named(&fields);
    assert_eq!(named, meant(&fields), "{fields:?}");
    for index in 0..STAGE.upstreams.len() {
        for tls in [false, true] {
            let set = STAGE.set(index, &fields, tls);
            assert_eq!(set.is_none(), named == Some(index));
            if let Some(field) = set {
                check_set(&field, index, tls);
            }
        }
    }
    check_forwarded(&fields, named);
}

/// A browser that takes the cookie comes back to the upstream.
fn check_set(field: &HeaderValue, index: usize, tls: bool) {
    let text = field.to_str().expect("it is text");
    let mut attributes = text.split("; ");
    let pair = attributes.next().unwrap_or_default();
    let mut fields = HeaderMap::new();
    fields.insert(header::COOKIE, pair.parse().expect("a pair is a field"));
    assert_eq!(STAGE.named(&fields), Some(index), "{text}");
    let attributes: Vec<_> = attributes.collect();
    let last = if tls {
        &["Secure", "SameSite=None"][..]
    } else {
        &["SameSite=Lax"]
    };
    assert_eq!(
        attributes,
        [&["Path=/", "Max-Age=3600", "HttpOnly"], last].concat()
    );
}

/// An upstream gets every cookie, in one field, and reads the same.
fn check_forwarded(fields: &HeaderMap, named: Option<usize>) {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.headers = fields.clone();
    parts.version = Version::HTTP_2;
    let client = Client {
        ip: Some(memory::CLIENT.ip()),
        via_trusted_proxy: false,
    };
    let connection = Connection::new(memory::CLIENT, false);
    let marks = Marks::of(fields);
    drop(outgoing::prepare(
        &mut parts,
        &connection,
        Some(&client),
        None,
        None,
        marks,
    ));
    let joined = values(fields, "cookie").join(&b"; "[..]);
    let expected = if fields.is_empty() {
        vec![]
    } else {
        vec![joined.as_slice()]
    };
    assert_eq!(values(&parts.headers, "cookie"), expected);
    assert_eq!(STAGE.named(&parts.headers), named, "{:?}", parts.headers);
}

/// The upstream that the first good cookie of the name means, as Go reads cookies: what is no cookie is passed over.
fn meant(fields: &HeaderMap) -> Option<usize> {
    for line in values(fields, "cookie") {
        for pair in line.split(|byte| *byte == b';') {
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else {
                continue;
            };
            let (name, value) = pair.split_at(equals);
            let mut value = value[1..].trim_ascii();
            if name.trim_ascii() != b"lb" {
                continue;
            }
            if let [b'"', inner @ .., b'"'] = value {
                value = inner;
            }
            if value
                .iter()
                .all(|byte| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte))
            {
                let names = STAGE.names.iter();
                return names.map(String::as_bytes).position(|name| name == value);
            }
        }
    }
    None
}

fn read(data: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines(data).take(MOST) {
        let mut value = Vec::new();
        for byte in line {
            match byte {
                1..=3 => value.extend(STAGE.names[usize::from(byte - 1)].bytes()),
                4 => value.extend([b'0'; 64]),
                byte => value.push(*byte),
            }
        }
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            fields.append(header::COOKIE, value);
        }
    }
    fields
}

// === impl Stage ===

impl Stage {
    /// What a request with `fields` asks for.
    fn ask<T>(
        &self,
        fields: &HeaderMap,
        tls: bool,
        f: impl FnOnce(&crate::forward::selection::Stuck<'_>) -> T,
    ) -> T {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.headers = fields.clone();
        let cx = Context::new(parts, None, Some(memory::CLIENT), Some(memory::CLIENT.ip()), tls);
        let proxy = self.view.proxy(ClusterId::Config(0));
        let ask = proxy.selection.ask(&cx, &self.upstreams, false);
        f(ask.sticky.as_ref().expect("the policy is a cookie"))
    }

    fn named(&self, fields: &HeaderMap) -> Option<usize> {
        self.ask(fields, false, |stuck| stuck.named)
    }

    /// The cookie that is set if a request with `fields` goes to the upstream at `index`.
    fn set(&self, index: usize, fields: &HeaderMap, tls: bool) -> Option<HeaderValue> {
        self.ask(fields, tls, |stuck| stuck.cookie(index, &self.upstreams[index]))
    }
}
