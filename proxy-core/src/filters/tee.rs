//! Copies of requests and of answers for other servers: `tee` and its kin.
//!
//! A copy never holds anything up: it is made while the body passes, its answer is ignored, a server that does not take
//! it in time gets only a part of it, and while there are many copies under way no more are made.

mod copy;

use std::sync::Arc;
use std::time::Duration;

use eskip::Arg;
use eskip::filters::{Args, Body, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode, Uri};
use regex::Regex;
use reqwest::{Client, Request, Url};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time;
use tracing::debug;

pub(crate) use self::copy::copy;
use super::Means;
use super::outside::{Outside, Redirects, Server, copied, ignore};
use crate::tasks::Tasks;

/// Marks copies, so that none is copied again.
const SHADOW: HeaderName = HeaderName::from_static("x-skipper-shadow-traffic");

/// How long a server has for its answer once all of the copy was made.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Copies that may be under way.
const MOST: usize = 256;

/// Copies requests.
#[derive(Debug)]
struct Tee {
    server: Server,
    /// What is found in the path, and what takes its place.
    path: Option<(Regex, String)>,
    copies: Copies,
}

/// Copies the bodies of answers.
#[derive(Debug)]
struct TeeResponse {
    server: Server,
    copies: Copies,
}

/// Sends a copy of the request through the routes.
#[derive(Debug)]
struct Label(Arc<str>);

/// Kept in the exchange by `teeLoopback`, once for each: whoever runs filters sends a copy of the request, as it is behind
/// the filter, through the routes from the first one on, where the predicate `Tee` of this label is true for it, and
/// drops its answer. The copy takes one of the loopbacks that the request has left.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TeeLoopback {
    /// What the predicate `Tee` is given.
    pub(crate) label: Arc<str>,
}

/// What runs copies.
#[derive(Clone, Debug)]
struct Copies {
    tasks: Tasks,
    room: Arc<Semaphore>,
}

pub(super) fn add(all: &mut Filters, means: &Means) {
    let copies = Copies {
        tasks: means.tasks.clone(),
        room: Arc::new(Semaphore::new(MOST)),
    };
    for (name, redirects, does, example) in [
        (
            "tee",
            Redirects::Follow,
            "sends a copy of the request to another server too, with another path if that is wanted",
            r#"tee("https://shadow.example.org", "^/v1", "/v2")"#,
        ),
        (
            "Tee",
            Redirects::Follow,
            "as `tee`",
            r#"Tee("https://shadow.example.org")"#,
        ),
        (
            "teenf",
            Redirects::Stay,
            "as `tee`, and follows no redirects",
            r#"teenf("https://shadow.example.org")"#,
        ),
    ] {
        let (outside, copies) = (Arc::clone(&means.outside), copies.clone());
        all.add(name, (does, example), move |args| {
            Tee::create(args, &outside, redirects, copies.clone())
        });
    }
    let outside = Arc::clone(&means.outside);
    all.add(
        "teeResponse",
        (
            "sends the body of the answer to another server too, as a POST",
            r#"teeResponse("https://shadow.example.org/answers")"#,
        ),
        move |args| {
            let mut args = Args::new(args);
            let server = outside.server(&mut args, Redirects::Stay)?;
            args.end()?;
            let copies = copies.clone();
            Ok(TeeResponse { server, copies })
        },
    );
    all.add(
        "teeLoopback",
        (
            "sends a copy of the request through the routes, where `Tee` of the label is true for it",
            r#"teeLoopback("test-A")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let label = args.text("a label")?.into();
            args.end()?;
            Ok(Label(label))
        },
    );
}

// === impl Tee ===

impl Tee {
    fn create(
        args: &[Arg],
        outside: &Outside,
        redirects: Redirects,
        copies: Copies,
    ) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let server = outside.server(&mut args, redirects)?;
        let path = if args.has_more() {
            Some((args.regexp()?, args.text("what takes its place")?.to_owned()))
        } else {
            None
        };
        args.end()?;
        Ok(Self { server, path, copies })
    }

    /// Where the copy of a request for `uri` goes: to the server, with the request's own path and query.
    fn url(&self, uri: &Uri) -> Url {
        let mut url = self.server.url.clone();
        match &self.path {
            Some((found, place)) => url.set_path(&found.replace_all(uri.path(), place.as_str())),
            None => url.set_path(uri.path()),
        }
        url.set_query(uri.query());
        url
    }
}

