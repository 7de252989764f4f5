//! The store that replicas share.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use serde::{Serialize, Serializer};

use crate::{check::route_sources as check, model::http::nanos};

/// A store of routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteStore {
    /// `type` in JSON.
    #[serde(rename = "type")]
    pub kind: StoreKind,
    /// Where it is; `None` for [`StoreKind::Memory`] alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<StoreUrl>,
    /// The time between two looks at its revision, beside what it tells by itself, at least 10 ms; nanoseconds in JSON. `None` is
    /// 10 seconds. A replica that said nothing for three of them is forgotten.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub sync_interval: Option<Duration>,
    /// What its keys or tables begin with: 1 to 40 lower case letters, digits and `_`, a letter first; `None` is `doorway`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// How many versions of a host are kept, at least one; `None` is 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<u32>,
    /// What happens when it has lost what it held; `None` is [`DataLoss::Keep`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_loss: Option<DataLoss>,
    /// What happens with documents that a newer version wrote; `None` is [`NewerDocuments::Keep`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer: Option<NewerDocuments>,
    /// Where the routes that were applied last are kept, for a start while the store is away; `None` is a file below the data
    /// directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<RouteSnapshot>,
    /// What tells this replica from all others; `None` is the name of the machine and something random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_id: Option<String>,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StoreKind {
    /// The memory of this process: gone when it ends.
    Memory,
    /// Redis, or what speaks its protocol.
    Redis,
    /// A file of SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// Where a store is, perhaps with a password: `Debug` shows the scheme alone, serialising everything.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    kind: StoreKind,
    text: String,
}

/// Why a text is no [`StoreUrl`]. It shows nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// No scheme of a store, nor one variable of the environment.
    #[error("this is not where a store is")]
    Scheme,
    /// Nothing behind the scheme.
    #[error("this does not say where the store is")]
    Nowhere,
    /// White space, a control character, or a brace.
    #[error("this has characters that stand in no URL")]
    Characters,
}

/// What happens when a store has lost what it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DataLoss {
    /// The routes that were there are served on, until someone says that it was meant.
    Keep,
    /// They are written into the store again.
    Restore,
    /// What the store has counts, and be it nothing.
    Accept,
}

/// What happens with documents that a newer version of the proxy wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NewerDocuments {
    /// The last version that could be read is served on; if there is none, 503.
    Keep,
    /// Requests get 503.
    Unavailable,
}

/// Where the routes that were applied last are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteSnapshot {
    /// Nowhere; `off` in a configuration.
    Off,
    /// In this file.
    File(PathBuf),
}

// === impl StoreKind ===

impl StoreKind {
    pub(crate) const WORDS: [(&'static str, Self); 4] = [
        ("memory", Self::Memory),
        ("redis", Self::Redis),
        ("sqlite", Self::Sqlite),
        ("postgres", Self::Postgres),
    ];

    /// The kind in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Redis => "redis",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// What a URL of the kind begins with.
    const fn schemes(self) -> &'static [&'static str] {
        match self {
            Self::Memory => &[],
            Self::Redis => &["redis://", "rediss://"],
            Self::Sqlite => &["sqlite://", "sqlite:"],
            Self::Postgres => &["postgres://", "postgresql://"],
        }
    }

