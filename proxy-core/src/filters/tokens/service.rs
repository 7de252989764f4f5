//! Asks another server about the token of a request.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use eskip::filters::{FilterContext, Flow};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use reqwest::{Body, Request};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{debug, warn};
use zeroize::Zeroizing;

use super::answers::{Answers, Key};
use super::credentials::Credentials;
use super::latest::{Latest, Now};
use super::{Claims, Info, Refusal, bearer};
use crate::filters::bodies::bare;
use crate::filters::outside::{AskError, Server, asked};

/// How long a server has for its answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// No answer is longer.
const MOST: usize = 64 * 1024;

/// How long an answer counts, unless the token expires before.
const BRIEF: Duration = Duration::from_secs(10);

/// Questions that may be under way, of all routes. Whoever comes then is answered with 503.
const MOST_QUESTIONS: usize = 1024;

/// Who is asked, and how.
pub(super) struct Service {
    pub(super) at: At,
    pub(super) around: Arc<Around>,
}

pub(super) enum At {
    /// The server says what there is to say of the token that it is sent.
    Tokeninfo(Server),
    /// RFC 7662.
    Introspection {
        issuer: String,
        endpoint: Arc<Latest<Server>>,
        client: Option<Credentials>,
    },
}

/// What all questions share.
pub(super) struct Around {
    answers: Answers,
    room: Arc<Semaphore>,
}

/// An answer: what is known of a token that is valid, and how long the text was; or that it is not.
type Said = Result<(Info, usize), Refusal>;

// === impl Service ===