impl Filter for Tee {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if cx.request.headers.contains_key(SHADOW) {
            return Flow::serve(is_copy());
        }
        let Some(permit) = self.copies.permit() else {
            return Flow::Next;
        };
        let url = self.url(&cx.request.uri);
        let headers = copied(&cx.request.headers);
        let request = shadow(cx.request.method.clone(), url, headers);
        let (client, copies) = (self.server.client.clone(), self.copies.clone());
        let length = cx.request_body.length();
        if length == Some(0) {
            copies.run(client, request, None, permit);
            return Flow::Next;
        }
        cx.request_body
            .watch(move |body| copies.begin(client, request, (body, length), permit));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST.and_acts()
    }
}

/// The answer to a request that is a copy already.
fn is_copy() -> Response<Body> {
    let mut response = Response::new(Body::from("this request is a copy, which is not copied again\n"));
    *response.status_mut() = StatusCode::from_u16(465).unwrap_or(StatusCode::LOOP_DETECTED);
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A request that is marked as a copy.
fn shadow(method: Method, url: Url, headers: HeaderMap) -> Request {
    let mut request = Request::new(method, url);
    *request.headers_mut() = headers;
    request
        .headers_mut()
        .insert(SHADOW, HeaderValue::from_static("yes"));
    request
}

// === impl TeeResponse ===

impl Filter for TeeResponse {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let Some(answer) = &mut cx.response else {
            return Flow::Next;
        };
        let Some(permit) = self.copies.permit() else {
            return Flow::Next;
        };
        let kept = [
            header::CONTENT_TYPE,
            header::CONTENT_ENCODING,
            header::CONTENT_LANGUAGE,
        ];
        let mut headers = HeaderMap::new();
        for name in kept {
            if let Some(value) = answer.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        let request = shadow(Method::POST, self.server.url.clone(), headers);
        let (client, copies) = (self.server.client.clone(), self.copies.clone());
        let length = answer.body.length();
        answer
            .body
            .watch(move |body| copies.begin(client, request, (body, length), permit));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE.and_acts()
    }
}

// === impl Label ===

impl Filter for Label {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let label = Arc::clone(&self.0);
        cx.exchange.keep(TeeLoopback { label });
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST.and_acts()
    }
}

// === impl Copies ===

impl Copies {
    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.room).try_acquire_owned().ok();
        if permit.is_none() {
            debug!("too many copies are under way");
        }
        permit
    }

    /// Begins to send a copy of the body, which is as long as is known.
    fn begin(
        &self,
        client: Client,
        mut request: Request,
        (body, length): (eskip::filters::StreamBody, Option<u64>),
        permit: OwnedSemaphorePermit,
    ) -> eskip::filters::StreamBody {
        let (body, copy, end) = copy(body, length);
        *request.body_mut() = Some(reqwest::Body::wrap(copy));
        self.run(client, request, Some(end), permit);
        body
    }

    /// Sends a copy. `end` is heard of when all of its body is there.
    fn run(
        &self,
        client: Client,
        request: Request,
        end: Option<oneshot::Receiver<()>>,
        permit: OwnedSemaphorePermit,
    ) {
        let stop = self.tasks.stop();
        self.tasks.spawn("copy of a request", async move {
            let _permit = permit;
            let answered = async {
                match client.execute(request).await {
                    Ok(response) => ignore(response).await,
                    Err(error) => debug!(error = %error.without_url(), "a copy failed"),
                }
            };
            let late = async {
                if let Some(end) = end {
                    let _ended = end.await;
                }
                time::sleep(TIMEOUT).await;
            };
            tokio::select! {
                () = answered => {}
                () = late => debug!("a copy was not answered in time"),
                () = stop.cancelled() => {}
            }
        });
    }
}

#[cfg(test)]
mod tests;
