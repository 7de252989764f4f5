//! What an updater is told.

use std::{fmt, path::PathBuf, time::Duration};

use crate::archive::Limits;

/// The archive of ipverse/geo-ip-blocks, renewed daily.
pub const DEFAULT_URL: &str = "https://github.com/ipverse/geo-ip-blocks/archive/refs/heads/master.tar.gz";

/// Waits beyond this are mistakes.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How an updater works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the archive is; [`DEFAULT_URL`].
    pub url: String,
    /// The time between two requests that succeed, give or take a tenth; 24 hours.
    pub interval: Duration,
    /// The wait after the first failure, give or take a tenth; it doubles with each further one. 30 seconds.
    pub retry: Duration,
    /// The longest wait after failures; an hour.
    pub longest_retry: Duration,
    /// The limit for one request, from the connection to the last byte; 30 seconds.
    pub timeout: Duration,
    /// Where the last good archive is kept; made if it is not there. `None`, the default, keeps it nowhere.
    pub directory: Option<PathBuf>,
    /// What an archive may hold.
    pub limits: Limits,
    /// Takes an archive although it lost more than half of its prefixes; no.
    pub force: bool,
    /// The proxies to go by; none.
    pub proxies: Proxies,
    /// The User-Agent of requests; `doorway/` and the version.
    pub user_agent: String,
}

/// HTTP proxies, as environments name them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` URLs.
    pub http: Option<String>,
    /// For `https` URLs.
    pub https: Option<String>,
    /// For both, unless they have their own.
    pub all: Option<String>,
    /// Hosts that are asked directly: names, suffixes, addresses and networks, separated by commas.
    pub except: Option<String>,
}

/// A setting that is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Not an `http` or `https` URL with a host.
    #[error("the archive's address is no http or https URL")]
    Url,
    /// A wait or limit that is 0, or longer than a year.
    #[error("an interval must be longer than nothing and at most a year")]
    Interval,
    /// A proxy that is no URL.
    #[error("a proxy's address is no URL")]
    Proxy,
    /// The client could not be made of the settings.
    #[error("cannot make a client: {0}")]
    Client(String),
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: DEFAULT_URL.to_owned(),
            interval: Duration::from_secs(24 * 60 * 60),
            retry: Duration::from_secs(30),
            longest_retry: Duration::from_secs(60 * 60),
            timeout: Duration::from_secs(30),
            directory: None,
            limits: Limits::default(),
            force: false,
            proxies: Proxies::default(),
            user_agent: concat!("doorway/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let waits = [self.interval, self.retry, self.longest_retry, self.timeout];
        if waits.iter().any(|wait| wait.is_zero() || *wait > LONGEST_WAIT) {
            return Err(SettingsError::Interval);
        }
        Ok(())
    }
}

// === impl Proxies ===

impl Proxies {
    /// The proxies of an environment: `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, or the same in upper
    /// case. `var` tells the value of a variable.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            var(name)
                .or_else(|| var(&name.to_ascii_uppercase()))
                .filter(|value| !value.is_empty())
        };
        Self {
            http: either("http_proxy"),
            https: either("https_proxy"),
            all: either("all_proxy"),
            except: either("no_proxy"),
        }
    }
}

impl fmt::Debug for Proxies {
    /// Which there are; their addresses may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("except", &self.except)
            .finish()
    }
}
