//! The texts of Skipper's flags that hold several settings: `type=rate,failures=30,window=300`.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use serde_json::Number;

use super::{EskipBreaker, EskipBreakerKind, EskipPassiveHealth};
use crate::{check, source::short, suggest::did_you_mean, units};

/// The keys of a breaker.
const BREAKER: [&str; 7] = [
    "failures",
    "half-open-requests",
    "host",
    "idle-ttl",
    "timeout",
    "type",
    "window",
];

/// The keys of a passive health check.
const PASSIVE_HEALTH: [&str; 5] = [
    "max-drop-probability",
    "max-unhealthy-endpoints-ratio",
    "min-drop-probability",
    "min-requests",
    "period",
];

/// Why a text is no [`EskipBreaker`] or [`EskipPassiveHealth`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EskipTextError {
    /// A part without `=`, or with nothing before it.
    #[error("expected key=value, found `{0}`")]
    Form(String),
    /// A key that there is none of.
    #[error("unknown key `{key}`; known are {}", known.join(", "))]
    Unknown {
        /// The key.
        key: String,
        /// All that there are.
        known: &'static [&'static str],
    },
    /// A key with two values.
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    /// A key that must be there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key that means nothing for this type of breaker.
    #[error("`{key}` is not for a breaker of the type {of}")]
    Senseless {
        /// The key.
        key: &'static str,
        /// The type.
        of: &'static str,
    },
    /// A value of the wrong form or size.
    #[error("`{key}`: {reason}")]
    Value {
        /// Its key.
        key: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The settings of a text.
struct Settings<'t>(BTreeMap<&'static str, &'t str>);

// === impl EskipBreaker ===

impl FromStr for EskipBreaker {
    type Err = EskipTextError;

    /// Reads `type=rate,host=www.example.org,window=300,failures=30,timeout=4m,half-open-requests=45,idle-ttl=5m`.
    /// Without a type it is `consecutive`. Zero durations and no half-open requests are as good as not said.
    fn from_str(text: &str) -> Result<Self, EskipTextError> {
        let settings = Settings::read(text, &BREAKER)?;
        Ok(Self {
            kind: kind(&settings)?,
            host: settings.get("host", |host| check::eskip_host(host).map(|()| host.to_owned()))?,
            timeout: settings.get("timeout", duration)?.filter(|long| !long.is_zero()),
            half_open_requests: settings
                .get("half-open-requests", |text| number(text).ok_or(WHOLE))?
                .filter(|number| *number != 0),
            idle_ttl: settings.get("idle-ttl", duration)?.filter(|long| !long.is_zero()),
        })
    }
}

fn kind(settings: &Settings<'_>) -> Result<EskipBreakerKind, EskipTextError> {
    let name = settings.get("type", |name| {
        let known = EskipBreakerKind::NAMES.into_iter().find(|known| *known == name);
        known.ok_or("expected consecutive, disabled or rate")
    })?;
    match name.unwrap_or("consecutive") {
        "disabled" => {
            settings.refuse(&["failures", "window"], "disabled")?;
            Ok(EskipBreakerKind::Disabled)
        }
        "rate" => {
            let failures = settings.require("failures", at_least_one)?;
            let window = settings.require("window", |text| {
                check::breaker_window(failures, at_least_one(text)?)
            })?;
            Ok(EskipBreakerKind::Rate { failures, window })
        }
        _ => {
            settings.refuse(&["window"], "consecutive")?;
            let failures = settings.require("failures", at_least_one)?;
            Ok(EskipBreakerKind::Consecutive { failures })
        }
    }
}

// === impl EskipPassiveHealth ===

impl FromStr for EskipPassiveHealth {
    type Err = EskipTextError;

    /// Reads `period=1s,min-requests=10,max-drop-probability=0.9`, which must be there, and
    /// `min-drop-probability=0.0,max-unhealthy-endpoints-ratio=1.0`.
    fn from_str(text: &str) -> Result<Self, EskipTextError> {
        let settings = Settings::read(text, &PASSIVE_HEALTH)?;
        let period = settings.require("period", |text| check::not_zero(duration(text)?))?;
        let min_requests = settings.require("min-requests", at_least_one)?;
        let max_drop_probability = settings.require("max-drop-probability", probability)?;
        let min_drop_probability = settings.get("min-drop-probability", |text| {
            let least = probability(text)?;
            check::drop_probabilities(&least, &max_drop_probability).map(|()| least)
        })?;
        Ok(Self {
            period,
            min_requests,
            max_drop_probability,
            min_drop_probability,
            max_unhealthy_endpoints_ratio: settings.get("max-unhealthy-endpoints-ratio", probability)?,
        })
    }
}

// === impl EskipTextError ===

impl EskipTextError {
    /// The way out, where the error does not say it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Form(_) => Some(
                "write settings as key=value, with commas between, such as failures=5,timeout=10s".to_owned(),
            ),
            Self::Unknown { key, known } => did_you_mean(key, known.iter().copied()),
            _ => None,
        }
    }
}

// === impl Settings ===

impl<'t> Settings<'t> {
    fn read(text: &'t str, known: &'static [&'static str]) -> Result<Self, EskipTextError> {
        let mut found = BTreeMap::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                return Err(EskipTextError::Form(short(part)));
            };
            let Some(key) = known.iter().copied().find(|known| *known == key) else {
                let key = short(key);
                return Err(EskipTextError::Unknown { key, known });
            };
            if found.insert(key, value).is_some() {
                return Err(EskipTextError::Twice(key));
            }
        }
        Ok(Self(found))
    }

    fn get<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'t str) -> Result<T, &'static str>,
    ) -> Result<Option<T>, EskipTextError> {
        let value = self.0.get(key).map(|text| read(text)).transpose();
        value.map_err(|reason| EskipTextError::Value { key, reason })
    }

    fn require<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'t str) -> Result<T, &'static str>,
    ) -> Result<T, EskipTextError> {
        self.get(key, read)?.ok_or(EskipTextError::Missing(key))
    }

    fn refuse(&self, keys: &[&'static str], of: &'static str) -> Result<(), EskipTextError> {
        match keys.iter().copied().find(|key| self.0.contains_key(key)) {
            Some(key) => Err(EskipTextError::Senseless { key, of }),
            None => Ok(()),
        }
    }
}

const WHOLE: &str = "expected a whole number";

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn at_least_one(text: &str) -> Result<u32, &'static str> {
    check::at_least_one(text.parse().map_err(|_| WHOLE)?)
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    units::duration(text).ok_or("expected a duration, such as 10s")
}

fn probability(text: &str) -> Result<Number, &'static str> {
    let number = text.parse().ok().and_then(Number::from_f64);
    // As it is printed, it is read again.
    let number = check::plain_number(&number.ok_or(check::PROBABILITY)?.to_string())?;
    check::probability(&number).map(|()| number)
}

#[cfg(test)]
mod tests;
