//! What a configuration would do with a request, without sending anything.
//!
//! The request takes the steps of a real one through the same compiled routes; somebody listens, and where a real one
//! would be sent, this one ends.

mod names;
mod recorder;
mod report;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use caddy_config as model;
use http::header::HeaderMap;
use http::{Method, Request, Uri, header};
use thiserror::Error;

use self::names::Names;
use self::recorder::Recorder;
pub use self::report::{Destination, Explanation, Outcome, Refusal, Skipped, Step};
use crate::body::Body;
use crate::config::BuildErrors;
use crate::config::compile::{self, Compiled, Planned, Surroundings};
use crate::forward::rehearsal::rehearse;
use crate::forward::view::View;
use crate::forward::worker::Worker;
use crate::http::connection::Connection;
use crate::snapshot::Snapshot;

/// A request to be explained.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// Its method.
    pub method: Method,
    /// An absolute URL: its scheme and port choose the listener, its host the site.
    pub url: Uri,
    /// Its fields. A `Host` takes the place of the URL's.
    pub headers: HeaderMap,
    /// The peer's address.
    pub from: IpAddr,
}

/// Why there is nothing to explain.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The configuration would not run.
    #[error(transparent)]
    Config(#[from] BuildErrors),
    /// The URL is not `http://host[:port]/path` or `https://..`.
    #[error("not an absolute URL such as https://example.com/path")]
    Url,
    /// Nobody would take the connection.
    #[error("no server listens on port {port} {}", alternatives(.listening))]
    NoListener {
        /// The port of the URL.
        port: u16,
        /// Where servers do listen.
        listening: Vec<String>,
    },
}

/// Explains one request.
///
/// # Errors
///
/// A configuration that would not run, or a URL that no server would get.
pub(crate) async fn explain(
    config: &model::Config,
    surroundings: &Surroundings,
    inquiry: &Inquiry,
) -> Result<Explanation, ExplainError> {
    let (tls, port) = scheme_and_port(&inquiry.url).ok_or(ExplainError::Url)?;
    let quiet = without_logs(config);
    let Compiled {
        view,
        tables,
        listeners,
        ..
    } = compile::compile(&quiet, surroundings)?;
    let view = View::new(view, tables);
    let listener = listener(&listeners, tls, port).ok_or_else(|| ExplainError::NoListener {
        port,
        listening: listeners.iter().map(|one| one.address.to_string()).collect(),
    })?;
    surroundings.geo.watch(&view.geo);
    surroundings.geo.restore().await;
    let request = request(inquiry).ok_or(ExplainError::Url)?;
    let connection = Connection::new(SocketAddr::new(inquiry.from, 0), listener.entry.tls.is_some());
    let views = Arc::new(Snapshot::new(View::default()));
    let worker = Worker::new(
        0,
        views,
        Arc::clone(&surroundings.metrics),
        Arc::clone(surroundings.resolvers.places()),
    );
    let server = view.servers.get(listener.entry.server).ok_or(ExplainError::Url)?;
    let names = Names::of(&quiet, &view, server);
    let recorder = Recorder::new(&names);
    let ending = rehearse(
        (&worker, &view, server),
        &connection,
        request,
        &recorder,
        |destination| recorder.assumed(destination),
    )
    .await;
    let (steps, outcome) = recorder.finish(ending);
    Ok(Explanation {
        method: inquiry.method.to_string(),
        url: report::masked(&inquiry.url.to_string()),
        server: server.name.clone(),
        listener: listener.address.to_string(),
        steps,
        outcome,
    })
}

/// The access log of a request that never was says nothing.
fn without_logs(config: &model::Config) -> model::Config {
    let mut quiet = config.clone();
    quiet.logging = None;
    let servers = quiet
        .apps
        .http
        .iter_mut()
        .flat_map(|app| app.servers.values_mut());
    servers.for_each(|server| server.logs = None);
    quiet
}

fn scheme_and_port(url: &Uri) -> Option<(bool, u16)> {
    let tls = match url.scheme_str()? {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let default = if tls { 443 } else { 80 };
    Some((tls, url.port_u16().unwrap_or(default)))
}

/// The listener on this port, one that speaks as the URL asks first.
fn listener(listeners: &[Planned], tls: bool, port: u16) -> Option<&Planned> {
    let on_port = || listeners.iter().filter(|one| one.address.port() == Some(port));
    on_port()
        .find(|one| one.entry.tls.is_some() == tls)
        .or_else(|| on_port().next())
}

fn request(inquiry: &Inquiry) -> Option<Request<Body>> {
    let authority = inquiry.url.authority()?;
    let target = inquiry.url.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::builder()
        .method(inquiry.method.clone())
        .uri(target)
        .body(Body::empty())
        .ok()?;
    let host = authority.as_str().rsplit('@').next().unwrap_or_default();
    request.headers_mut().insert(header::HOST, host.parse().ok()?);
    let mut last = None;
    for (name, value) in inquiry.headers.clone() {
        // The first of several of one name has the name.
        let first = name.is_some();
        last = name.or(last);
        let Some(name) = &last else { continue };
        if first && name == header::HOST {
            request.headers_mut().insert(name, value);
        } else {
            request.headers_mut().append(name, value);
        }
    }
    Some(request)
}

fn alternatives(listening: &[String]) -> String {
    if listening.is_empty() {
        return "(or anywhere)".to_owned();
    }
    format!("(but on {})", listening.join(", "))
}