    /// What a URL of the kind looks like.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Memory => "remove it: the memory of the process has no URL",
            Self::Redis => {
                "write it like redis://127.0.0.1:6379/0 or rediss://user:password@redis.example.com"
            }
            Self::Sqlite => "write it like sqlite:/var/lib/doorway/routes.db",
            Self::Postgres => "write it like postgres://user:password@db.example.com/doorway",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl StoreUrl ===

impl StoreUrl {
    /// Where a store of this kind is. `{env.NAME}` alone stands for what the variable has when the proxy starts.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn of(kind: StoreKind, text: &str) -> Result<Self, StoreUrlError> {
        let url = Self {
            kind,
            text: text.to_owned(),
        };
        if url.variable().is_some() {
            return Ok(url);
        }
        let rest = kind.schemes().iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or(StoreUrlError::Scheme)?;
        if text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || "{}".contains(c))
        {
            return Err(StoreUrlError::Characters);
        }
        match rest {
            "" | "/" => Err(StoreUrlError::Nowhere),
            _ => Ok(url),
        }
    }

    /// The kind of the store.
    #[must_use]
    pub const fn kind(&self) -> StoreKind {
        self.kind
    }

    /// The URL itself, perhaps with a password. Keep it out of logs and errors.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The variable of the environment that holds the URL, if it is not written itself.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        check::variable(&self.text)
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    /// The kind follows from the scheme, so a variable of the environment is none here.
    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let has = |kind: &StoreKind| kind.schemes().iter().any(|scheme| text.starts_with(scheme));
        let mut kinds = StoreKind::WORDS.into_iter().map(|(_, kind)| kind);
        let kind = kinds.find(has).ok_or(StoreUrlError::Scheme)?;
        Self::of(kind, text)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.kind.schemes().iter();
        let scheme = schemes.copied().find(|scheme| self.text.starts_with(scheme));
        write!(f, "StoreUrl({}..)", scheme.unwrap_or_default())
    }
}

impl Serialize for StoreUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

// === impl DataLoss ===

impl DataLoss {
    pub(crate) const WORDS: [(&'static str, Self); 3] = [
        ("keep", Self::Keep),
        ("restore", Self::Restore),
        ("accept", Self::Accept),
    ];
}

// === impl NewerDocuments ===

impl NewerDocuments {
    pub(crate) const WORDS: [(&'static str, Self); 2] =
        [("keep", Self::Keep), ("unavailable", Self::Unavailable)];
}

// === impl RouteSnapshot ===

impl RouteSnapshot {
    pub(crate) fn named(text: &str) -> Self {
        match text {
            "off" => Self::Off,
            path => Self::File(path.into()),
        }
    }
}

impl Serialize for RouteSnapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::File(path) => path.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{StoreKind, StoreUrl, StoreUrlError};

    #[test]
    fn a_url_says_which_store_it_is_of() {
        for (text, kind) in [
            ("redis://127.0.0.1", StoreKind::Redis),
            ("rediss://u:p@redis.test:6380/1", StoreKind::Redis),
            ("sqlite:routes.db", StoreKind::Sqlite),
            ("sqlite:///var/lib/routes.db", StoreKind::Sqlite),
            ("postgres://db/x", StoreKind::Postgres),
            ("postgresql://u:p@db/x?sslmode=require", StoreKind::Postgres),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!((url.kind(), url.expose()), (kind, text));
            assert_eq!(url.variable(), None);
        }
    }

    #[test]
    fn what_is_no_url_of_a_store_is_refused() {
        for (text, error) in [
            ("", StoreUrlError::Scheme),
            ("routes.db", StoreUrlError::Scheme),
            ("mysql://db", StoreUrlError::Scheme),
            ("unix:///run/redis.sock", StoreUrlError::Scheme),
            ("{env.URL}", StoreUrlError::Scheme),
            ("redis://", StoreUrlError::Nowhere),
            ("sqlite:", StoreUrlError::Nowhere),
            ("redis://{env.HOST}", StoreUrlError::Characters),
            ("redis://a b", StoreUrlError::Characters),
        ] {
            assert_eq!(text.parse::<StoreUrl>(), Err(error), "{text}");
        }
        let other = StoreUrl::of(StoreKind::Postgres, "redis://127.0.0.1");
        assert_eq!(other, Err(StoreUrlError::Scheme));
        assert!(StoreUrl::of(StoreKind::Memory, "memory").is_err());
    }

    #[test]
    fn a_variable_stands_for_the_whole_url() {
        let url = StoreUrl::of(StoreKind::Redis, "{env.EDGE_REDIS}").unwrap();
        assert_eq!(url.variable(), Some("EDGE_REDIS"));
        assert!(StoreUrl::of(StoreKind::Redis, "{env.}").is_err());
    }

    #[test]
    fn a_password_is_not_shown() {
        for text in [
            "redis://user:sesame@a",
            "postgres://db/x?password=sesame",
            "redis://:ses/ame@a?x=@sesame",
        ] {
            let shown = format!("{:?}", text.parse::<StoreUrl>().unwrap());
            assert!(shown.ends_with("://..)"), "{shown}");
        }
    }
}
