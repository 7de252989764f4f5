//! `/routes` and `/replicas`: hosts that sources define, and the documents of the store among them.
//!
//! [`access`] says who may ask, [`place`] what for; each of the others answers some of it. The store is asked for what it
//! has, the sources for what requests get.

mod access;
mod condition;
mod error;
mod list;
mod place;
mod query;
mod read;
mod state;
#[cfg(test)]
mod tests;
mod wait;
mod write;

use std::net::SocketAddr;

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http_body::Body;
use tokio_util::sync::CancellationToken;

use self::place::{Place, Want};
use super::body::Room;
use super::reply::Reply;
use crate::control::SourcesApi;

/// The longest body: a document of 1 MiB.
const MAX_BODY: usize = 1024 * 1024;

/// A request to this part of the API.
#[derive(Debug)]
pub(super) struct Ask<'r> {
    pub(super) head: &'r Parts,
    /// The path in its plain form, decoded.
    pub(super) path: &'r str,
    /// Who asks; `None` over a unix socket.
    pub(super) peer: Option<SocketAddr>,
    pub(super) room: &'r Room,
    /// Cancelled when the process is to end.
    pub(super) stop: &'r CancellationToken,
}

/// Why there is no answer but this.
type Refused = Box<Reply>;

/// Whether a request for another part of the API is refused, since it comes from elsewhere: where tokens let others in, they are
/// let in to routes alone. Whoever could read or load a configuration would need no token.
pub(super) fn stranger(api: Option<&SourcesApi>, peer: Option<SocketAddr>) -> Option<Reply> {
    let has_tokens = api.is_some_and(|api| !api.tokens.is_empty());
    (has_tokens && !access::is_here(peer)).then(|| {
        let error =
            "from elsewhere only /routes, /replicas and /metrics may be asked, as tokens are for these";
        Reply::error(StatusCode::FORBIDDEN, error)
    })
}

/// Answers a request. Without `api`, the configuration has no sources.
pub(super) async fn answer<B>(api: Option<&SourcesApi>, ask: Ask<'_>, body: B) -> Reply
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    try_answer(api, ask, body)
        .await
        .unwrap_or_else(|refused| *refused)
}

async fn try_answer<B>(api: Option<&SourcesApi>, ask: Ask<'_>, body: B) -> Result<Reply, Refused>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Who asks comes first: strangers hear nothing of what there is.
    let caller = access::caller(api.map(|api| &*api.tokens), ask.peer, &ask.head.headers)?;
    let want = Want::of(&ask.head.method, ask.path)?;
    caller.may(want.needs())?;
    let api = api.ok_or_else(error::no_sources)?;
    match want {
        Want::Read(place) => read(api, &ask, place).await,
        Want::Validate => {
            let document = body_of(&ask, body).await?;
            write::validate(api, &document).await
        }
        Want::Put(host) => {
            let document = body_of(&ask, body).await?;
            write::put(api, &ask, &caller, &host, &document).await
        }
        Want::Delete(host) => write::delete(api, &ask, &caller, &host).await,
        Want::Rollback(host) => {
            let wanted = body_of(&ask, body).await?;
            write::rollback(api, &ask, &caller, &host, &wanted).await
        }
        Want::Forget(host) => state::forget(api, &host),
        Want::AcceptLoss => state::accept_loss(api),
    }
}

async fn read(api: &SourcesApi, ask: &Ask<'_>, place: Place) -> Result<Reply, Refused> {
    match place {
        Place::List => list::hosts(api, &ask.head.uri).await,
        Place::Documents => list::documents(api, &ask.head.uri).await,
        Place::Status => state::status(api).await,
        Place::Replicas => state::replicas(api).await,
        Place::One(host) => read::one(api, &ask.head.headers, &host).await,
        Place::History(host) => read::history(api, &ask.head.uri, &host).await,
        Place::Version(host, version) => read::version(api, &host, version).await,
    }
}

/// The body, whole.
async fn body_of<B>(ask: &Ask<'_>, body: B) -> Result<Bytes, Refused>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let content_type = ask.head.headers.get(header::CONTENT_TYPE);
    let is_json = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("/json"));
    if !content_type.is_some_and(is_json) {
        let what = "what is sent is a document of JSON; say so with `Content-Type: application/json`";
        return Err(closing(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
    }
    let read = ask.room.read_at_most(body, MAX_BODY).await;
    read.map_err(|error| {
        let status = if error.is_about_size() {
            StatusCode::PAYLOAD_TOO_LARGE
        } else {
            StatusCode::BAD_REQUEST
        };
        closing(status, &error.to_string())
    })
}

/// What is left of the body is not read.
fn closing(status: StatusCode, error: &str) -> Refused {
    let close = HeaderValue::from_static("close");
    Box::new(Reply::error(status, error).with(header::CONNECTION, close))
}
