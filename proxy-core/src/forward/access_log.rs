//! The access log: one line for each request, in the shape that Caddy gives it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName};
use http::{Request, Response, Uri, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::exchange::Failed;
use super::log_writer::LogWriter;
use crate::body::{Around, Body, BoxError};
use crate::clock;
use crate::error::Reason;
use crate::http::connection::Connection;
use crate::http::target::resolve_dot_segments;
use crate::request::host_name;
use crate::stats::Counters;

/// Which log the requests of a server go to.
#[derive(Debug, Default)]
pub(crate) struct AccessLogs {
    pub(crate) by_host: HashMap<String, Vec<Arc<Sink>>>,
    pub(crate) default: Option<Arc<Sink>>,
    pub(crate) skip_hosts: HashSet<String>,
}

/// One log.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) name: String,
    pub(crate) json: bool,
    pub(crate) only_errors: bool,
    pub(crate) writer: Arc<LogWriter>,
}

/// The line of one request, while it is on its way. A request whose client leaves gets its line too.
pub(crate) struct Access {
    sinks: Vec<Arc<Sink>>,
    began: Instant,
    at: SystemTime,
    request: Map<String, Value>,
    read: Arc<AtomicU64>,
    counters: Option<Arc<Counters>>,
    status: u16,
    size: u64,
    response_headers: Value,
    upstream: String,
    failure: Option<Reason>,
}

/// What became known of a request on its way.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The client, found through trusted proxies.
    pub(crate) client_ip: Option<IpAddr>,
    /// The upstream that answered.
    pub(crate) upstream: Option<SocketAddr>,
    /// What went wrong.
    pub(crate) failed: Option<Failed>,
}

struct Metered {
    body: Body,
    read: Arc<AtomicU64>,
}

/// Writes the line when the body has ended, or when it is dropped before.
struct Logged {
    body: Body,
    access: Access,
    ended: bool,
}

// === impl AccessLogs ===

impl AccessLogs {
    fn sinks(&self, host: &str) -> Vec<Arc<Sink>> {
        match self.by_host.get(host) {
            Some(sinks) => sinks.clone(),
            None if self.skip_hosts.contains(host) => Vec::new(),
            None => self.default.iter().cloned().collect(),
        }
    }
}

// === impl Access ===

impl Access {
    /// Begins the line of a request, unless its host is not logged.
    pub(crate) fn begin(logs: &AccessLogs, request: &Request<Body>, connection: &Connection) -> Option<Self> {
        let authority = request
            .uri()
            .authority()
            .map(|authority| authority.as_str().to_owned());
        let host = request
            .headers()
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .map(str::to_owned);
        let host = authority.or(host).unwrap_or_default();
        let name = http::HeaderValue::from_str(&host).ok();
        let sinks = logs.sinks(&name.as_ref().map_or_else(Default::default, host_name));
        if sinks.is_empty() {
            return None;
        }
        let target = target(request.uri());
        let mut line = Map::new();
        let (ip, port) = connection.peer().map_or_else(
            || ("@".to_owned(), String::new()),
            |peer| (peer.ip().to_string(), peer.port().to_string()),
        );
        line.insert("remote_ip".into(), ip.into());
        line.insert("remote_port".into(), port.into());
        line.insert("proto".into(), proto(request.version()).into());
        line.insert("method".into(), request.method().as_str().into());
        line.insert("host".into(), host.into());
        line.insert("uri".into(), without_tokens(&target).into());
        line.insert("headers".into(), fields(request.headers()));
        line.insert("tls".into(), connection.is_tls().into());
        Some(Self {
            sinks,
            began: Instant::now(),
            at: clock::wall(),
            request: line,
            read: Arc::default(),
            counters: None,
            // What the line says if the client leaves before there is an answer.
            status: 499,
            size: 0,
            response_headers: Value::Null,
            upstream: String::new(),
            failure: None,
        })
    }

