//! One request for the archive.

use std::{
    error::Error,
    io::{self, Read},
    sync::Arc,
};

use reqwest::{
    Client, NoProxy, Proxy, Response, StatusCode, Url,
    header::{ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
    redirect::{self, Attempt},
};
use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};
use serde::{Deserialize, Serialize};

use super::{Proxies, Settings, SettingsError, UpdateError};

/// Redirects beyond this many are an error.
const MOST_REDIRECTS: usize = 5;

/// Buffers of an archive are at least this large, but for the last.
const PIECE: usize = 64 * 1024;

/// Longer validators are not kept.
const LONGEST_VALIDATOR: usize = 1024;

/// Asks for the archive.
#[derive(Debug)]
pub(super) struct Fetcher {
    client: Client,
    url: Url,
    shown: String,
}

/// How much of the archive has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes so far.
    pub received: u64,
    /// Bytes in all, if the server said so.
    pub total: Option<u64>,
}

/// What a server gave to recognise an archive by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Validators {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
}

/// What a server answered.
pub(super) enum Answer {
    NotModified,
    New(Download),
}

/// An archive as it arrived, in pieces.
pub(super) struct Download {
    pieces: Vec<Vec<u8>>,
    pub(super) validators: Validators,
}

// === impl Fetcher ===

impl Fetcher {
    pub(super) fn try_new(settings: &Settings) -> Result<Self, SettingsError> {
        let url = Url::parse(&settings.url).map_err(|_| SettingsError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(SettingsError::Url);
        }
        let mut client = Client::builder()
            .no_proxy()
            .tls_backend_preconfigured(tls()?)
            .user_agent(&settings.user_agent)
            .timeout(settings.timeout)
            .referer(false)
            .redirect(redirect::Policy::custom(follow));
        for proxy in proxies(&settings.proxies)? {
            client = client.proxy(proxy);
        }
        let client = client
            .build()
            .map_err(|error| SettingsError::Client(chain(&error)))?;
        Ok(Self {
            client,
            shown: shown(&url),
            url,
        })
    }

    /// Where the archive is, without what may be secret in it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) async fn fetch(
        &self,
        validators: &Validators,
        most: u64,
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Answer, UpdateError> {
        let mut request = self.client.get(self.url.clone());
        if let Some(etag) = &validators.etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(date) = &validators.last_modified {
            request = request.header(IF_MODIFIED_SINCE, date);
        }
        let response = request.send().await.map_err(failed)?;
        match response.status() {
            StatusCode::OK => download(response, most, progress).await.map(Answer::New),
            StatusCode::NOT_MODIFIED if *validators == Validators::default() => Err(UpdateError::NotModified),
            StatusCode::NOT_MODIFIED => Ok(Answer::NotModified),
            status => Err(UpdateError::Status(status.as_u16())),
        }
    }
}

async fn download(
    mut response: Response,
    most: u64,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Download, UpdateError> {
    let total = response.content_length();
    if total.is_some_and(|total| total > most) {
        return Err(UpdateError::Large);
    }
    let header = |name: HeaderName| {
        let value = response.headers().get(name)?.to_str().ok()?;
        (value.len() <= LONGEST_VALIDATOR).then(|| value.to_owned())
    };
    let validators = Validators {
        etag: header(ETAG),
        last_modified: header(LAST_MODIFIED),
    };
    let mut pieces = Vec::new();
    let mut received: u64 = 0;
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        received = received.saturating_add(piece.len() as u64);
        if received > most {
            return Err(UpdateError::Large);
        }
        gather(&mut pieces, &piece);
        progress(Progress { received, total });
    }
    Ok(Download { pieces, validators })
}

/// Appends what arrived. Small pieces share one buffer: a server that sends byte by byte costs no more memory.
fn gather(pieces: &mut Vec<Vec<u8>>, arrived: &[u8]) {
    match pieces.last_mut() {
        Some(last) if last.len() < PIECE => last.extend_from_slice(arrived),
        _ => {
            let mut piece = Vec::with_capacity(PIECE.max(arrived.len()));
            piece.extend_from_slice(arrived);
            pieces.push(piece);
        }
    }
}

