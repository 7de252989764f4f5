//! What the line of one request says, with Caddy's names and in Caddy's order.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use http::header::{self, HeaderMap, HeaderName};
use http::{Method, Version};
use serde_json::Value;

use super::redact::{self, REDACTED, without_tokens};
use crate::error::{Phase, Reason};
use crate::facts::TlsFacts;
use crate::log::{Fields, Level, Record, digits};
use crate::percent::decode_query;
use crate::routing::template::proto;

/// What is known of a request and its answer.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: SystemTime,
    pub(super) peer: Option<SocketAddr>,
    pub(super) client_ip: Option<IpAddr>,
    pub(super) version: Version,
    pub(super) method: Method,
    pub(super) host: String,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    pub(super) is_tls: bool,
    /// What its handshake agreed on.
    pub(super) secured: Option<Arc<TlsFacts>>,
    /// Whether credentials are written as they are.
    pub(super) credentials: bool,
    /// Bytes of the request's body.
    pub(super) read: Arc<AtomicU64>,
    pub(super) user: Option<Arc<str>>,
    pub(super) took: Duration,
    /// Bytes of the answer's body.
    pub(super) size: u64,
    pub(super) status: u16,
    pub(super) answer: HeaderMap,
    /// No handler has answered.
    pub(super) is_unhandled: bool,
    pub(super) uuid: Option<String>,
    pub(super) extra: Vec<(String, Value)>,
    pub(super) upstream: String,
    pub(super) failure: Option<(Reason, Phase)>,
}

// === impl Entry ===

impl Entry {
    /// Leaves out the values of these keys of the query.
    pub(super) fn mask_query(&mut self, keys: &[String]) {
        let Some((path, query)) = self.uri.split_once('?') else {
            return;
        };
        let pair = |pair: &str| {
            let key = pair.split('=').next().unwrap_or_default();
            let is_masked = decode_query(key).is_some_and(|key| keys.iter().any(|masked| *masked == key));
            if is_masked {
                format!("{key}={REDACTED}")
            } else {
                pair.to_owned()
            }
        };
        let pairs: Vec<String> = query.split('&').map(pair).collect();
        self.uri = format!("{path}?{}", pairs.join("&"));
    }
}

impl Record for Entry {
    fn level(&self) -> Level {
        if self.status >= 500 {
            Level::Error
        } else {
            Level::Info
        }
    }

    fn at(&self) -> SystemTime {
        self.at
    }

    fn message(&self) -> &str {
        if self.is_unhandled {
            "NOP"
        } else {
            "handled request"
        }
    }

    fn fields(&self, fields: &mut dyn Fields) {
        self.request(fields);
        fields.number("bytes_read", self.read.load(Ordering::Relaxed));
        fields.text("user_id", self.user.as_deref().unwrap_or_default());
        fields.duration("duration", self.took);
        fields.number("size", self.size);
        fields.number("status", if self.is_unhandled { 0 } else { self.status.into() });
        self.headers("resp_headers", &self.answer, fields);
        if let Some(uuid) = &self.uuid {
            fields.text("uuid", uuid);
        }
        for (key, value) in &self.extra {
            fields.value(key, value);
        }
        if !self.upstream.is_empty() {
            fields.text("upstream", &self.upstream);
        }
        if let Some((reason, phase)) = self.failure {
            fields.text("side", reason.side().as_str());
            fields.text("phase", phase.as_str());
            fields.text("reason", reason.as_str());
        }
    }
}

impl Entry {
    fn request(&self, fields: &mut dyn Fields) {
        fields.open("request");
        match self.peer {
            Some(peer) => {
                fields.text("remote_ip", &address(peer.ip()));
                fields.text("remote_port", &digits::text(peer.port().into()));
            }
            // A peer of a unix socket, as Caddy names it.
            None => {
                fields.text("remote_ip", "@");
                fields.text("remote_port", "");
            }
        }
        if let Some(client_ip) = self.client_ip {
            fields.text("client_ip", &address(client_ip));
        }
        fields.text("proto", proto(self.version));
        fields.text("method", self.method.as_str());
        fields.text("host", &self.host);
        fields.text("uri", &self.uri);
        self.headers("headers", &self.headers, fields);
        if self.is_tls {
            self.tls(fields);
        }
        fields.close();
    }

