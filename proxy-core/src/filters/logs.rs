//! What passes, for whoever looks for a mistake: `logHeader` and `logBody`, at the level debug.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use eskip::Arg;
use eskip::filters::{Args, BoxError, Filter, FilterContext, Filters, Flow, StreamBody, Wants};
use eskip::routing::ArgsError;
use http::header::{self, HeaderMap, HeaderName};
use http_body::{Body as HttpBody, SizeHint};
use tracing::debug;

use super::Means;
use super::bodies::Polled;

/// A head is logged up to this length, in bytes.
const MOST: usize = 16 * 1024;

/// What flows are known by.
const FLOW: HeaderName = HeaderName::from_static("x-flow-id");

/// Fields whose values are nobody's business.
const SECRET: [HeaderName; 4] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::PROXY_AUTHORIZATION,
    header::SET_COOKIE,
];

/// Logs heads.
#[derive(Debug)]
struct LogHeader {
    request: bool,
    response: bool,
}

/// Logs a body up to a limit.
#[derive(Debug)]
struct LogBody {
    is_request: bool,
    limit: usize,
}

pub(super) fn add(all: &mut Filters, _means: &Means) {
    all.add(
        "logHeader",
        (
            "logs the head of the request or the answer at the level debug, without credentials",
            r#"logHeader("request", "response")"#,
        ),
        LogHeader::create,
    );
    all.add(
        "logBody",
        (
            "logs so many bytes of the request's body or the answer's at the level debug",
            r#"logBody("response", 1024)"#,
        ),
        LogBody::create,
    );
}

// === impl LogHeader ===

impl LogHeader {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (mut request, mut response) = (!args.has_more(), false);
        while args.has_more() {
            match is_request(&mut args)? {
                true => request = true,
                false => response = true,
            }
        }
        Ok(Self { request, response })
    }
}

impl Filter for LogHeader {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.request {
            let (method, path) = (&cx.request.method, cx.request.uri.path());
            // A query may hold a token.
            debug!(route = cx.exchange.route, host = cx.exchange.host, %method, path, fields = shown(&cx.request.headers), "head of a request");
        }
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(answer) = &cx.response {
            debug!(
                route = cx.exchange.route,
                status = answer.status.as_u16(),
                fields = shown(answer.headers),
                "head of an answer"
            );
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants {
            request: self.request,
            response: self.response,
            ..Wants::NONE
        }
    }
}

/// The fields of a head, one after the other, without credentials.
fn shown(headers: &HeaderMap) -> String {
    let mut text = String::new();
    for (name, value) in headers {
        let is_secret = value.is_sensitive() || SECRET.contains(name);
        let value = if is_secret {
            "REDACTED".into()
        } else {
            value.as_bytes().escape_ascii().to_string()
        };
        let field = format!("{name}: {value}; ");
        if text.len() + field.len() > MOST {
            text.push_str("...");
            break;
        }
        text.push_str(&field);
    }
    text
}

fn is_request(args: &mut Args<'_>) -> Result<bool, ArgsError> {
    match args.text("request or response")? {
        "request" => Ok(true),
        "response" => Ok(false),
        _ => Err(args.expected("request or response")),
    }
}

// === impl LogBody ===

impl LogBody {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let is_request = is_request(&mut args)?;
        let limit = args.whole("a number of bytes")?;
        args.end()?;
        Ok(Self { is_request, limit })
    }

    /// Logs a body of the flow that a request belongs to.
    fn logging(&self, headers: &HeaderMap) -> impl FnOnce(StreamBody) -> StreamBody + Send + 'static {
        let flow = headers.get(FLOW).and_then(|flow| flow.to_str().ok());
        let (is_request, limit) = (self.is_request, self.limit);
        let flow = flow.unwrap_or_default().to_owned();
        move |body| {
            Box::pin(Logged {
                body,
                is_request,
                flow,
                left: limit,
            })
        }
    }
}

impl Filter for LogBody {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        cx.request_body.watch(self.logging(&cx.request.headers));
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(answer) = &mut cx.response {
            answer.body.watch(self.logging(&cx.request.headers));
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        if self.is_request {
            Wants::REQUEST
        } else {
            Wants::RESPONSE.and_head()
        }
    }
}

/// A body that is logged while it passes.
struct Logged {
    body: StreamBody,
    is_request: bool,
    flow: String,
    left: usize,
}

impl HttpBody for Logged {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        if self.left > 0
            && let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            let shown = data.get(..self.left.min(data.len())).unwrap_or_default();
            let of = if self.is_request { "request" } else { "response" };
            debug!(of, flow = self.flow, data = %shown.escape_ascii(), "a piece of a body");
            self.left -= shown.len();
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

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::filters::trial::{Trial, all, chain, mistake, pieces, read};

    /// What is logged.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(data)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is logged meanwhile.
    pub(in crate::filters) async fn lines_of(work: impl Future<Output = ()>) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let guard = tracing::subscriber::set_default(subscriber);
        work.await;
        drop(guard);
        let found = lines.0.lock().unwrap().clone();
        String::from_utf8(found).unwrap()
    }

    /// What a filter logs of a request and its answer.
    async fn logged(text: &str, mut trial: Trial) -> String {
        let chain = chain(&all(), text);
        lines_of(async {
            trial.run(&chain).await;
            let bodies = (
                trial.upload(pieces(&["up", "load"])),
                trial.answer(pieces(&["ans", "wer"])),
            );
            assert_eq!(read(bodies.0).await.unwrap(), ["up", "load"]);
            assert_eq!(read(bodies.1).await.unwrap(), ["ans", "wer"]);
        })
        .await
    }

    fn trial() -> Trial {
        Trial::post("/a?token=secret")
            .with("x-a", "one")
            .with("x-flow-id", "flow")
            .with("authorization", "secret")
            .with("cookie", "secret")
            .answered_with("x-b", "two")
            .answered_with("set-cookie", "secret")
    }

    #[tokio::test]
    async fn heads_are_logged_without_credentials() {
        for (text, request, response) in [
            ("logHeader()", true, false),
            (r#"logHeader("request")"#, true, false),
            (r#"logHeader("response")"#, false, true),
            (r#"logHeader("request", "response")"#, true, true),
        ] {
            let found = logged(text, trial()).await;
            assert_eq!(found.contains("x-a: one"), request, "{found}");
            assert_eq!(found.contains("x-b: two"), response, "{found}");
            assert!(!found.contains("secret"), "{found}");
        }
    }

    #[tokio::test]
    async fn long_heads_are_cut() {
        let found = logged("logHeader()", trial().with("x-long", &"x".repeat(MOST))).await;
        assert!(found.len() < 1024 && found.contains("..."), "{found}");
    }

    #[tokio::test]
    async fn bodies_are_logged_up_to_a_limit() {
        let found = logged(r#"logBody("request", 4)"#, trial()).await;
        assert!(
            found.contains("data=up") && found.contains("data=lo") && !found.contains("load"),
            "{found}"
        );
        assert!(
            found.contains("flow=\"flow\"") && !found.contains("ans"),
            "{found}"
        );
        let found = logged(r#"logBody("response", 100)"#, trial()).await;
        assert!(
            found.contains("data=ans") && found.contains("data=wer") && !found.contains("load"),
            "{found}"
        );
    }

    #[test]
    fn arguments_that_say_nothing_are_refused() {
        for text in [
            r#"logHeader("x")"#,
            "logBody()",
            r#"logBody("request")"#,
            r#"logBody("x", 1)"#,
        ] {
            assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
        }
    }
}
