//! What a source of instances is told.

mod address;
mod environment;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub(crate) use self::address::{Address, Place};
use crate::locality::Locality;
use crate::secret::Secret;

/// Waits beyond this are mistakes.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Where Consul is, and how its answers are used. The default asks the agent of this machine.
///
/// Which service is asked for is said with each look-up: one source serves many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `http://`, `https://` with a host, and perhaps a port and a path before Consul's own; `unix://` and a path; or
    /// only a host, for http. `None`: `http://127.0.0.1:8500`.
    pub address: Option<String>,
    /// The time for which an answer is used before Consul is asked again; one minute. 0 stands for the default.
    pub refresh: Duration,
    /// After a failure the last answer is used for so long before the next try, as often as that fails; 0, the default,
    /// does not use it.
    pub grace_period: Duration,
    /// Prefers instances nearby; none.
    pub locality: Option<Locality>,
    /// Sent as `X-Consul-Token`; none.
    pub token: Option<Secret>,
    /// A file that holds the token, read again when it changes; it goes before [`Settings::token`].
    pub token_file: Option<PathBuf>,
    /// A user and a password for HTTP's own authentication, as `user:password`; none.
    pub basic_auth: Option<Secret>,
    /// How https is spoken.
    pub tls: Tls,
    /// The datacenter that is asked; the agent's own.
    pub datacenter: Option<String>,
    /// The namespace, of Consul Enterprise.
    pub namespace: Option<String>,
    /// The admin partition, of Consul Enterprise.
    pub partition: Option<String>,
    /// Only instances with this tag.
    pub tag: Option<String>,
    /// Any server may answer, though it be some time behind: elections do no harm, and the leader has less to do. Off.
    pub stale: bool,
    /// The limit for one answer, from the connection to the last byte; 5 seconds. 0 stands for the default.
    pub timeout: Duration,
    /// Keeps the answers for names in use fresh with blocking queries, so that a change arrives at once. Off.
    pub watch: bool,
}

/// How https is spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// A file of authorities in PEM, in place of the system's.
    pub ca: Option<PathBuf>,
    /// A directory of such files.
    pub ca_path: Option<PathBuf>,
    /// The client's certificate in PEM, with [`Tls::client_key`].
    pub client_cert: Option<PathBuf>,
    /// Its key in PEM.
    pub client_key: Option<PathBuf>,
    /// The name that the server's certificate must be for, in place of the address's host.
    pub server_name: Option<String>,
    /// Believes any certificate. Only for tests.
    pub insecure: bool,
}

/// A setting that is of no use: its name, and what is wrong with it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {problem}")]
pub struct SettingError {
    field: &'static str,
    problem: String,
}

/// All that is wrong with some settings.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SettingsError(Vec<SettingError>);

/// Settings that were checked.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) address: Address,
    pub(crate) refresh: Duration,
    pub(crate) grace: Duration,
    pub(crate) timeout: Duration,
    pub(crate) settings: Settings,
}

// === impl Settings ===

impl Settings {
    /// The default of `refresh`.
    pub const REFRESH: Duration = Duration::from_secs(60);

    /// The default of `timeout`.
    pub const TIMEOUT: Duration = Duration::from_secs(5);

    /// What is wrong with them; nothing is read or asked.
    ///
    /// # Errors
    ///
    /// All that is wrong.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.checked().map(drop)
    }

    pub(crate) fn checked(&self) -> Result<Checked, SettingsError> {
        let mut errors = Vec::new();
        let mut wrong = |field, problem: &str| errors.push(SettingError::new(field, problem));
        for (field, time) in [
            ("refresh", self.refresh),
            ("grace_period", self.grace_period),
            ("timeout", self.timeout),
        ] {
            if time > LONGEST_WAIT {
                wrong(field, "it must be at most a year");
            }
        }
        if let Some(locality) = &self.locality {
            if locality.node_meta.trim().is_empty() {
                wrong("locality.node_meta", "it is required");
            }
            if locality.local_value.trim().is_empty() {
                wrong("locality.local_value", "it is required");
            }
        }
        if self.tls.client_cert.is_some() != self.tls.client_key.is_some() {
            wrong(
                "tls",
                "a client certificate needs its key, and a key its certificate",
            );
        }
        if self
            .token
            .as_ref()
            .is_some_and(|token| !is_field_value(token.expose()))
        {
            wrong("token", "it holds characters that no token has");
        }
        let given = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        for (field, value) in [
            ("datacenter", &self.datacenter),
            ("namespace", &self.namespace),
            ("partition", &self.partition),
            ("tag", &self.tag),
            ("tls.server_name", &self.tls.server_name),
        ] {
            if given(value) {
                wrong(field, "it is empty");
            }
        }
        let address = Address::parse(self.address.as_deref().unwrap_or("")).map_err(|problem| {
            wrong("address", problem);
        });
        match address {
            Ok(address) if errors.is_empty() => Ok(Checked {
                address,
                refresh: or(self.refresh, Self::REFRESH),
                grace: self.grace_period,
                timeout: or(self.timeout, Self::TIMEOUT),
                settings: self.clone(),
            }),
            _ => Err(SettingsError(errors)),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: None,
            refresh: Self::REFRESH,
            grace_period: Duration::ZERO,
            locality: None,
            token: None,
            token_file: None,
            basic_auth: None,
            tls: Tls::default(),
            datacenter: None,
            namespace: None,
            partition: None,
            tag: None,
            stale: false,
            timeout: Self::TIMEOUT,
            watch: false,
        }
    }
}

// === impl SettingError ===

impl SettingError {
    pub(crate) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self { field, problem }
    }

    /// The setting's name, such as `locality.node_meta`.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

// === impl SettingsError ===

impl SettingsError {
    /// Each of them.
    pub fn errors(&self) -> &[SettingError] {
        &self.0
    }
}

impl From<SettingError> for SettingsError {
    fn from(error: SettingError) -> Self {
        Self(vec![error])
    }
}

/// Whether a token can be sent: visible ASCII.
pub(crate) fn is_field_value(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn or(given: Duration, default: Duration) -> Duration {
    if given.is_zero() { default } else { given }
}
