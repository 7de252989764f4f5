//! `If-Match` and `If-None-Match`: on which version a request is based.

use http::header::{self, HeaderMap, HeaderName};
use route_store::{Expected, HostName, Store};

use super::Refused;
use super::error;
use super::query::wrong;

/// What a request says about the version that must be there.
#[derive(Debug, PartialEq, Eq)]
enum Condition {
    None,
    /// Any version.
    Some,
    Absent,
    OneOf(Vec<u64>),
}

/// A version as an entity tag.
pub(super) fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

/// What must be there for a write to happen. A condition that the store cannot check by itself is checked here, and what was
/// found is what the store is to find, too.
pub(super) async fn expected(
    store: &dyn Store,
    host: &HostName,
    fields: &HeaderMap,
) -> Result<Expected, Refused> {
    let versions = match Condition::of(fields)? {
        Condition::None => return Ok(Expected::Any),
        Condition::Absent => return Ok(Expected::Absent),
        Condition::OneOf(versions) => match versions.as_slice() {
            [version] => return Ok(Expected::Version(*version)),
            _ => Some(versions),
        },
        Condition::Some => None,
    };
    let found = store
        .route(host.as_str())
        .await
        .map_err(|failed| error::of_store(&failed))?;
    let current = found.map(|route| route.version);
    let fits = |version: &u64| {
        versions
            .as_ref()
            .is_none_or(|versions| versions.contains(version))
    };
    current
        .filter(fits)
        .map(Expected::Version)
        .ok_or_else(|| error::conflict(current))
}

/// Whether whoever asks has this version already.
pub(super) fn is_known(fields: &HeaderMap, version: u64) -> bool {
    let Some(value) = fields
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let tag = etag(version);
    let plain = |one: &str| one.trim().trim_start_matches("W/") == tag;
    value.trim() == "*" || value.split(',').any(plain)
}

// === impl Condition ===

impl Condition {
    fn of(fields: &HeaderMap) -> Result<Self, Refused> {
        let (wanted, unwanted) = (
            text(fields, &header::IF_MATCH)?,
            text(fields, &header::IF_NONE_MATCH)?,
        );
        match (wanted, unwanted) {
            (None, None) => Ok(Self::None),
            (None, Some("*")) => Ok(Self::Absent),
            (None, Some(_)) => Err(wrong(
                "`If-None-Match` is `*` for changes: only if there is no document yet",
            )),
            (Some(_), Some(_)) => Err(wrong("`If-Match` and `If-None-Match` exclude each other")),
            (Some("*"), None) => Ok(Self::Some),
            (Some(tags), None) => {
                let versions = tags.split(',').map(|tag| version(tag.trim()));
                let versions: Option<Vec<u64>> = versions.collect();
                let versions = versions.ok_or_else(|| {
                    wrong("`If-Match` is a version in quotes, such as \"12\", as `ETag` has it")
                })?;
                Ok(Self::OneOf(versions))
            }
        }
    }
}

/// A version in quotes.
fn version(tag: &str) -> Option<u64> {
    tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

fn text<'f>(fields: &'f HeaderMap, name: &HeaderName) -> Result<Option<&'f str>, Refused> {
    let mut values = fields.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let value = value
        .to_str()
        .ok()
        .map(str::trim)
        .filter(|value| !value.is_empty());
    match (value, values.next()) {
        (Some(value), None) => Ok(Some(value)),
        _ => Err(wrong(format!("`{name}` makes no sense"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[(HeaderName, &'static str)]) -> Result<Condition, Refused> {
        let fields = fields
            .iter()
            .map(|(name, value)| (name.clone(), http::HeaderValue::from_static(value)));
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(name, value);
        }
        Condition::of(&map)
    }

    #[test]
    fn conditions_are_versions_in_quotes_or_stars() {
        use header::{IF_MATCH, IF_NONE_MATCH};
        assert_eq!(of(&[]).unwrap(), Condition::None);
        assert_eq!(of(&[(IF_NONE_MATCH, "*")]).unwrap(), Condition::Absent);
        assert_eq!(of(&[(IF_MATCH, "*")]).unwrap(), Condition::Some);
        assert_eq!(of(&[(IF_MATCH, "\"7\"")]).unwrap(), Condition::OneOf(vec![7]));
        assert_eq!(
            of(&[(IF_MATCH, "\"7\", \"9\"")]).unwrap(),
            Condition::OneOf(vec![7, 9])
        );
        for wrong in [
            vec![(IF_MATCH, "7")],
            vec![(IF_MATCH, "W/\"7\"")],
            vec![(IF_MATCH, "\"x\"")],
            vec![(IF_MATCH, "")],
            vec![(IF_MATCH, "\"1\""), (IF_MATCH, "\"2\"")],
            vec![(IF_NONE_MATCH, "\"7\"")],
            vec![(IF_MATCH, "\"7\""), (IF_NONE_MATCH, "*")],
        ] {
            assert!(of(&wrong).is_err(), "{wrong:?}");
        }
    }
}
