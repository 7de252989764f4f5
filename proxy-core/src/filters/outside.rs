//! Requests that filters make themselves, to the addresses that their arguments name and no others.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eskip::filters::Args;
use eskip::routing::ArgsError;
use http::StatusCode;
use http::header::{self, HeaderMap};
use reqwest::{Client, Request, Response, Url, redirect};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio::time;

use crate::http::hop_by_hop::strip_request;
use crate::http::marks::Marks;

/// Idle connections that are kept for each server.
const MOST_IDLE: usize = 100;

/// How long one is kept.
const IDLE: Duration = Duration::from_secs(30);

/// How long opening one may take.
const CONNECT: Duration = Duration::from_secs(1);

/// As browsers do.
const MOST_REDIRECTS: usize = 10;

/// What URLs of filters are.
const URL: &str = "an http or https URL without a user";

/// What is read of a body that nobody wants, so that its connection can be used again.
const MOST_READ: usize = 64 * 1024;

/// Clients of HTTP, which are made when a filter needs one.
#[derive(Default)]
pub(crate) struct Outside(Mutex<Vec<(How, Client)>>);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct How {
    /// Whether https is spoken: then the authorities of the system are read.
    is_secure: bool,
    redirects: Redirects,
}

/// What is done with an answer that leads elsewhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Redirects {
    /// It is the answer.
    Stay,
    /// It is followed as far as it stays at the server.
    Follow,
}

/// A server that a filter asks.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) client: Client,
    pub(super) url: Url,
}

/// Why a server cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServerError {
    #[error("expected {URL}")]
    Url,
    #[error("no client can be made: {0}")]
    Client(String),
}

/// Why a question has no answer that is of use. It does not show what was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("{0}")]
    Failed(reqwest::Error),
    #[error("there is no answer in time")]
    Late,
    #[error("the status is {0}")]
    Status(StatusCode),
    #[error("the answer is too long")]
    TooLong,
    #[error("the answer is not what was asked for")]
    Garbage,
}

// === impl Outside ===

impl Outside {
    /// The server of an argument.
    pub(super) fn server(&self, args: &mut Args<'_>, redirects: Redirects) -> Result<Server, ArgsError> {
        let text = args.text("a URL")?;
        self.server_at(text, redirects).map_err(|error| match error {
            ServerError::Url => args.expected(URL),
            ServerError::Client(_) => ArgsError(error.to_string()),
        })
    }

    /// The server of a URL.
    pub(super) fn server_at(&self, text: &str, redirects: Redirects) -> Result<Server, ServerError> {
        let url = Url::parse(text).ok().filter(is_usable).ok_or(ServerError::Url)?;
        let is_secure = url.scheme() == "https";
        let client = self.client(How { is_secure, redirects });
        let client = client.map_err(|error| ServerError::Client(error.to_string()))?;
        Ok(Server { client, url })
    }

    fn client(&self, how: How) -> Result<Client, Box<dyn std::error::Error>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = known.iter().find(|(known, _)| *known == how) {
            return Ok(client.clone());
        }
        let client = how.client()?;
        known.push((how, client.clone()));
        Ok(client)
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}

/// Whether requests can go there. A user and a password would be shown with the route.
fn is_usable(url: &Url) -> bool {
    let is_http = matches!(url.scheme(), "http" | "https");
    is_http && url.has_host() && url.username().is_empty() && url.password().is_none()
}

// === impl How ===

impl How {
    fn client(self) -> Result<Client, Box<dyn std::error::Error>> {
        let policy = match self.redirects {
            Redirects::Stay => redirect::Policy::none(),
            Redirects::Follow => redirect::Policy::custom(follow),
        };
        let client = Client::builder()
            .no_proxy()
            .referer(false)
            .redirect(policy)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MOST_IDLE)
            .tls_backend_preconfigured(self.tls()?);
        Ok(client.build()?)
    }

    fn tls(self) -> Result<ClientConfig, rustls::Error> {
        let mut roots = RootCertStore::empty();
        if self.is_secure {
            let _counts = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(config.with_root_certificates(roots).with_no_client_auth())
    }
}

/// Follows a redirect that stays at the server that was asked: no other one is named in the configuration.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let origin = attempt.previous().first().map(Url::origin);
    if attempt.previous().len() > MOST_REDIRECTS || origin != Some(attempt.url().origin()) {
        attempt.stop()
    } else {
        attempt.follow()
    }
}

// === impl Server ===

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a key.
        f.debug_struct("Server")
            .field("host", &self.url.host_str().unwrap_or_default())
            .finish_non_exhaustive()
    }
}

/// The fields of a request as another server gets them: without what concerns the connection or the body.
pub(super) fn copied(headers: &HeaderMap) -> HeaderMap {
    let marks = Marks::of(headers);
    let mut headers = headers.clone();
    strip_request(&mut headers, marks);
    for name in [
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::HOST,
        header::TE,
        header::TRAILER,
    ] {
        headers.remove(name);
    }
    headers
}

/// Asks a server. Gives the status and the body of its answer, which may be `most` long, if they come in time.
pub(super) async fn asked(
    client: &Client,
    question: Request,
    within: Duration,
    most: usize,
) -> Result<(StatusCode, Vec<u8>), AskError> {
    let answer = async {
        let mut response = client.execute(question).await?;
        let mut body = Vec::new();
        while let Some(data) = response.chunk().await? {
            if data.len() > most.saturating_sub(body.len()) {
                return Ok(Err(AskError::TooLong));
            }
            body.extend_from_slice(&data);
        }
        Ok(Ok((response.status(), body)))
    };
    match time::timeout(within, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Err(AskError::Failed(reqwest::Error::without_url(error))),
        Err(_) => Err(AskError::Late),
    }
}

/// Reads a short body that nobody wants.
pub(super) async fn ignore(mut response: Response) {
    let mut read = 0;
    while read <= MOST_READ
        && let Ok(Some(data)) = response.chunk().await
    {
        read += data.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_that_can_be_asked_are_taken() {
        let outside = Outside::default();
        for (text, expected) in [
            ("http://a.example:8080/x?y", true),
            ("https://a.example", true),
            ("ftp://a.example", false),
            ("//a.example", false),
            ("a.example", false),
            ("http://user:secret@a.example", false),
            ("http://", false),
        ] {
            let arg = [eskip::Arg::Text(text.to_owned())];
            let server = outside.server(&mut Args::new(&arg), Redirects::Stay);
            assert_eq!(server.is_ok(), expected, "{text}");
            assert!(!format!("{server:?}").contains("secret"), "{text}");
        }
    }

    #[test]
    fn fields_of_the_connection_and_the_body_are_not_copied() {
        let fields = [
            ("connection", "x-hop"),
            ("content-length", "1"),
            ("cookie", "a=b"),
            ("host", "a.example"),
            ("proxy-authorization", "Basic eDp5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("x-hop", "1"),
        ];
        let fields = fields.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let copy = copied(&HeaderMap::from_iter(fields));
        assert_eq!(copy.keys().collect::<Vec<_>>(), ["cookie"]);
    }
}
