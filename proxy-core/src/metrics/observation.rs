//! Measures one request, from its head to the end of its answer.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use super::series::{Ended, MethodLabel};
use super::{Labels, Metrics, Series};
use crate::body::{Around, Body, BoxError};

/// The code of a request whose client left before its answer.
const CLIENT_LEFT: u16 = 499;

/// The name of all hosts that are not counted apart.
const OTHER_HOSTS: &str = "_other";

/// How many hosts that only clients named are counted apart.
const MOST_HOSTS: usize = 1000;

/// Where the requests of one route of a server are counted.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    /// If hosts are counted apart, all hosts that are not known.
    any: Arc<Series>,
    hosts: HashMap<String, Arc<Series>>,
    /// If every host is counted apart: those that clients named.
    named: Option<Named>,
}

#[derive(Debug)]
struct Named {
    metrics: Arc<Metrics>,
    labels: Labels,
    hosts: Mutex<HashMap<String, Arc<Series>>>,
}

/// One request, measured until it is dropped.
#[derive(Debug)]
pub(crate) struct Observation {
    worker: usize,
    series: Vec<Arc<Series>>,
    began: Instant,
    method: MethodLabel,
    code: u16,
    is_error: bool,
    until_head: Option<Duration>,
    request_size: u64,
    response_size: u64,
}

struct Observed {
    body: Body,
    observation: Box<Observation>,
}

// === impl RouteMetrics ===

impl RouteMetrics {
    /// For a route whose first handler is `handler`.
    pub(crate) fn new(metrics: &Metrics, server: &Arc<str>, handler: &'static str) -> Self {
        let labels = labels(server, handler, None);
        Self {
            any: metrics.series(labels),
            hosts: HashMap::new(),
            named: None,
        }
    }

    /// The same, with these hosts apart, which are in lower case. If `every`, so are all that clients name, as far as
    /// there is room.
    pub(crate) fn per_host(
        metrics: &Arc<Metrics>,
        server: &Arc<str>,
        handler: &'static str,
        hosts: impl IntoIterator<Item = String>,
        every: bool,
    ) -> Self {
        let series = |host: &str| metrics.series(labels(server, handler, Some(host)));
        Self {
            any: series(OTHER_HOSTS),
            hosts: hosts
                .into_iter()
                .map(|host| (host.clone(), series(&host)))
                .collect(),
            named: every.then(|| Named {
                metrics: Arc::clone(metrics),
                labels: labels(server, handler, None),
                hosts: Mutex::default(),
            }),
        }
    }

    fn series(&self, host: &str) -> Arc<Series> {
        let known = self.hosts.get(host).cloned();
        known
            .or_else(|| self.named.as_ref()?.series(host))
            .unwrap_or_else(|| Arc::clone(&self.any))
    }
}

fn labels(server: &Arc<str>, handler: &'static str, host: Option<&str>) -> Labels {
    Labels {
        server: Arc::clone(server),
        handler,
        host: host.map(Arc::from),
    }
}

// === impl Named ===

impl Named {
    fn series(&self, host: &str) -> Option<Arc<Series>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = hosts.get(host) {
            return Some(Arc::clone(series));
        }
        if hosts.len() >= MOST_HOSTS {
            return None;
        }
        let series = self.metrics.series(Labels {
            host: Some(host.into()),
            ..self.labels.clone()
        });
        hosts.insert(host.to_owned(), Arc::clone(&series));
        Some(series)
    }
}

// === impl Observation ===

impl Observation {
    /// A request that has come to the worker with this number.
    pub(crate) fn begin(worker: usize, request: &Request<Body>) -> Self {
        Self {
            worker,
            series: Vec::new(),
            began: Instant::now(),
            method: MethodLabel::of(request.method()),
            code: CLIENT_LEFT,
            is_error: false,
            until_head: None,
            request_size: size(request),
            response_size: 0,
        }
    }

    /// The request is for this route of the server, and for this host, which is in lower case.
    pub(crate) fn enter(&mut self, route: &RouteMetrics, host: &str) {
        let series = route.series(host);
        series.begin(self.worker);
        self.series.push(series);
    }

    /// A handler has ended with an error.
    pub(crate) fn failed(&mut self) {
        self.is_error = true;
    }

    /// The head of the answer is there; it is measured until the end of its body. `is_unhandled`: no handler gave it.
    pub(crate) fn answered(
        mut self: Box<Self>,
        response: Response<Body>,
        is_unhandled: bool,
    ) -> Response<Body> {
        self.code = response.status().as_u16();
        if !is_unhandled {
            self.until_head = Some(self.began.elapsed());
        }
        if response.body().is_end_stream() {
            return response;
        }
        response.map(|body| {
            Body::around(Observed {
                body,
                observation: self,
            })
        })
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if self.series.is_empty() {
            return;
        }
        let ended = Ended {
            code: self.code,
            method: self.method,
            is_error: self.is_error,
            duration: self.began.elapsed(),
            until_head: self.until_head,
            request_size: self.request_size,
            response_size: self.response_size,
        };
        for series in &self.series {
            series.end(self.worker, &ended);
        }
    }
}

/// As Caddy reckons it.
fn size(request: &Request<Body>) -> u64 {
    let (uri, headers) = (request.uri(), request.headers());
    let target = uri.path_and_query().map_or(0, |target| target.as_str().len());
    let host = uri.authority().map_or(0, |authority| authority.as_str().len());
    let fields: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    let head = request.method().as_str().len() + target + "HTTP/1.1".len() + host + fields;
    (head as u64).saturating_add(stated_length(headers))
}

fn stated_length(headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or(0)
}

// === impl Observed ===

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            let length = frame.data_ref().map_or(0, |data| data.len() as u64);
            self.observation.response_size += length;
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

impl Around for Observed {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}