fn follow(attempt: Attempt<'_>) -> redirect::Action {
    let hops = attempt.previous().len();
    let from = attempt.previous().last().map_or("https", Url::scheme);
    match may_follow(hops, from, attempt.url().scheme()) {
        Ok(()) => attempt.follow(),
        Err(why) => attempt.error(why),
    }
}

/// Whether the `hops`th redirect may lead from one scheme to another.
fn may_follow(hops: usize, from: &str, to: &str) -> Result<(), &'static str> {
    match (from, to) {
        _ if hops > MOST_REDIRECTS => Err("more than 5 redirects"),
        (_, "https") | ("http", "http") => Ok(()),
        _ => Err("a redirect leads from https to a scheme without protection"),
    }
}

fn tls() -> Result<ClientConfig, SettingsError> {
    let mut roots = RootCertStore::empty();
    // A system without authorities can still fetch over http, and the failure of https says what is missing.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| SettingsError::Client(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn proxies(settings: &Proxies) -> Result<Vec<Proxy>, SettingsError> {
    let except = settings.except.as_deref().and_then(NoProxy::from_string);
    let made = [
        settings.https.as_ref().map(Proxy::https),
        settings.http.as_ref().map(Proxy::http),
        settings.all.as_ref().map(Proxy::all),
    ];
    made.into_iter()
        .flatten()
        .map(|proxy| {
            let proxy = proxy.map_err(|_| SettingsError::Proxy)?;
            Ok(proxy.no_proxy(except.clone()))
        })
        .collect()
}

/// A URL without what may be secret in it: user, password and query. What is no URL is not shown at all.
pub fn without_secrets(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "(no URL)".to_owned(), |url| shown(&url))
}

fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// The URL may hold a secret, and the operator knows it.
fn failed(error: reqwest::Error) -> UpdateError {
    UpdateError::Fetch(chain(&error.without_url()))
}

/// An error and what caused it, as one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

// === impl Download ===

impl Download {
    /// The bytes in order, from the first.
    pub(super) fn reader(&self) -> impl Read + '_ {
        Pieces {
            piece: &[],
            rest: self.pieces.iter(),
        }
    }
}

/// Reads piece after piece.
struct Pieces<'a, I> {
    piece: &'a [u8],
    rest: I,
}

impl<'a, I: Iterator<Item = &'a Vec<u8>>> Read for Pieces<'a, I> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(next) = self.rest.next() else {
                return Ok(0);
            };
            self.piece = next;
        }
        self.piece.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_few_and_never_lead_away_from_https() {
        for (from, to) in [("http", "http"), ("http", "https"), ("https", "https")] {
            assert!(may_follow(1, from, to).is_ok() && may_follow(5, from, to).is_ok());
            assert!(may_follow(6, from, to).is_err());
        }
        for (from, to) in [("https", "http"), ("https", "file"), ("http", "file")] {
            assert!(may_follow(1, from, to).is_err(), "{from} {to}");
        }
    }

    #[test]
    fn pieces_are_gathered_in_order_and_few() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|at| at.to_be_bytes()[3]).collect();
        for step in [1, 7, 70_000, 200_000] {
            let mut pieces = Vec::new();
            bytes
                .chunks(step)
                .for_each(|arrived| gather(&mut pieces, arrived));
            assert!(pieces.len() <= 4, "{} pieces of {step} bytes", pieces.len());
            let validators = Validators::default();
            let mut read = Vec::new();
            Download { pieces, validators }
                .reader()
                .read_to_end(&mut read)
                .unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        let url = Url::parse("https://user:secret@a.test:8443/x.tar.gz?token=secret#secret").unwrap();
        assert_eq!(shown(&url), "https://a.test:8443/x.tar.gz");
    }
}