    fn tls(&self, fields: &mut dyn Fields) {
        fields.open("tls");
        match &self.secured {
            Some(tls) => {
                fields.value("resumed", &tls.resumed.into());
                fields.number("version", tls.version_number.into());
                fields.number("cipher_suite", tls.cipher_suite_number.into());
                fields.text("proto", &tls.proto);
                fields.text("server_name", &tls.server_name);
                fields.value("ech", &false.into());
                if let Some(client) = &tls.client {
                    fields.text("client_common_name", &client.common_name);
                    fields.text("client_serial", &client.serial);
                }
            }
            // Another server has accepted the connection: what it agreed on is not known.
            None if self.version == Version::HTTP_2 => fields.text("proto", "h2"),
            None => fields.text("proto", "http/1.1"),
        }
        fields.close();
    }

    fn headers(&self, key: &str, headers: &HeaderMap, fields: &mut dyn Fields) {
        fields.open(key);
        let mut name_as_written = String::with_capacity(32);
        // Host has a field of its own.
        for name in headers.keys().filter(|name| *name != header::HOST) {
            write_name(name, &mut name_as_written);
            if !self.credentials && redact::is_secret(name) {
                fields.list(&name_as_written, &mut std::iter::once(Cow::Borrowed(REDACTED)));
                continue;
            }
            let values = headers.get_all(name).iter();
            let mut values = values.map(|value| match redact::text(value.as_bytes()) {
                Cow::Borrowed(text) => without_tokens(text),
                Cow::Owned(text) => Cow::Owned(without_tokens(&text).into_owned()),
            });
            fields.list(&name_as_written, &mut values);
        }
        fields.close();
    }
}

/// An address as text. That of IPv4 is written without the machinery of formatting, as every line has two.
fn address(ip: IpAddr) -> String {
    let IpAddr::V4(ip) = ip else {
        return ip.to_string();
    };
    let mut out = String::with_capacity("255.255.255.255".len());
    for (number, octet) in ip.octets().into_iter().enumerate() {
        if number > 0 {
            out.push('.');
        }
        digits::push_number(&mut out, octet.into());
    }
    out
}

/// As [`address`], with a port.
pub(super) fn socket_address(socket: SocketAddr) -> String {
    if socket.is_ipv6() {
        return socket.to_string();
    }
    let mut out = address(socket.ip());
    out.push(':');
    digits::push_number(&mut out, socket.port().into());
    out
}