    /// Counts the bytes of the request's body.
    pub(crate) fn meter_request(&self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Metered {
            body,
            read: Arc::clone(&self.read),
        })
    }

    /// The line is written when the response's body has ended.
    pub(crate) fn finish(
        mut self,
        response: Response<Body>,
        seen: &Seen,
        counters: &Arc<Counters>,
    ) -> Response<Body> {
        self.status = response.status().as_u16();
        self.response_headers = fields(response.headers());
        self.counters = Some(Arc::clone(counters));
        self.upstream = seen
            .upstream
            .map(|address| address.to_string())
            .unwrap_or_default();
        if let Some(client_ip) = seen.client_ip {
            self.request
                .insert("client_ip".into(), client_ip.to_string().into());
        }
        if let Some(Failed { failure, upstream }) = &seen.failed {
            self.upstream.clone_from(upstream);
            self.failure = Some(failure.reason);
        }
        if response.body().is_end_stream() {
            return response;
        }
        response.map(|body| {
            Body::around(Logged {
                body,
                access: self,
                ended: false,
            })
        })
    }

    fn line(&self, sink: &Sink) -> String {
        let duration = micros(self.began.elapsed());
        let level = if self.status >= 500 { "error" } else { "info" };
        let timestamp = micros(self.at.duration_since(UNIX_EPOCH).unwrap_or_default());
        let mut line = json!({
            "level": level,
            "ts": timestamp,
            "logger": format!("http.log.access{}{}", if sink.name.is_empty() { "" } else { "." }, sink.name),
            "msg": "handled request",
            "request": self.request,
            "bytes_read": self.read.load(Ordering::Relaxed),
            "duration": duration,
            "size": self.size,
            "status": self.status,
            "resp_headers": self.response_headers,
        });
        if let Some(line) = line.as_object_mut() {
            if !self.upstream.is_empty() {
                line.insert("upstream".into(), self.upstream.as_str().into());
            }
            if let Some(reason) = self.failure {
                line.insert("side".into(), reason.side().as_str().into());
                line.insert("reason".into(), reason.as_str().into());
            }
        }
        if sink.json {
            format!("{line}\n")
        } else {
            console(&line)
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        if self.status == 499 && self.failure.is_none() {
            self.failure = Some(Reason::ClientGone);
        }
        for sink in &self.sinks {
            if sink.only_errors && self.status < 500 {
                continue;
            }
            if !sink.writer.write(self.line(sink))
                && let Some(counters) = &self.counters
            {
                counters.log_lines_dropped.add();
            }
        }
    }
}

// === impl Metered, Logged ===

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(data)) = frame
            .as_ref()
            .map(|frame| frame.as_ref().map(|frame| frame.data_ref()))
        {
            self.read
                .fetch_add(data.map_or(0, |data| data.len() as u64), Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl HttpBody for Logged {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => self.access.size += frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) => {
                self.ended = true;
                self.access.failure.get_or_insert(Reason::Closed);
            }
            None => self.ended = true,
        }
        self.ended |= self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Around for Logged {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if !self.ended {
            self.access.failure.get_or_insert(Reason::ClientGone);
        }
    }
}

// === rendering ===

/// Seconds, to the microsecond.
fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// Header fields as lists; credentials are never written.
fn fields(headers: &HeaderMap) -> Value {
    const SECRET: [HeaderName; 4] = [
        header::AUTHORIZATION,
        header::COOKIE,
        header::PROXY_AUTHORIZATION,
        header::SET_COOKIE,
    ];
    let mut map = Map::new();
    for name in headers.keys() {
        let values: Vec<Value> = if SECRET.contains(name) {
            vec!["REDACTED".into()]
        } else {
            headers
                .get_all(name)
                .iter()
                .map(|value| without_tokens(&text(value.as_bytes())).into())
                .collect()
        };
        map.insert(name.as_str().to_owned(), values.into());
    }
    map.into()
}

/// The target as it is routed: dot segments may hide that it has a token.
fn target(uri: &Uri) -> Cow<'_, str> {
    let Some(target) = uri.path_and_query() else {
        return Cow::Borrowed("");
    };
    match (resolve_dot_segments(target.path()), target.query()) {
        (Cow::Borrowed(_), _) => Cow::Borrowed(target.as_str()),
        (Cow::Owned(path), None) => Cow::Owned(path),
        (Cow::Owned(path), Some(query)) => Cow::Owned(format!("{path}?{query}")),
    }
}

