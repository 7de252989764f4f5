//! Upgraded connections, such as WebSockets: from a 101 on the proxy copies bytes both ways.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Extensions, Method, Version};
use http1_codec::Stream;
use hyper_util::rt::TokioIo;
use tracing::debug;

use super::marks::Marks;

const SEC_WEBSOCKET_ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");
const SEC_WEBSOCKET_KEY: HeaderName = HeaderName::from_static("sec-websocket-key");

/// An upgrade that a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    protocol: HeaderValue,
    websocket: bool,
}

// === impl Wanted ===

impl Wanted {
    /// The upgrade that the request asks for. Only a GET of HTTP/1.1 without a body can: anything else is
    /// answered as if the client had not asked, which RFC 9110, section 7.8 allows.
    pub(crate) fn of(parts: &Parts, marks: Marks, has_body: bool) -> Option<Self> {
        let asks = marks.any(Marks::UPGRADE)
            && parts.method == Method::GET
            && parts.version == Version::HTTP_11
            && !has_body
            && http1_codec::connection_has(&parts.headers, b"upgrade");
        let protocol = parts.headers.get(header::UPGRADE).filter(|_| asks)?;
        // An upgrade of the proxy's own protocol is not for upstreams to accept.
        if protocol
            .as_bytes()
            .get(..2)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"h2"))
        {
            return None;
        }
        Some(Self {
            protocol: protocol.clone(),
            websocket: parts.headers.contains_key(SEC_WEBSOCKET_KEY),
        })
    }

    /// Asks the upstream for the same, after the hop-by-hop fields were removed.
    pub(crate) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, self.protocol.clone());
    }

    /// Whether a 101 with `headers` is an answer to this and to nothing else.
    pub(crate) fn is_granted_by(&self, headers: &HeaderMap) -> bool {
        let same = headers.get(header::UPGRADE).is_some_and(|granted| {
            self.protocol
                .as_bytes()
                .split(|byte| *byte == b',')
                .any(|wanted| wanted.trim_ascii().eq_ignore_ascii_case(granted.as_bytes()))
        });
        same && (!self.websocket || headers.contains_key(SEC_WEBSOCKET_ACCEPT))
    }
}

/// A client's connection, once its 101 is written.
pub(crate) enum OnUpgrade {
    /// Of this proxy's own server.
    Own(http1_codec::server::OnUpgrade),
    /// Of a server on hyper that the proxy is mounted in.
    Hyper(hyper::upgrade::OnUpgrade),
}

// === impl OnUpgrade ===

impl OnUpgrade {
    /// What the server of the request has put beside it, if its connection can be upgraded.
    pub(crate) fn of(extensions: &mut Extensions) -> Option<Self> {
        let own = extensions.remove().map(Self::Own);
        own.or_else(|| extensions.remove().map(Self::Hyper))
    }

    async fn connection(self) -> Option<Box<dyn Stream>> {
        match self {
            Self::Own(own) => own.await.map(|connection| Box::new(connection) as _),
            Self::Hyper(hyper) => hyper
                .await
                .ok()
                .map(|connection| Box::new(TokioIo::new(connection)) as _),
        }
    }
}

/// Copies bytes both ways until both directions have ended or one side broke. What either side sent right
/// behind the handshake comes first.
///
/// `buffer` is how many bytes of each direction are held at most.
pub(crate) async fn tunnel(client: OnUpgrade, mut upstream: impl Stream, buffer: usize) {
    let Some(mut client) = client.connection().await else {
        debug!("the client left before its connection was upgraded");
        return;
    };
    match tokio::io::copy_bidirectional_with_sizes(&mut client, &mut upstream, buffer, buffer).await {
        Ok((from_client, from_upstream)) => debug!(from_client, from_upstream, "tunnel ended"),
        Err(error) => debug!(%error, "tunnel broke"),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn wanted(parts: &Parts, has_body: bool) -> Option<Wanted> {
        Wanted::of(parts, Marks::of(&parts.headers), has_body)
    }

    const ASKS: [(&str, &str); 3] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-key", "x"),
    ];

    #[test]
    fn only_a_get_that_says_connection_upgrade_asks_for_one() {
        assert!(wanted(&parts("GET", &ASKS), false).is_some());
        assert!(wanted(&parts("GET", &ASKS), true).is_none());
        assert!(wanted(&parts("POST", &ASKS), false).is_none());
        assert!(wanted(&parts("GET", &ASKS[1..]), false).is_none());
        assert!(wanted(&parts("GET", &[ASKS[0], ("upgrade", "h2c")]), false).is_none());
        let mut old = parts("GET", &ASKS);
        old.version = Version::HTTP_10;
        assert!(wanted(&old, false).is_none());
    }

    #[test]
    fn a_101_must_grant_what_was_asked_for() {
        let wanted = wanted(&parts("GET", &ASKS), false).unwrap();
        let granted = |headers: &[(&str, &str)]| wanted.is_granted_by(&parts("GET", headers).headers);
        assert!(granted(&[
            ("upgrade", "websocket"),
            ("sec-websocket-accept", "y")
        ]));
        assert!(!granted(&[("upgrade", "websocket")]));
        assert!(!granted(&[("upgrade", "other"), ("sec-websocket-accept", "y")]));
        assert!(!granted(&[("sec-websocket-accept", "y")]));
    }
}
