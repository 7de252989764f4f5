//! One check of an upstream: over a connection of its own, so that it also shows whether one can be opened.

mod redirect;

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use regex::Regex;
use thiserror::Error;
use tokio::time;

use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::tasks::Tasks;
use crate::upstream::channel::Channel;
use crate::upstream::connect::Connector;
use crate::upstream::resolve::Name;
use crate::upstream::transport::{Connected, Purpose, Transport, Way};

/// What is asked, where and how.
#[derive(Debug)]
pub(crate) struct Probe {
    /// Any of its addresses.
    pub(crate) name: Arc<Name>,
    pub(crate) port: u16,
    /// How it is reached, as its requests reach it.
    pub(crate) transport: Arc<Transport>,
    pub(crate) way: Arc<Way>,
    /// How long all of it may take. Default 5 seconds.
    pub(crate) timeout: Duration,
    /// `None`: it is enough that a connection can be opened.
    pub(crate) http: Option<HttpProbe>,
}

/// A request, and what its answer must be.
pub(crate) struct HttpProbe {
    /// Makes it anew for each check: it may hold the time. `None`: a value is no field value.
    pub(crate) request: Box<dyn Fn() -> Option<Request<Bytes>> + Send + Sync>,
    pub(crate) expected: Expected,
    /// Whether redirects are followed, as far as they stay where the check was sent.
    pub(crate) follows: bool,
}

/// A good answer.
#[derive(Debug)]
pub(crate) struct Expected {
    /// Its status; below 10, any of a class. Default 2, as in 2xx.
    pub(crate) status: u16,
    /// What is found in its body.
    pub(crate) body: Option<Regex>,
    /// How much of the body is looked at. Default 1 MiB.
    pub(crate) max_size: usize,
}

/// Why a check failed.
#[derive(Debug, Error)]
pub(super) enum ProbeError {
    #[error("{}", causes(.0))]
    Failed(Failure),
    #[error("it answered with {}", .0.as_u16())]
    Status(StatusCode),
    #[error("the body of its answer is not the expected one")]
    Body,
    #[error("the body of its answer ended early")]
    Cut,
    #[error("it did not answer the check in time")]
    TimedOut,
    #[error("the check asks for something that no request can hold")]
    NoRequest,
}

/// As in Go, whose rules Caddy follows.
const MOST_REDIRECTS: usize = 10;

// === impl Probe ===

impl Probe {
    /// Makes the check.
    pub(super) async fn run(&self, connector: &Connector, tasks: &Tasks) -> Result<(), ProbeError> {
        let asked = time::timeout(self.timeout, self.ask(connector, tasks));
        asked.await.unwrap_or(Err(ProbeError::TimedOut))
    }

    async fn ask(&self, connector: &Connector, tasks: &Tasks) -> Result<(), ProbeError> {
        let Some(http) = &self.http else {
            return self.connect(connector).await.map(drop);
        };
        let mut request = (http.request)().ok_or(ProbeError::NoRequest)?;
        let mut redirects = 0;
        loop {
            let again = request.clone();
            let response = self.exchange(request, connector, tasks).await?;
            let next = (http.follows && redirects < MOST_REDIRECTS)
                .then(|| redirect::next(&again, &response))
                .flatten();
            let Some(next) = next else {
                return http.expected.judge(response).await;
            };
            redirects += 1;
            request = next;
        }
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        connector: &Connector,
        tasks: &Tasks,
    ) -> Result<Response<Body>, ProbeError> {
        let connected = self.connect(connector).await?;
        let (transport, purpose) = (&self.transport, Purpose::default());
        let key = transport.key(&self.way, connected.address, purpose);
        let limits = &transport.head_limits;
        let channel = Channel::open(connected, key, limits, tasks, None).await?;
        let request = Box::new(request.map(Body::full));
        let answer = channel.send(request, &[], limits, None, |_| {}).await;
        answer.map_err(|error| ProbeError::Failed(error.failure))
    }

    async fn connect(&self, connector: &Connector) -> Result<Connected, ProbeError> {
        let answer = self.name.ready().await;
        if answer.addresses().is_empty() {
            return Err(ProbeError::Failed(Reason::Unresolved.into()));
        }
        let addresses = answer.addresses().iter();
        let addresses = addresses.map(|ip| SocketAddr::new(*ip, self.port));
        let connecting = self
            .transport
            .connect(connector, &self.way, addresses, Purpose::default());
        Ok(connecting.await?)
    }
}

// === impl Expected ===

impl Expected {
    async fn judge(&self, response: Response<Body>) -> Result<(), ProbeError> {
        let status = response.status();
        let code = status.as_u16();
        let is_good = self.status == code || self.status < 10 && self.status == code / 100;
        if !is_good {
            return Err(ProbeError::Status(status));
        }
        let Some(wanted) = &self.body else {
            return Ok(());
        };
        let (mut body, mut read) = (response.into_body(), Vec::new());
        while read.len() < self.max_size
            && let Some(frame) = body.frame().await
        {
            let Ok(frame) = frame else {
                return Err(ProbeError::Cut);
            };
            if let Ok(data) = frame.into_data() {
                let room = self.max_size - read.len();
                read.extend(data.iter().take(room));
            }
        }
        let is_found = wanted.is_match(&String::from_utf8_lossy(&read));
        is_found.then_some(()).ok_or(ProbeError::Body)
    }
}

// === impl HttpProbe ===

impl fmt::Debug for HttpProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is asked for may hold credentials.
        f.debug_struct("HttpProbe")
            .field("expected", &self.expected)
            .field("follows", &self.follows)
            .finish_non_exhaustive()
    }
}

// === impl ProbeError ===

impl From<Failure> for ProbeError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// A failure and what it came from.
fn causes(failure: &Failure) -> String {
    match failure.source() {
        Some(source) => format!("{failure}: {source}"),
        None => failure.to_string(),
    }
}
