//! Another service decides who may pass: `webhook`.

use std::sync::Arc;
use std::time::Duration;

use eskip::Arg;
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use http::header::{HeaderMap, HeaderName};
use http::{Method, StatusCode};
use reqwest::{Client, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time;
use tracing::{debug, warn};

use crate::filters::Means;
use crate::filters::bodies::bare;
use crate::filters::outside::{Outside, Redirects, Server, copied, ignore};

/// How long the service has for its answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How long its body is read, so that its connection can be used again.
const READ: Duration = Duration::from_millis(100);

/// Questions that may be under way, of all routes. Whoever comes then is answered with 503.
const MOST: usize = 1024;

/// Asks a service.
#[derive(Debug)]
struct Webhook {
    server: Server,
    /// Fields that the request gets from the service's answer.
    names: Arc<[HeaderName]>,
    room: Arc<Semaphore>,
}

/// What the service has said.
#[derive(Debug)]
enum Said {
    Yes(HeaderMap),
    No(StatusCode),
}

pub(super) fn add(all: &mut Filters, means: &Means) {
    let (outside, room) = (Arc::clone(&means.outside), Arc::new(Semaphore::new(MOST)));
    all.add(
        "webhook",
        (
            "asks a service whether the request may pass, and gives the request fields of its answer",
            r#"webhook("https://auth.example.org/check", "X-Auth-User,X-Auth-Roles")"#,
        ),
        move |args| Webhook::create(args, &outside, &room),
    );
}

// === impl Webhook ===

impl Webhook {
    fn create(args: &[Arg], outside: &Outside, room: &Arc<Semaphore>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let server = outside.server(&mut args, Redirects::Stay)?;
        let names = if args.has_more() {
            args.text("names of header fields")?
        } else {
            ""
        };
        args.end()?;
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Result<_, _> = names.map(str::parse).collect();
        Ok(Self {
            server,
            names: names.map_err(|_| args.expected("names of header fields with commas between"))?,
            room: Arc::clone(room),
        })
    }
}

impl Filter for Webhook {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            warn!("too many requests wait for webhooks");
            return Flow::serve(bare(StatusCode::SERVICE_UNAVAILABLE));
        };
        let mut question = Request::new(Method::GET, self.server.url.clone());
        *question.headers_mut() = copied(&cx.request.headers);
        let names = Arc::clone(&self.names);
        let asking = ask(self.server.client.clone(), question, permit);
        Flow::after(asking, move |said, cx| match said {
            Said::No(status) => Flow::serve(bare(status)),
            Said::Yes(fields) => {
                for name in &*names {
                    // What the client has written there must not pass for the service's word.
                    cx.request.headers.remove(name);
                    for value in fields.get_all(name) {
                        cx.request.headers.append(name.clone(), value.clone());
                    }
                }
                Flow::Next
            }
        })
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST.and_acts()
    }
}

