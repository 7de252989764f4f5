//! One request to Consul.

mod http;
mod tls;
mod token;

use std::error::Error;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue};
use reqwest::{Response, Url};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::{task, time};

use self::http::{How, Transport};
use self::token::Tokens;
use crate::catalog::{self, Health, ReadError, Skipped};
use crate::error::LookupError;
use crate::locality::Locality;
use crate::name::ServiceName;
use crate::settings::{Checked, SettingError};

/// The longest body of an answer.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The most longer bodies that are held at once: the others wait for their turn.
const MOST_LONG: usize = 2;

/// A body up to this length is read in a moment, and any number of them may be held.
const SHORT: usize = 256 * 1024;

/// How much of the body of a failure is read, to tell what it is.
const MOST_REASON: usize = 256;

/// Fewer characters at the end of a text are not taken for the beginning of a secret.
const LEAST_SECRET: usize = 4;

/// Who answers for services.
pub(crate) trait Ask: Send + Sync + 'static {
    /// The instances of a service that pass.
    fn ask<'a>(&'a self, name: &'a ServiceName, blocking: Option<Blocking>) -> Asking<'a>;
}

pub(crate) type Asking<'a> = Pin<Box<dyn Future<Output = Result<Reply, LookupError>> + Send + 'a>>;

/// The answer is to come when the index is another, or the wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocking {
    pub(crate) index: u64,
    pub(crate) wait: Duration,
}

/// What Consul answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) health: Health,
    pub(crate) index: Option<u64>,
}

/// Asks a Consul agent or server over HTTP.
#[derive(Debug)]
pub(crate) struct Client {
    http: Transport,
    base: Url,
    host: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
    tokens: Tokens,
    /// What each request says beside the name.
    query: Vec<(&'static str, String)>,
    locality: Option<Arc<Locality>>,
    timeout: Duration,
    /// Places for bodies that are long.
    long: Arc<Semaphore>,
}

/// The body of an answer, with its place if it is a long one.
struct Body {
    bytes: Vec<u8>,
    place: Option<OwnedSemaphorePermit>,
}

// === impl Client ===

impl Client {
    /// Reads certificates; asks for nothing.
    pub(crate) fn try_new(checked: &Checked) -> Result<Self, SettingError> {
        let settings = &checked.settings;
        let mut base = checked.address.base.clone();
        let (mut host, mut dialled) = (None, None);
        if let Some(name) = settings
            .tls
            .server_name
            .as_deref()
            .filter(|name| base.scheme() == "https" && base.host_str() != Some(name))
        {
            if name.parse::<IpAddr>().is_ok() {
                // The URL's host is what the certificate must be for, and an address there would be dialled.
                let problem = "it must be a name; the address's host may be an IP address";
                return Err(SettingError::new("tls.server_name", problem));
            }
            let real = base.host_str().unwrap_or_default().to_owned();
            let shown = match base.port() {
                Some(port) => format!("{real}:{port}"),
                None => real.clone(),
            };
            host = HeaderValue::from_str(&shown).ok();
            let refused = |_| SettingError::new("tls.server_name", "it is no host name");
            base.set_host(Some(name)).map_err(refused)?;
            dialled = Some(real);
        }
        let http = Transport::try_new(How {
            place: checked.address.place.clone(),
            is_secure: base.scheme() == "https",
            tls: settings.tls.clone(),
            host: dialled,
        })?;
        let authorization = settings.basic_auth.as_ref().map(|auth| {
            let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(auth.expose())));
            if let Ok(value) = &mut value {
                value.set_sensitive(true);
            }
            value.map_err(|_| SettingError::new("basic_auth", "it cannot be sent"))
        });
        Ok(Self {
            http,
            base,
            host,
            authorization: authorization.transpose()?,
            tokens: Tokens::new(settings.token.as_ref(), settings.token_file.as_deref()),
            query: query(checked),
            locality: settings.locality.clone().map(Arc::new),
            timeout: checked.timeout,
            long: Arc::new(Semaphore::new(MOST_LONG)),
        })
    }

    /// Every instance that does not pass, and how many there are in all.
    pub(crate) async fn failing(&self, name: &ServiceName) -> Result<(usize, Vec<Skipped>), LookupError> {
        let work = async {
            let response = self.send(name, false, None).await?;
            let body = self.body(response).await?;
            off_thread(body, catalog::read_failing).await
        };
        within(self.timeout, work).await
    }

    async fn passing(&self, name: &ServiceName, blocking: Option<Blocking>) -> Result<Reply, LookupError> {
        let response = self.send(name, true, blocking).await?;
        let field = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        let index = field("x-consul-index").and_then(|index| index.parse().ok());
        let filtered = field("x-consul-results-filtered-by-acls");
        let is_filtered = filtered.is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let body = self.body(response).await?;
        let locality = self.locality.clone();
        let health = off_thread(body, move |body| catalog::read(body, locality.as_deref())).await?;
        if is_filtered && health.instances.is_empty() {
            return Err(LookupError::Filtered);
        }
        Ok(Reply { health, index })
    }

    async fn send(
        &self,
        name: &ServiceName,
        passing: bool,
        blocking: Option<Blocking>,
    ) -> Result<Response, LookupError> {
        let token = self.tokens.current()?;
        let mut headers = HeaderMap::new();
        if let Some(token) = &token {
            headers.insert("x-consul-token", token.clone());
        }
        if let Some(host) = &self.host {
            headers.insert(HOST, host.clone());
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let url = self.url(name, passing, blocking)?;
        let response = self
            .http
            .current()
            .get(url)
            .headers(headers)
            .send()
            .await
            .map_err(failed)?;
        match response.status().as_u16() {
            200 => Ok(response),
            status => {
                let text = reason(response).await;
                // Whatever answers there may have sent back what it got.
                let secrets = token.iter().chain(&self.authorization);
                let text = secrets
                    .filter_map(|secret| secret.to_str().ok())
                    .fold(text, |text, secret| without(&text, secret));
                Err(LookupError::of_status(status, &text))
            }
        }
    }

    async fn body(&self, mut response: Response) -> Result<Body, LookupError> {
        let (mut bytes, mut place) = (Vec::new(), None);
        while let Some(piece) = response.chunk().await.map_err(cut)? {
            let length = bytes.len() + piece.len();
            if length > MOST_BYTES {
                return Err(LookupError::Long(
                    format!("more than {} MiB", MOST_BYTES >> 20).into(),
                ));
            }
            if length > SHORT && place.is_none() {
                let long = Arc::clone(&self.long).acquire_owned().await;
                place = Some(long.map_err(|_| LookupError::Stopped)?);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Body { bytes, place })
    }

    fn url(&self, name: &ServiceName, passing: bool, blocking: Option<Blocking>) -> Result<Url, LookupError> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| LookupError::Unreachable("the address takes no path".into()))?
            .pop_if_empty()
            .extend(["v1", "health", "service", name.as_str()]);
        let mut query = url.query_pairs_mut();
        if passing {
            query.append_pair("passing", "1");
        }
        query.extend_pairs(&self.query);
        if let Some(Blocking { index, wait }) = blocking {
            query.append_pair("index", &index.to_string());
            query.append_pair("wait", &format!("{}ms", wait.as_millis()));
        }
        drop(query);
        Ok(url)
    }
}

