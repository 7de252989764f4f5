//! What speaks HTTP with Consul: made anew when its certificates have changed.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::{Client as Http, redirect};
use tracing::{info, warn};

use super::chain;
use super::tls::{self, Elsewhere};
use crate::settings::{Place, SettingError, Tls};

/// A connection without a sign of life is asked for one after this time, and given up after three times as long.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Idle connections that are kept.
const MOST_IDLE: usize = 8;

/// The client of HTTP, for as long as its certificates are those of its files.
pub(super) struct Transport {
    how: How,
    /// What the certificates are read from.
    files: Vec<PathBuf>,
    known: Mutex<(Vec<Stamp>, Http)>,
}

/// How Consul is reached.
pub(super) struct How {
    pub(super) place: Place,
    /// Whether https is spoken.
    pub(super) is_secure: bool,
    pub(super) tls: Tls,
    /// The host that is dialled, if the URL has another one.
    pub(super) host: Option<String>,
}

/// Tells whether a file has changed; none of one that is not there.
type Stamp = Option<(Option<SystemTime>, u64)>;

// === impl Transport ===

impl Transport {
    /// Reads certificates; dials nothing.
    pub(super) fn try_new(how: How) -> Result<Self, SettingError> {
        let tls = &how.tls;
        let files = [&tls.ca, &tls.ca_path, &tls.client_cert, &tls.client_key];
        let files: Vec<PathBuf> = files
            .into_iter()
            .filter(|_| how.is_secure)
            .flatten()
            .cloned()
            .collect();
        let known = Mutex::new((stamps(&files), how.client()?));
        Ok(Self { how, files, known })
    }

    /// The client now. Its files, small ones of this machine, are looked at each time and read when one has changed. If
    /// that fails, the last certificates are used.
    pub(super) fn current(&self) -> Http {
        let stamps = stamps(&self.files);
        let (before, last) = self.known().clone();
        if stamps == before {
            return last;
        }
        let http = match self.how.client() {
            Ok(http) => {
                info!("the certificates for Consul were read again");
                http
            }
            Err(error) => {
                warn!(%error, "the certificates for Consul have changed and are of no use; the last ones are used");
                last
            }
        };
        *self.known() = (stamps, http.clone());
        http
    }

    fn known(&self) -> std::sync::MutexGuard<'_, (Vec<Stamp>, Http)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

// === impl How ===

impl How {
    fn client(&self) -> Result<Http, SettingError> {
        let mut http = Http::builder()
            // Only the address that is configured is asked.
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .http1_only()
            .tcp_keepalive(KEEPALIVE)
            .tcp_keepalive_interval(KEEPALIVE)
            .tcp_keepalive_retries(3)
            .pool_max_idle_per_host(MOST_IDLE)
            .user_agent(concat!("doorway/", env!("CARGO_PKG_VERSION")))
            // Reading the system's authorities is not for nothing.
            .tls_backend_preconfigured(tls::config(&self.tls, self.is_secure)?);
        if let Place::Socket(path) = &self.place {
            http = http.unix_socket(path.as_str());
        }
        if let Some(host) = &self.host {
            http = http.dns_resolver(Elsewhere::new(host));
        }
        http.build().map_err(|error| {
            SettingError::new("address", format!("no client can be made: {}", chain(&error)))
        })
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let metadata = fs::metadata(file).ok()?;
        Some((metadata.modified().ok(), metadata.len()))
    };
    files.iter().map(stamp).collect()
}
