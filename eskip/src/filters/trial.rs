//! Filters on one request, for tests.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::header::HeaderMap;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, StatusCode};

use super::body::{Body, BodyChange, BodySlot};
use super::context::{Answer, Env, FilterContext};
use super::exchange::Exchange;
use super::filter::{Filter, Flow};
use super::registry::Filters;
use super::settings::RouteSettings;

/// A request, and an answer with status 200 and no body unless it is told otherwise.
pub(crate) struct Trial {
    pub(crate) parts: Parts,
    pub(crate) exchange: Exchange,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// What the filters did with the body of the answer.
    pub(crate) body: BodySlot,
    pub(crate) request_body: BodySlot,
    pub(crate) env: Still,
    pub(crate) filters: Filters,
}

/// A world where time passes only when it is told to.
pub(crate) struct Still {
    pub(crate) began: Instant,
    pub(crate) passed: Duration,
    pub(crate) random: u64,
}

impl Env for Still {
    fn now(&self) -> Instant {
        self.began + self.passed
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.passed
    }

    fn random(&self) -> u64 {
        self.random
    }
}

impl Trial {
    /// A GET of `target` from 192.0.2.7 for www.example.org.
    pub(crate) fn get(target: &str) -> Self {
        let (parts, ()) = Request::builder().uri(target).body(()).unwrap().into_parts();
        #[expect(
            clippy::disallowed_methods,
            reason = "any instant will do: time passes only when it is told to"
        )]
        let began = Instant::now();
        let mut exchange = Exchange::default();
        exchange.host = "www.example.org".to_owned();
        exchange.peer = Some(([192, 0, 2, 7], 1234).into());
        Self {
            parts,
            exchange,
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: BodySlot::new(Some(0)),
            request_body: BodySlot::new(Some(0)),
            env: Still {
                began,
                passed: Duration::ZERO,
                random: 0,
            },
            filters: Filters::default(),
        }
    }

    /// With a field of the request.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.parts
            .headers
            .append(name, HeaderValue::from_str(value).unwrap());
        self
    }

    /// With a field of the answer.
    pub(crate) fn answered_with(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.append(name, HeaderValue::from_str(value).unwrap());
        self
    }

    /// The filters of a text.
    pub(crate) fn make(&self, text: &str) -> Vec<Box<dyn Filter>> {
        let calls = eskip_calls(text);
        calls
            .iter()
            .map(|call| self.filters.create(call).unwrap())
            .collect()
    }

    /// Why a filter cannot be made.
    pub(crate) fn mistake(text: &str) -> String {
        let calls = eskip_calls(text);
        Filters::default().create(&calls[0]).unwrap_err().to_string()
    }

    /// What filters say of their route.
    pub(crate) fn settings(text: &str) -> RouteSettings {
        let mut settings = RouteSettings::default();
        for filter in Self::get("/").make(text) {
            filter.settle(&mut settings);
        }
        settings
    }

    /// The first phase. Gives what the last filter said that was run, and how many were.
    pub(crate) fn request(&mut self, text: &str) -> (Flow, usize) {
        let filters = self.make(text);
        self.request_of(&filters)
    }

    /// As [`Trial::request`], with filters that are there.
    pub(crate) fn request_of(&mut self, filters: &[Box<dyn Filter>]) -> (Flow, usize) {
        for (index, filter) in filters.iter().enumerate() {
            let flow = filter.request(&mut self.cx(false));
            if !matches!(flow, Flow::Next) {
                return (flow, index + 1);
            }
        }
        (Flow::Next, filters.len())
    }

    /// The second phase, for these filters, the last one first.
    pub(crate) fn response_of(&mut self, filters: &[Box<dyn Filter>]) {
        for filter in filters.iter().rev().filter(|filter| filter.wants().response) {
            let flow = filter.response(&mut self.cx(true));
            self.take(flow);
        }
    }

    /// Both phases.
    pub(crate) fn run(&mut self, text: &str) {
        let filters = self.make(text);
        let (flow, count) = self.request_of(&filters);
        self.take(flow);
        self.response_of(&filters[..count]);
    }

    /// The values of a field of the request.
    pub(crate) fn field(&self, name: &str) -> Vec<&str> {
        let values = self.parts.headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect()
    }

    /// The values of a field of the answer.
    pub(crate) fn answer_field(&self, name: &str) -> Vec<&str> {
        let values = self.headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect()
    }

    /// The body that filters put in the place of the answer's.
    pub(crate) fn text(&mut self) -> Option<Bytes> {
        match self.body.take_change()? {
            BodyChange::Replace(Body::Empty) => Some(Bytes::new()),
            BodyChange::Replace(Body::Full(data)) => Some(data),
            _ => None,
        }
    }

    /// The target that the request has now.
    pub(crate) fn target(&self) -> String {
        self.parts.uri.to_string()
    }

    pub(crate) fn cx(&mut self, answered: bool) -> FilterContext<'_> {
        FilterContext {
            request: &mut self.parts,
            request_body: &mut self.request_body,
            exchange: &mut self.exchange,
            response: answered.then_some(Answer {
                status: &mut self.status,
                headers: &mut self.headers,
                body: &mut self.body,
            }),
            env: &self.env,
        }
    }

    fn take(&mut self, flow: Flow) {
        if let Flow::Serve(response) = flow {
            let (head, body) = response.into_parts();
            (self.status, self.headers) = (head.status, head.headers);
            self.body.replace(body);
        }
    }
}

fn eskip_calls(text: &str) -> Vec<crate::Call> {
    crate::parse_filters(text).unwrap()
}