/// The name as it is usually written: `user-agent` is `User-Agent`.
fn write_name(name: &HeaderName, out: &mut String) {
    out.clear();
    for part in name.as_str().split_inclusive('-') {
        let (first, rest) = part.split_at_checked(1).unwrap_or((part, ""));
        out.extend(first.chars().map(|c| c.to_ascii_uppercase()));
        out.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::facts::ClientCertificate;
    use crate::log::Format;

    fn entry(fields: &[(&'static str, &'static str)]) -> Entry {
        let fields = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Entry {
            at: SystemTime::UNIX_EPOCH,
            peer: "192.0.2.1:4711".parse().ok(),
            client_ip: "198.51.100.1".parse().ok(),
            version: Version::HTTP_11,
            method: Method::GET,
            host: "a.test".to_owned(),
            uri: "/a".to_owned(),
            headers: fields.collect(),
            is_tls: false,
            secured: None,
            credentials: false,
            read: Arc::default(),
            user: Some("ann".into()),
            took: Duration::from_micros(143),
            size: 5,
            status: 200,
            answer: HeaderMap::from_iter([(header::SERVER, HeaderValue::from_static("x"))]),
            is_unhandled: false,
            uuid: Some("u-1".to_owned()),
            extra: vec![("early".to_owned(), "yes".into())],
            upstream: "192.0.2.3:80".to_owned(),
            failure: Some((Reason::Closed, Phase::Wait)),
        }
    }

    fn line(entry: &Entry) -> Value {
        serde_json::from_str(&Format::json().line(entry, "http.log.access")).unwrap()
    }

    #[test]
    fn a_line_has_the_fields_of_caddys_in_their_order() {
        assert_eq!(
            Format::json().line(
                &entry(&[("host", "a.test"), ("user-agent", "b")]),
                "http.log.access.log0"
            ),
            concat!(
                r#"{"level":"info","ts":0.000000,"logger":"http.log.access.log0","msg":"handled request","#,
                r#""request":{"remote_ip":"192.0.2.1","remote_port":"4711","client_ip":"198.51.100.1","#,
                r#""proto":"HTTP/1.1","method":"GET","host":"a.test","uri":"/a","headers":{"User-Agent":["b"]}},"#,
                r#""bytes_read":0,"user_id":"ann","duration":0.000143000,"size":5,"status":200,"#,
                r#""resp_headers":{"Server":["x"]},"uuid":"u-1","early":"yes","upstream":"192.0.2.3:80","#,
                r#""side":"upstream","phase":"wait","reason":"the upstream closed the connection before its answer"}"#,
                "\n"
            )
        );
    }

    #[test]
    fn what_a_handshake_agreed_on_is_written_as_caddy_does() {
        let mut entry = entry(&[]);
        entry.is_tls = true;
        let mut tls = TlsFacts {
            version_number: 772,
            cipher_suite_number: 4865,
            proto: "h2".to_owned(),
            server_name: "a.test".to_owned(),
            ..TlsFacts::default()
        };
        entry.secured = Some(Arc::new(tls.clone()));
        let text = |entry: &Entry| Format::json().line(entry, "http.log.access");
        let plain = r#""tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"a.test","ech":false"#;
        assert!(text(&entry).contains(&format!("{plain}}}")), "{}", text(&entry));

        tls.client = Some(ClientCertificate {
            common_name: "ann".to_owned(),
            serial: "4660".to_owned(),
            ..ClientCertificate::default()
        });
        entry.secured = Some(Arc::new(tls));
        let shown = r#","client_common_name":"ann","client_serial":"4660"}"#;
        assert!(
            text(&entry).contains(&format!("{plain}{shown}")),
            "{}",
            text(&entry)
        );
    }

    #[test]
    fn addresses_are_written_as_the_standard_library_does() {
        for ip in ["0.0.0.0", "127.0.0.1", "255.10.99.100", "::1", "2001:db8::a"] {
            let ip: IpAddr = ip.parse().unwrap();
            assert_eq!(address(ip), ip.to_string());
            let socket = SocketAddr::new(ip, 4711);
            assert_eq!(socket_address(socket), socket.to_string());
        }
    }

    #[test]
    fn credentials_are_written_only_if_that_is_asked_for() {
        let mut entry = entry(&[
            ("cookie", "secret"),
            ("authorization", "secret"),
            ("proxy-authorization", "secret"),
            ("set-cookie", "secret"),
            ("x-a", "shown"),
        ]);
        let line = line(&entry);
        for name in ["Cookie", "Authorization", "Proxy-Authorization", "Set-Cookie"] {
            assert_eq!(line["request"]["headers"][name][0], REDACTED, "{name}");
        }
        assert_eq!(line["request"]["headers"]["X-A"][0], "shown");
        entry.credentials = true;
        assert_eq!(self::line(&entry)["request"]["headers"]["Cookie"][0], "secret");
    }

    #[test]
    fn tokens_are_not_written_whatever_is_asked_for() {
        let mut entry = entry(&[
            ("referer", "https://a.test/~/TOKEN/r/x.css"),
            ("location", "/%7e/TOKEN"),
        ]);
        entry.credentials = true;
        assert!(!line(&entry).to_string().contains("TOKEN"));
    }

    #[test]
    fn a_request_that_nothing_handled_says_so() {
        let mut entry = entry(&[]);
        entry.is_unhandled = true;
        let line = line(&entry);
        assert_eq!(
            (line["msg"].as_str(), line["status"].as_u64()),
            (Some("NOP"), Some(0))
        );
    }
}
