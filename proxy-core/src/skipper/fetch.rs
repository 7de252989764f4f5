//! Routes from a web server.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use reqwest::{Client, StatusCode, Url, redirect};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};

use super::source::MOST;

/// How long a server may take for all of it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Asks a server for routes, and remembers what it had.
#[derive(Debug)]
pub(crate) struct Fetcher {
    url: String,
    client: Option<Client>,
    etag: Option<HeaderValue>,
}

/// What it answered.
pub(crate) enum Fetched {
    /// Nothing has changed.
    Same,
    New(String),
}

// === impl Fetcher ===

impl Fetcher {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            client: None,
            etag: None,
        }
    }

    /// Takes whatever there is the next time.
    pub(crate) fn forget(&mut self) {
        self.etag = None;
    }

    /// Asks, and gives what is new. The server's own address is asked and no other: redirects are an error.
    pub(crate) async fn fetch(&mut self) -> Result<Fetched, String> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => self.client.insert(client()?).clone(),
        };
        let mut request = client.get(&self.url);
        if let Some(etag) = &self.etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let mut response = request.send().await.map_err(|error| failed(&error))?;
        match response.status() {
            StatusCode::NOT_MODIFIED if self.etag.is_some() => return Ok(Fetched::Same),
            StatusCode::OK => {}
            status => return Err(format!("the server answers with {status}")),
        }
        let etag = response.headers().get(ETAG).cloned();
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
            if bytes.len().saturating_add(piece.len()) as u64 > MOST {
                return Err(format!("the answer is longer than {} MiB", MOST >> 20));
            }
            bytes.extend_from_slice(&piece);
        }
        let text = String::from_utf8(bytes).map_err(|_| "the answer is no text".to_owned())?;
        self.etag = etag;
        Ok(Fetched::New(text))
    }
}

fn client() -> Result<Client, String> {
    let mut roots = RootCertStore::empty();
    // Certificates that are none are passed over, as every other program does.
    let _counts = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(tls)
        .timeout(TIMEOUT)
        .referer(false)
        .redirect(redirect::Policy::none())
        .build()
        .map_err(|error| failed(&error))
}

/// An error with its causes, and without the URL, which may hold a secret.
fn failed(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let mut text = match error {
        error if error.is_timeout() => "it takes too long".to_owned(),
        error if error.is_connect() => "cannot connect".to_owned(),
        _ => "the request failed".to_owned(),
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A URL without what may be secret in it.
pub(crate) fn shown(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) => format!(
            "{}://{}{}",
            url.scheme(),
            url.host_str().unwrap_or_default(),
            url.port().map(|port| format!(":{port}")).unwrap_or_default() + url.path()
        ),
        Err(_) => "url".to_owned(),
    }
}
