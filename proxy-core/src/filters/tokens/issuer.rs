//! What issuers say of themselves: where their keys are, and where they are asked about tokens.

use std::sync::Arc;
use std::time::Duration;

use eskip::filters::Args;
use eskip::routing::ArgsError;
use http::{Method, StatusCode};
use reqwest::{Request, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::keys::{KeySet, is_same};
use crate::filters::outside::{AskError, Outside, Redirects, Server, asked};

/// How long a server has for a document.
const TIMEOUT: Duration = Duration::from_secs(2);

/// No document is longer.
const MOST: usize = 512 * 1024;

/// Where an issuer says it, behind its own URL.
const CONFIGURATION: &str = "/.well-known/openid-configuration";

/// The parts of its OpenID configuration that are of use here.
#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: Option<String>,
    introspection_endpoint: Option<String>,
}

/// The URL of an issuer.
pub(super) fn issuer(args: &mut Args<'_>, outside: &Outside) -> Result<String, ArgsError> {
    // It can be asked, but is known by how it is written.
    outside.server(&mut args.clone(), Redirects::Follow)?;
    args.text("a URL").map(str::to_owned)
}

/// The keys at a URL.
pub(super) async fn keys_at(server: Server) -> Result<KeySet, AskError> {
    let text = document(server).await?;
    KeySet::read(&text).ok_or(AskError::Garbage)
}

/// The keys of an issuer.
pub(super) async fn keys_of(issuer: String, outside: Arc<Outside>) -> Result<KeySet, AskError> {
    let said: Configuration = configuration(&issuer, &outside).await?;
    let keys = place(&issuer, said.jwks_uri, &outside, Redirects::Follow)?;
    keys_at(keys).await
}

/// Where an issuer is asked about tokens.
pub(super) async fn introspection_of(issuer: String, outside: Arc<Outside>) -> Result<Server, AskError> {
    let said: Configuration = configuration(&issuer, &outside).await?;
    // A token must not go elsewhere.
    place(&issuer, said.introspection_endpoint, &outside, Redirects::Stay)
}

async fn configuration(issuer: &str, outside: &Outside) -> Result<Configuration, AskError> {
    let url = format!("{}{CONFIGURATION}", issuer.trim_end_matches('/'));
    let server = outside.server_at(&url, Redirects::Follow);
    let said: Configuration = json(server.map_err(|_| AskError::Garbage)?).await?;
    // One that speaks for somebody else is not believed.
    if is_same(&said.issuer, issuer) {
        Ok(said)
    } else {
        Err(AskError::Garbage)
    }
}

/// The server of a URL that an issuer gives. One that is spoken to by TLS does not lead to one that is not.
fn place(
    issuer: &str,
    url: Option<String>,
    outside: &Outside,
    redirects: Redirects,
) -> Result<Server, AskError> {
    let is_secure = |url: &str| Url::parse(url).is_ok_and(|url| url.scheme() == "https");
    let url = url.filter(|url| is_secure(url) || !is_secure(issuer));
    let server = url.and_then(|url| outside.server_at(&url, redirects).ok());
    server.ok_or(AskError::Garbage)
}

async fn json<T: DeserializeOwned>(server: Server) -> Result<T, AskError> {
    let text = document(server).await?;
    serde_json::from_slice(&text).map_err(|_| AskError::Garbage)
}

async fn document(server: Server) -> Result<Vec<u8>, AskError> {
    let question = Request::new(Method::GET, server.url);
    match asked(&server.client, question, TIMEOUT, MOST).await? {
        (StatusCode::OK, text) => Ok(text),
        (status, _) => Err(AskError::Status(status)),
    }
}
