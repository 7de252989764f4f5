//! Who did what: `auditLog`.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use eskip::filters::{Args, BoxError, Filter, FilterContext, Filters, Flow, StreamBody, Wants};
use eskip::routing::ArgsError;
use http_body::{Body as HttpBody, SizeHint};
use tracing::info;

use super::Means;
use super::bodies::Polled;

/// So many bytes of a body are logged unless the filter says otherwise; as Skipper.
const BODY: usize = 1024;

/// More than that nobody asks for.
const MOST: usize = 1 << 20;

/// Logs a line for each request when its answer begins.
#[derive(Debug)]
struct Audit {
    /// Bytes of the request's body.
    most: usize,
}

/// What was seen of the body of a request, kept in its exchange.
struct Seen(Arc<Mutex<Vec<u8>>>);

pub(super) fn add(all: &mut Filters, _means: &Means) {
    all.add(
        "auditLog",
        (
            "logs method, path, status, who was authenticated, and so many bytes of the request's body",
            "auditLog(1024)",
        ),
        |args| {
            let mut args = Args::new(args);
            let most = if args.has_more() {
                args.whole("a number of bytes")?
            } else {
                BODY
            };
            args.end()?;
            if most > MOST {
                return Err(ArgsError(format!("expected at most {MOST} bytes, found {most}")));
            }
            Ok(Audit { most })
        },
    );
}

// === impl Audit ===

impl Filter for Audit {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.most > 0 && cx.request_body.length() != Some(0) {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (copy, most) = (Arc::clone(&seen), self.most);
            cx.request_body
                .watch(move |body| Box::pin(Watched { body, copy, most }));
            cx.exchange.keep(Seen(seen));
        }
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let status = cx.response.as_ref().map(|answer| answer.status.as_u16());
        let seen = cx.exchange.take_kept::<Seen>();
        let body = seen.map(|seen| lock(&seen.0).escape_ascii().to_string());
        let user = cx.exchange.bag.get("auth-user");
        let rejected = cx.exchange.bag.get("auth-reject-reason");
        // A query may hold a token.
        let (method, path) = (&cx.request.method, cx.request.uri.path());
        info!(target: "audit", route = cx.exchange.route, %method, path, status, user, rejected, body, "audit");
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::ALL.and_errors()
    }
}

/// A body whose beginning is noted while it passes.
struct Watched {
    body: StreamBody,
    copy: Arc<Mutex<Vec<u8>>>,
    most: usize,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            let mut copy = lock(&self.copy);
            let left = self.most.saturating_sub(copy.len());
            copy.extend(data.iter().take(left));
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

fn lock(seen: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    // Each change is a single one: a panic elsewhere leaves nothing half done.
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::filters::logs::tests::lines_of;
    use crate::filters::trial::{Trial, all, chain, mistake, pieces, read};

    #[tokio::test]
    async fn a_line_says_who_did_what_and_no_credential() {
        let chain = chain(&all(), "auditLog(5)");
        let mut trial = Trial::post("/a?token=secret").with("authorization", "secret");
        trial.exchange.bag.set("auth-user", "ann");
        let lines = lines_of(async {
            trial.request(&chain).await.unwrap();
            let upload = trial.upload(pieces(&["up", "load"]));
            assert_eq!(read(upload).await.unwrap(), ["up", "load"]);
            trial.response(&chain).await;
        })
        .await;
        for part in [
            "method=POST",
            "path=\"/a\"",
            "status=200",
            "user=\"ann\"",
            "body=\"uploa\"",
        ] {
            assert!(lines.contains(part), "{part}: {lines}");
        }
        assert!(!lines.contains("secret"), "{lines}");
    }

    #[tokio::test]
    async fn without_a_number_of_bytes_no_body_is_noted() {
        let chain = chain(&all(), "auditLog(0)");
        let mut trial = Trial::post("/a");
        let lines = lines_of(async {
            trial.request(&chain).await.unwrap();
            let upload = trial.upload(pieces(&["up"]));
            read(upload).await.unwrap();
            trial.response(&chain).await;
        })
        .await;
        assert!(
            lines.contains("status=200") && !lines.contains("body="),
            "{lines}"
        );
        assert!(mistake("auditLog(2000000)").contains("at most"));
    }
}