impl Ask for Client {
    fn ask<'a>(&'a self, name: &'a ServiceName, blocking: Option<Blocking>) -> Asking<'a> {
        // Consul itself adds up to a sixteenth to the wait.
        let wait = blocking.map_or(Duration::ZERO, |blocking| blocking.wait + blocking.wait / 16);
        Box::pin(within(self.timeout + wait, self.passing(name, blocking)))
    }
}

/// What each request says beside the name.
fn query(checked: &Checked) -> Vec<(&'static str, String)> {
    let settings = &checked.settings;
    let named = [
        ("dc", &settings.datacenter),
        ("ns", &settings.namespace),
        ("partition", &settings.partition),
        ("tag", &settings.tag),
    ];
    let mut query: Vec<_> = named
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.clone()?)))
        .collect();
    if settings.stale {
        query.push(("stale", String::new()));
    }
    query
}

/// Reads a body: a long one where it holds up nothing else that runs on this thread.
async fn off_thread<T: Send + 'static>(
    body: Body,
    read: impl FnOnce(&[u8]) -> Result<T, ReadError> + Send + 'static,
) -> Result<T, LookupError> {
    if body.place.is_none() {
        return read(&body.bytes).map_err(unreadable);
    }
    // The place is free when the body has gone.
    let reading = task::spawn_blocking(move || {
        let Body { bytes, place: _place } = body;
        read(&bytes)
    });
    reading
        .await
        .map_err(|_| LookupError::Stopped)?
        .map_err(unreadable)
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, LookupError>>,
) -> Result<T, LookupError> {
    time::timeout(limit, work)
        .await
        .unwrap_or(Err(LookupError::TimedOut))
}

/// The beginning of a failure's body, as text for people.
async fn reason(mut response: Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(piece.get(..MOST_REASON).unwrap_or(&piece));
        if body.len() >= MOST_REASON {
            break;
        }
    }
    body.truncate(MOST_REASON);
    let text = String::from_utf8_lossy(&body);
    let shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    shown.trim().to_owned()
}

/// `text` without a secret, nor the beginning of one where it was cut.
fn without(text: &str, secret: &str) -> String {
    let secret = secret.strip_prefix("Basic ").unwrap_or(secret);
    if secret.is_empty() {
        return text.to_owned();
    }
    let text = text.replace(secret, "(token)");
    let begins = |length: &usize| secret.get(..*length).is_some_and(|part| text.ends_with(part));
    match (LEAST_SECRET..secret.len()).rev().find(begins) {
        Some(length) => {
            let shown = text.get(..text.len() - length).unwrap_or_default();
            format!("{shown}(token)")
        }
        None => text,
    }
}

fn unreadable(error: ReadError) -> LookupError {
    let text = error.to_string();
    match error {
        ReadError::Many => LookupError::Long(text.into()),
        // It quotes what it found, which may be the whole body.
        ReadError::Json(error) if text.len() > MOST_REASON => {
            let (line, column) = (error.line(), error.column());
            LookupError::Bad(format!("it is not of the right form at line {line} column {column}").into())
        }
        ReadError::Json(_) => LookupError::Bad(text.into()),
    }
}

fn failed(error: reqwest::Error) -> LookupError {
    let is_connect = error.is_connect();
    let text = chain(&error.without_url()).into();
    if is_connect {
        LookupError::Unreachable(text)
    } else {
        LookupError::Cut(text)
    }
}

fn cut(error: reqwest::Error) -> LookupError {
    LookupError::Cut(chain(&error.without_url()).into())
}

/// An error and what caused it, as one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