/// `text` without the tokens of system paths: a token is a key to a session's pod. They stand not only in the
/// target but also in fields such as Referer, Location and Link.
fn without_tokens(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = token_start(rest) {
        let (before, from) = rest.split_at(start);
        let end = from.find(is_after_segment).unwrap_or(from.len());
        shown.push_str(before);
        shown.push_str(if end == 0 { "" } else { "REDACTED" });
        rest = from.split_at(end).1;
    }
    if shown.is_empty() {
        return text.into();
    }
    shown.push_str(rest);
    shown.into()
}

/// Where the segment after the first system prefix begins.
fn token_start(text: &str) -> Option<usize> {
    const PREFIXES: [&str; 3] = ["/~/", "/%7E/", "/%7e/"];
    let ends = PREFIXES
        .iter()
        .filter_map(|prefix| text.find(prefix).map(|start| start + prefix.len()));
    ends.min()
}

fn is_after_segment(next: char) -> bool {
    matches!(next, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | ',' | ';' | ' ')
}

/// Bytes that are no text are written escaped, so that a line stays one line.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

fn proto(version: Version) -> &'static str {
    crate::routing::template::proto(version)
}

fn console(line: &Value) -> String {
    let mut out = String::new();
    let get = |name: &str| line.get(name).cloned().unwrap_or(Value::Null);
    let plain = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut rest = line.clone();
    if let Some(rest) = rest.as_object_mut() {
        for name in ["ts", "level", "logger", "msg"] {
            rest.remove(name);
        }
    }
    let level = plain(get("level")).to_uppercase();
    let (ts, logger, msg) = (plain(get("ts")), plain(get("logger")), plain(get("msg")));
    let written = writeln!(out, "{ts}\t{level}\t{logger}\t{msg}\t{rest}");
    debug_assert!(written.is_ok(), "a String takes all text");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_written() {
        let mut headers = HeaderMap::new();
        for name in [
            "cookie",
            "authorization",
            "proxy-authorization",
            "set-cookie",
            "x-a",
        ] {
            headers.append(name, http::HeaderValue::from_static("secret"));
        }
        assert_eq!(
            fields(&headers).to_string(),
            r#"{"authorization":["REDACTED"],"cookie":["REDACTED"],"proxy-authorization":["REDACTED"],"set-cookie":["REDACTED"],"x-a":["secret"]}"#
        );
    }

    #[test]
    fn tokens_are_never_written() {
        for (target, shown) in [
            ("/~/TOKEN/s/3k?t=1", "/~/REDACTED/s/3k?t=1"),
            ("/%7E/TOKEN/s", "/%7E/REDACTED/s"),
            ("/~/TOKEN", "/~/REDACTED"),
            ("/~/TOKEN?x", "/~/REDACTED?x"),
            ("/~/", "/~/"),
            ("/page?a=/~/b", "/page?a=/~/REDACTED"),
            (
                "https://a.test/~/TOKEN/r/x.css",
                "https://a.test/~/REDACTED/r/x.css",
            ),
            (
                "</~/TOKEN/r/a.js>; rel=preload, </~/TOKEN/r/b.js>",
                "</~/REDACTED/r/a.js>; rel=preload, </~/REDACTED/r/b.js>",
            ),
            ("/page", "/page"),
        ] {
            assert_eq!(without_tokens(target), shown);
        }
    }

    #[test]
    fn dot_segments_hide_no_token() {
        for (uri, shown) in [
            ("/x/../~/TOKEN/s?a", "/~/REDACTED/s?a"),
            ("/~/./x/%2e%2E/TOKEN/s", "/~/REDACTED/s"),
            ("http://a.test/.//~/TOKEN", "//~/REDACTED"),
            ("/x?a=/../b", "/x?a=/../b"),
        ] {
            assert_eq!(without_tokens(&target(&uri.parse().unwrap())), shown, "{uri}");
        }
    }

    #[test]
    fn fields_do_not_tell_tokens_either() {
        let mut headers = HeaderMap::new();
        headers.append(
            "referer",
            http::HeaderValue::from_static("https://a.test/~/TOKEN/r/x.css"),
        );
        headers.append("location", http::HeaderValue::from_static("/%7e/TOKEN"));
        assert!(!fields(&headers).to_string().contains("TOKEN"));
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(text(b"a\xff"), "a\\xff");
    }
}
