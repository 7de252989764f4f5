//! What stands behind the `?` of a request.

use http::{StatusCode, Uri};

use super::Refused;
use crate::admin::reply::Reply;
use crate::percent;

/// The parameters of a request, each known and given once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query(Vec<(&'static str, String)>);

// === impl Query ===

impl Query {
    /// Reads the parameters of a request that may have `known` ones.
    pub(super) fn of(uri: &Uri, known: &[&'static str]) -> Result<Self, Refused> {
        let mut read = Self(Vec::new());
        let pairs = uri.query().unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(known) = known.iter().find(|known| **known == name) else {
                let supported = known.join(", ");
                return Err(wrong(format!(
                    "the parameter `{}` is not known here; supported: {supported}",
                    name.escape_debug()
                )));
            };
            if read.get(known).is_some() {
                return Err(wrong(format!("the parameter `{known}` is given twice")));
            }
            let value = percent::decode_query(value)
                .ok_or_else(|| wrong(format!("the value of `{known}` cannot be decoded")))?;
            read.0.push((*known, value.into_owned()));
        }
        Ok(read)
    }

    /// The value of a parameter, if it is given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that is a number from 1 to `most`.
    pub(super) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, Refused> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        let count = value.parse().ok().filter(|count| (1..=most).contains(count));
        count.ok_or_else(|| wrong(format!("`{name}` is a number from 1 to {most}")))
    }

    /// A parameter that is on if it is there, unless it says otherwise.
    pub(super) fn switch(&self, name: &str) -> Result<bool, Refused> {
        match self.get(name) {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(_) => Err(wrong(format!("`{name}` is true or false"))),
        }
    }
}

/// Why a request makes no sense.
pub(super) fn wrong(error: impl AsRef<str>) -> Refused {
    Box::new(Reply::error(StatusCode::BAD_REQUEST, error.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Query, Refused> {
        Query::of(&format!("/routes?{query}").parse().unwrap(), &["after", "limit"])
    }

    #[test]
    fn parameters_are_read_and_others_refused() {
        let query = of("after=a%2Eb+c&limit=7&").unwrap();
        assert_eq!(query.get("after"), Some("a.b c"));
        assert_eq!(query.count("limit", 1, 10).unwrap(), 7);
        assert_eq!(of("").unwrap().count("limit", 100, 1000).unwrap(), 100);
        for wrong in ["befor=1", "limit=1&limit=2", "after=%zz"] {
            assert_eq!(of(wrong).unwrap_err().status, StatusCode::BAD_REQUEST, "{wrong}");
        }
        for wrong in ["limit=0", "limit=11", "limit=x", "limit="] {
            assert!(of(wrong).unwrap().count("limit", 1, 10).is_err(), "{wrong}");
        }
    }
}