async fn ask(client: Client, question: Request, permit: OwnedSemaphorePermit) -> Said {
    let _permit = permit;
    let answer = time::timeout(TIMEOUT, client.execute(question)).await;
    let answer = match answer {
        Ok(Ok(mut response)) => {
            let head = (response.status(), std::mem::take(response.headers_mut()));
            // The answer counts, however long its body takes.
            let _read = time::timeout(READ, ignore(response)).await;
            Ok(Ok(head))
        }
        Ok(Err(error)) => Ok(Err(error)),
        Err(late) => Err(late),
    };
    match answer {
        Ok(Ok((status, fields))) if status.is_success() => Said::Yes(fields),
        Ok(Ok((StatusCode::FORBIDDEN, _))) => Said::No(StatusCode::FORBIDDEN),
        Ok(Ok((status, _))) => {
            debug!(%status, "a webhook refuses");
            Said::No(StatusCode::UNAUTHORIZED)
        }
        Ok(Err(error)) => {
            warn!(error = %error.without_url(), "a webhook failed");
            Said::No(StatusCode::UNAUTHORIZED)
        }
        Err(_) => {
            warn!("a webhook did not answer in time");
            Said::No(StatusCode::UNAUTHORIZED)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::{Trial, all, chain, mistake};
    use crate::filters::witness::{Asked, Witness};

    /// The service, which answers with this head, and whom a request came to.
    async fn asked(head: &'static str) -> (Trial, bool, Asked) {
        let mut service = Witness::of(head).await;
        let url = format!("{}/check?a=b", service.url());
        let mut trial = Trial::post("/private")
            .with("x-token", "t")
            .with("x-user", "root");
        let served = trial
            .run(&chain(&all(), &format!(r#"webhook({url:?}, "X-User, X-Roles")"#)))
            .await;
        (trial, served, service.next().await)
    }

    #[tokio::test]
    async fn the_service_is_asked_with_the_fields_of_the_request_and_gives_it_some() {
        let yes = "HTTP/1.1 204 No Content\r\nX-User: ann\r\nX-Roles: a\r\nX-Roles: b\r\nX-Other: c\r\nConnection: close\r\n\r\n";
        let (trial, served, question) = asked(yes).await;
        assert!(!served);
        assert_eq!(question.line, "GET /check?a=b HTTP/1.1");
        assert_eq!(question.field("x-token"), ["t"]);
        assert_eq!(question.body.as_deref(), Some(""));
        assert_eq!(trial.field("x-user"), ["ann"]);
        assert_eq!(trial.field("x-roles"), ["a", "b"]);
        assert!(trial.field("x-other").is_empty());
    }

    #[tokio::test]
    async fn a_client_cannot_speak_for_the_service() {
        let (trial, served, _) =
            asked("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
        assert!(!served && trial.field("x-user").is_empty());
    }

    #[tokio::test]
    async fn whatever_is_no_yes_is_a_no() {
        for (head, expected) in [
            (
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                401,
            ),
            (
                "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                403,
            ),
            (
                "HTTP/1.1 302 Found\r\nLocation: /yes\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                401,
            ),
            (
                "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                401,
            ),
            ("nonsense\r\n\r\n", 401),
        ] {
            let (trial, served, _) = asked(head).await;
            assert!(served, "{head}");
            assert_eq!(trial.status.as_u16(), expected, "{head}");
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_does_not_matter() {
        let (_, served, _) = asked("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").await;
        assert!(!served);
    }

    #[tokio::test]
    async fn a_service_that_is_silent_or_gone_refuses() {
        let mut silent = Witness::of("").await;
        let text = format!("webhook({:?})", silent.url());
        let made = chain(&all(), &text);
        let mut trial = Trial::get("/");
        let (served, ()) = tokio::join!(trial.run(&made), async {
            silent.next().await;
            time::pause();
        });
        assert!(served && trial.status == StatusCode::UNAUTHORIZED);
        time::resume();
        drop(silent);
        let mut trial = Trial::get("/");
        assert!(
            trial
                .run(&chain(&all(), r#"webhook("http://127.0.0.1:1")"#))
                .await
        );
        assert_eq!(trial.status, StatusCode::UNAUTHORIZED);
    }

    #[tokio::test]
    async fn only_so_many_questions_are_under_way() {
        let webhook = Webhook {
            server: Outside::default()
                .server(
                    &mut Args::new(&[Arg::Text("http://127.0.0.1:1".to_owned())]),
                    Redirects::Stay,
                )
                .unwrap(),
            names: Arc::new([]),
            room: Arc::new(Semaphore::new(0)),
        };
        let mut trial = Trial::get("/");
        trial.run(&vec![Box::new(webhook) as _]).await;
        assert_eq!(trial.status, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn arguments_that_say_nothing_are_refused() {
        for text in [
            "webhook()",
            r#"webhook("x")"#,
            r#"webhook("http://a", "b c")"#,
            r#"webhook("http://a", 1)"#,
        ] {
            assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
        }
    }
}