impl Service {
    /// Goes on with what the server says of the token.
    pub(super) fn ask(
        self: &Arc<Self>,
        cx: &mut FilterContext<'_>,
        then: impl FnOnce(Result<Info, Refusal>, &mut FilterContext<'_>) -> Flow + Send + 'static,
    ) -> Flow {
        let Some(token) = bearer(&cx.request.headers) else {
            return then(Err(Refusal::Missing), cx);
        };
        let now = cx.env.now();
        let key = self.key(token, now);
        if let Some(info) = self.around.answers.get(&key, now) {
            return then(Ok(info), cx);
        }
        let Ok(permit) = Arc::clone(&self.around.room).try_acquire_owned() else {
            warn!("too many requests wait for what is known of tokens");
            return Flow::serve(bare(StatusCode::SERVICE_UNAVAILABLE));
        };
        let token = Zeroizing::new(token.to_owned());
        let around = Arc::clone(&self.around);
        let asking = Arc::clone(self).answer(token, now, permit);
        Flow::after(asking, move |said: Said, cx| {
            let info = said.map(|(info, bytes)| {
                let left = left(&info.0, cx.env.wall());
                if let Some(until) = cx.env.now().checked_add(left) {
                    around.answers.put(key, info.clone(), bytes, until);
                }
                info
            });
            then(info, cx)
        })
    }

    async fn answer(
        self: Arc<Self>,
        token: Zeroizing<String>,
        now: std::time::Instant,
        permit: OwnedSemaphorePermit,
    ) -> Said {
        let _permit = permit;
        let answer = match &self.at {
            At::Tokeninfo(server) => tokeninfo(server, &token).await,
            At::Introspection { endpoint, client, .. } => {
                let server = match endpoint.now(now) {
                    Now::There(server) => Some(server),
                    Now::Coming(coming) => coming.value().await,
                    Now::Missing => None,
                };
                let Some(server) = server else {
                    return Err(Refusal::Invalid);
                };
                let client = client.as_ref().and_then(|client| client.field(now));
                introspection(&server, client, &token).await
            }
        };
        match answer {
            Ok(Some(said)) => Ok(said),
            Ok(None) => {
                debug!("a token is not valid");
                Err(Refusal::Invalid)
            }
            Err(error) => {
                warn!(%error, "a server does not say whether a token is valid");
                Err(Refusal::Invalid)
            }
        }
    }

    /// Under what an answer is kept: who is asked by whom about which token.
    fn key(&self, token: &str, now: std::time::Instant) -> Key {
        let mut digest = Sha256::new();
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        match &self.at {
            At::Tokeninfo(server) => {
                part(b"tokeninfo");
                part(server.url.as_str().as_bytes());
            }
            At::Introspection { issuer, client, .. } => {
                part(b"introspection");
                part(issuer.as_bytes());
                part(
                    client
                        .as_ref()
                        .map(|client| client.id(now))
                        .unwrap_or_default()
                        .as_bytes(),
                );
            }
        }
        part(token.as_bytes());
        digest.finalize().into()
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Default for Around {
    fn default() -> Self {
        Self {
            answers: Answers::default(),
            room: Arc::new(Semaphore::new(MOST_QUESTIONS)),
        }
    }
}

async fn tokeninfo(server: &Server, token: &str) -> Result<Option<(Info, usize)>, AskError> {
    let mut question = Request::new(Method::GET, server.url.clone());
    let value = Zeroizing::new(format!("Bearer {token}"));
    let Ok(mut value) = HeaderValue::from_str(&value) else {
        return Ok(None);
    };
    value.set_sensitive(true);
    question.headers_mut().insert(AUTHORIZATION, value);
    match asked(&server.client, question, TIMEOUT, MOST).await? {
        (StatusCode::OK, text) => Ok(Some((claims(&text)?, text.len()))),
        // Its fault or that of the token, which is as good as no token then.
        (status, _) if status.is_client_error() => Ok(None),
        (status, _) => Err(AskError::Status(status)),
    }
}

async fn introspection(
    server: &Server,
    client: Option<HeaderValue>,
    token: &str,
) -> Result<Option<(Info, usize)>, AskError> {
    let mut question = Request::new(Method::POST, server.url.clone());
    *question.body_mut() = Some(Body::from(form(token)));
    let fields = question.headers_mut();
    fields.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-www-form-urlencoded"),
    );
    fields.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(client) = client {
        fields.insert(AUTHORIZATION, client);
    }
    match asked(&server.client, question, TIMEOUT, MOST).await? {
        (StatusCode::OK, text) => {
            let info = claims(&text)?;
            let is_active = info.0.get("active") == Some(&Value::Bool(true));
            Ok(is_active.then_some((info, text.len())))
        }
        // Also 401, which says that the proxy is not known: whoever runs it must hear of that.
        (status, _) => Err(AskError::Status(status)),
    }
}

/// The only field of a form.
fn form(token: &str) -> String {
    let mut text = "token=".to_owned();
    for byte in token.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _infallible = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn claims(text: &[u8]) -> Result<Info, AskError> {
    let claims: Claims = serde_json::from_slice(text).map_err(|_| AskError::Garbage)?;
    Ok(Info::new(claims))
}

/// How long an answer counts: briefly, and no longer than the token.
fn left(claims: &Claims, wall: SystemTime) -> Duration {
    let number = |name| claims.get(name).and_then(Value::as_f64);
    let since = wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let left = number("expires_in").or_else(|| number("exp").map(|exp| exp - since));
    let left = left.map(|left| Duration::try_from_secs_f64(left.max(0.0)).unwrap_or(BRIEF));
    left.map_or(BRIEF, |left| left.min(BRIEF))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_counts_no_longer_than_its_token() {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        for (claims, expected) in [
            (json!({}), 10),
            (json!({"expires_in": 3}), 3),
            (json!({"expires_in": 3600}), 10),
            (json!({"expires_in": -1}), 0),
            (json!({"expires_in": 1e300}), 10),
            (json!({"exp": 1004}), 4),
            (json!({"exp": 900}), 0),
            (json!({"exp": "soon"}), 10),
        ] {
            let left = left(claims.as_object().unwrap(), now);
            assert_eq!(left, Duration::from_secs(expected), "{claims}");
        }
    }

    #[test]
    fn a_token_stays_one_field_of_its_form() {
        assert_eq!(form("a.b-c_d~e"), "token=a.b-c_d~e");
        assert_eq!(form("a&b=c+d/"), "token=a%26b%3Dc%2Bd%2F");
    }
}
