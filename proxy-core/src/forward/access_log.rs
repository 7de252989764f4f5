//! The access log: one line for each request, in the shape that Caddy gives it.

mod body;
mod choice;
mod entry;
mod redact;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{self, HeaderMap};
use http::{Request, Response};
use http_body::Body as _;
use serde_json::Value;
use tokio::time::Instant;

use self::body::{Logged, Metered, Whole};
pub(crate) use self::choice::{AccessLogs, Logger, Sink};
use self::entry::Entry;
use super::exchange::{Failed, Reached};
use crate::body::Body;
use crate::clock;
use crate::error::{Phase, Reason};
use crate::http::connection::{ConnState, Connection};
use crate::log::Record as _;
use crate::request::host_name_of;
use crate::stats::Counters;

/// The status of a request whose client left before its answer. It is never sent.
const CLIENT_LEFT: u16 = 499;

/// The line of one request, while it is on its way. A request whose client leaves gets its line too.
pub(crate) struct Access {
    loggers: Arc<[Logger]>,
    /// For those that the request names itself.
    sinks: Arc<[Arc<Sink>]>,
    began: Instant,
    /// Of the client's connection: it knows why that was closed.
    connection: Arc<ConnState>,
    counters: Option<Arc<Counters>>,
    entry: Entry,
}

/// What became known of a request on its way.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The client, found through trusted proxies.
    pub(crate) client_ip: Option<IpAddr>,
    /// The upstream that answered.
    pub(crate) upstream: Option<Reached>,
    /// What went wrong.
    pub(crate) failed: Option<Failed>,
    /// Who it is, as authentication found out.
    pub(crate) user: Option<Arc<str>>,
    /// The request's own identifier, if anything asked for one.
    pub(crate) uuid: Option<String>,
    /// Fields that `log_append` has added.
    pub(crate) extra: Vec<(String, Value)>,
    /// The loggers that `log_name` has chosen; an empty name is that of all access logs.
    pub(crate) loggers: Option<Vec<String>>,
    /// `log_skip`: there is to be no line.
    pub(crate) is_skipped: bool,
    /// No handler has answered.
    pub(crate) is_unhandled: bool,
    /// Keys of the query whose values are not written down.
    pub(crate) masked_query: Vec<String>,
}

// === impl Access ===

impl Access {
    /// Begins the line of a request, unless its host is not logged.
    pub(crate) fn begin(logs: &AccessLogs, request: &Request<Body>, connection: &Connection) -> Option<Self> {
        let authority = request.uri().authority().map(|authority| authority.as_str());
        let host = || request.headers().get(header::HOST)?.to_str().ok();
        let host = authority.or_else(host).unwrap_or_default().to_owned();
        let loggers = logs.choose(&host_name_of(&host))?;
        Some(Self {
            loggers,
            sinks: Arc::clone(&logs.sinks),
            began: Instant::now(),
            connection: Arc::clone(connection.state()),
            counters: None,
            entry: Entry {
                at: clock::wall(),
                peer: connection.peer(),
                client_ip: None,
                version: request.version(),
                method: request.method().clone(),
                host,
                uri: redact::without_tokens(&redact::target(request.uri())).into_owned(),
                headers: request.headers().clone(),
                is_tls: connection.is_tls(),
                secured: connection.secured().cloned(),
                credentials: logs.credentials,
                read: Arc::default(),
                user: None,
                took: std::time::Duration::ZERO,
                size: 0,
                // What the line says if the client leaves before there is an answer.
                status: CLIENT_LEFT,
                answer: HeaderMap::new(),
                is_unhandled: false,
                uuid: None,
                extra: Vec::new(),
                upstream: String::new(),
                failure: None,
            },
        })
    }

    /// Counts the bytes of the request's body.
    pub(crate) fn meter_request(&self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        if body.is_whole() {
            // It must stay one that can be copied.
            let length = body.size_hint().exact().unwrap_or_default();
            let read = Arc::clone(&self.entry.read);
            return body.on_end(Box::new(Whole { length, read }));
        }
        Body::new(Metered {
            body,
            read: Arc::clone(&self.entry.read),
        })
    }

    /// The line is written when the response's body has ended.
    pub(crate) fn finish(
        mut self: Box<Self>,
        response: Response<Body>,
        seen: Seen,
        counters: &Arc<Counters>,
    ) -> Response<Body> {
        self.counters = Some(Arc::clone(counters));
        self.note(seen);
        let entry = &mut self.entry;
        entry.status = response.status().as_u16();
        entry.answer = response.headers().clone();
        if response.body().is_end_stream() {
            return response;
        }
        response.map(|body| Body::around(Logged::new(body, self)))
    }

    /// The client gets no more of the answer.
    fn leave(&mut self, phase: Phase) {
        let reason = self.connection.cut_by().unwrap_or(Reason::ClientGone);
        self.entry.failure.get_or_insert((reason, phase));
    }

    /// What became known of the request.
    pub(crate) fn note(&mut self, seen: Seen) {
        if seen.is_skipped {
            self.loggers = Arc::default();
        } else if let Some(names) = &seen.loggers {
            self.loggers = choice::named(names, &self.sinks);
        }
        let entry = &mut self.entry;
        if !seen.masked_query.is_empty() {
            entry.mask_query(&seen.masked_query);
        }
        entry.client_ip = seen.client_ip;
        entry.user = seen.user;
        entry.uuid = seen.uuid;
        entry.extra = seen.extra;
        entry.is_unhandled = seen.is_unhandled;
        if let Some(Failed { failure, upstream }) = seen.failed {
            entry.upstream = upstream;
            entry.failure = Some((failure.reason, failure.phase));
        } else if let Some(upstream) = seen.upstream {
            entry.upstream = match upstream {
                Reached::At(address) => entry::socket_address(address),
                socket @ Reached::Socket(_) => socket.to_string(),
            };
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        if self.entry.status == CLIENT_LEFT {
            self.leave(Phase::Wait);
        }
        let entry = &mut self.entry;
        entry.took = self.began.elapsed();
        let (level, at) = (entry.level(), entry.at);
        for logger in &*self.loggers {
            let writes = |sink: &&Arc<Sink>| !sink.writer.is_nowhere() && sink.keeps(level, at);
            for sink in logger.sinks.iter().filter(writes) {
                let line = sink.format.line(&self.entry, &logger.name);
                if !sink.writer.write(line)
                    && let Some(counters) = &self.counters
                {
                    counters.log_lines_dropped.add();
                }
            }
        }
    }
}
