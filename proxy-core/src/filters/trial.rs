//! Filters on one request, for tests.

use std::time::{Instant, SystemTime};

use bytes::Bytes;
use eskip::filters::{
    Answer, Body, BodyChange, BodySlot, BoxError, Env, Exchange, Filter, FilterContext, Filters, Flow,
    RouteSettings, StreamBody,
};
use http::header::HeaderMap;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody as Pieces};

use super::{Means, registry};

/// A request to route `r`, and an answer with status 200 and no body unless it is told otherwise.
pub(crate) struct Trial {
    pub(crate) parts: Parts,
    pub(crate) exchange: Exchange,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// What the filters did with the body of the answer.
    pub(crate) body: BodySlot,
    pub(crate) request_body: BodySlot,
    pub(crate) env: Around,
}

/// The clock of tokio, and a number that is as random as the test wants it.
#[derive(Default)]
pub(crate) struct Around {
    pub(crate) random: u64,
}

/// The filters of one route, as its table has them.
pub(crate) type Chain = Vec<Box<dyn Filter>>;

impl Env for Around {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn wall(&self) -> SystemTime {
        crate::clock::wall()
    }

    fn random(&self) -> u64 {
        self.random
    }
}

/// All filters.
pub(crate) fn all() -> Filters {
    registry(&Means::default())
}

/// The filters of a route.
pub(crate) fn chain(filters: &Filters, text: &str) -> Chain {
    let calls = eskip::parse_filters(text).unwrap();
    let made = calls.iter().map(|call| filters.create(call).unwrap());
    let chain: Chain = made.collect();
    let mut settings = RouteSettings::default();
    chain.iter().for_each(|filter| filter.settle(&mut settings));
    chain
}

/// Why a filter cannot be made.
pub(crate) fn mistake(text: &str) -> String {
    let calls = eskip::parse_filters(text).unwrap();
    all().create(&calls[0]).unwrap_err().to_string()
}

/// A body that comes in these pieces.
pub(crate) fn pieces(pieces: &[&'static str]) -> StreamBody {
    let frames: Vec<Result<_, BoxError>> = pieces
        .iter()
        .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))))
        .collect();
    Box::pin(Pieces::new(futures_util::stream::iter(frames)))
}

/// The pieces of a body.
pub(crate) async fn read(mut body: StreamBody) -> Result<Vec<Bytes>, BoxError> {
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        all.extend(frame?.into_data().ok());
    }
    Ok(all)
}

/// What becomes of a body.
pub(crate) fn through(slot: &mut BodySlot, body: StreamBody) -> StreamBody {
    match slot.take_change() {
        None => body,
        Some(BodyChange::Wrap { wrap, .. }) => wrap(body),
        Some(BodyChange::Replace(Body::Empty)) => pieces(&[]),
        Some(BodyChange::Replace(Body::Full(data))) => {
            let all: Vec<Result<_, BoxError>> = vec![Ok(Frame::data(data))];
            Box::pin(Pieces::new(futures_util::stream::iter(all)))
        }
        Some(BodyChange::Replace(Body::Stream(body))) => body,
    }
}

impl Trial {
    /// A GET of `target` from 192.0.2.7 for www.example.org.
    pub(crate) fn get(target: &str) -> Self {
        let (parts, ()) = Request::builder().uri(target).body(()).unwrap().into_parts();
        let mut exchange = Exchange::default();
        exchange.host = "www.example.org".to_owned();
        exchange.peer = Some(([192, 0, 2, 7], 1234).into());
        exchange.route = "r".to_owned();
        Self {
            parts,
            exchange,
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: BodySlot::new(None),
            request_body: BodySlot::new(Some(0)),
            env: Around::default(),
        }
    }

    /// A POST whose body has no length that is known.
    pub(crate) fn post(target: &str) -> Self {
        let mut trial = Self::get(target);
        trial.parts.method = Method::POST;
        trial.request_body = BodySlot::new(None);
        trial
    }

    /// With a field of the request.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        let value = HeaderValue::from_str(value).unwrap();
        self.parts.headers.append(name, value);
        self
    }

    /// With a field of the answer.
    pub(crate) fn answered_with(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.append(name, HeaderValue::from_str(value).unwrap());
        self
    }

    /// The first phase. Gives how many filters were run; the last one has answered if `served`.
    pub(crate) async fn request(&mut self, chain: &Chain) -> Result<usize, usize> {
        for (index, filter) in chain.iter().enumerate() {
            if !filter.wants().request {
                continue;
            }
            let flow = filter.request(&mut self.cx(false));
            if self.follow(flow, false).await {
                return Err(index + 1);
            }
        }
        Ok(chain.len())
    }

    /// The second phase, the last one first.
    pub(crate) async fn response(&mut self, chain: &[Box<dyn Filter>]) {
        for filter in chain.iter().rev().filter(|filter| filter.wants().response) {
            let flow = filter.response(&mut self.cx(true));
            self.follow(flow, true).await;
        }
    }

    /// Both phases. Whether a filter has answered.
    pub(crate) async fn run(&mut self, chain: &Chain) -> bool {
        let (count, served) = match self.request(chain).await {
            Ok(count) => (count, false),
            Err(count) => (count, true),
        };
        self.response(&chain[..count]).await;
        served
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

    /// The answer's body, if the backend sent `body`.
    pub(crate) fn answer(&mut self, body: StreamBody) -> StreamBody {
        through(&mut self.body, body)
    }

    /// The body that the backend gets, if the client sent `body`.
    pub(crate) fn upload(&mut self, body: StreamBody) -> StreamBody {
        through(&mut self.request_body, body)
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

    async fn follow(&mut self, mut flow: Flow, answered: bool) -> bool {
        loop {
            flow = match flow {
                Flow::Next => return false,
                Flow::Wait(waiting) => {
                    let resume = waiting.await;
                    resume(&mut self.cx(answered))
                }
                Flow::Serve(response) => {
                    let (head, body) = response.into_parts();
                    (self.status, self.headers) = (head.status, head.headers);
                    self.body.replace(body);
                    return true;
                }
                Flow::Reroute => panic!("no filter here reroutes"),
            }
        }
    }
}
