//! What an answer must be like for something to be done with it.

use http::HeaderMap;
use http::header::HeaderName;

/// A condition on status and fields. The default holds for every answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseMatcher {
    /// One of these; 1 to 9 stand for whole classes. Empty: any.
    pub(crate) statuses: Vec<u16>,
    /// Fields that must be absent (`None`) or hold one of the values (empty: any value), with `*` at either end
    /// as a wildcard.
    pub(crate) fields: Vec<(HeaderName, Option<Vec<String>>)>,
}

// === impl ResponseMatcher ===

impl ResponseMatcher {
    /// Whether an answer with `status` and `headers` is meant.
    pub(crate) fn matches(&self, status: u16, headers: &HeaderMap) -> bool {
        let class = |wanted: u16| wanted < 10 && wanted == status / 100;
        let by_status = self.statuses.is_empty()
            || self
                .statuses
                .iter()
                .any(|wanted| *wanted == status || class(*wanted));
        by_status
            && self.fields.iter().all(|(name, wanted)| match wanted {
                None => !headers.contains_key(name),
                Some(values) if values.is_empty() => headers.contains_key(name),
                Some(values) => headers.get_all(name).iter().any(|value| {
                    values
                        .iter()
                        .any(|wanted| value_matches(wanted, value.as_bytes()))
                }),
            })
    }
}

/// Whether `value` is `wanted`, where `*` at either end stands for any text.
pub(crate) fn value_matches(wanted: &str, value: &[u8]) -> bool {
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        _ if wanted == "*" => true,
        (Some(_), Some(_)) => {
            let inner = wanted.trim_matches('*').as_bytes();
            inner.is_empty() || value.windows(inner.len()).any(|window| window == inner)
        }
        (Some(suffix), None) => value.ends_with(suffix.as_bytes()),
        (None, Some(prefix)) => value.starts_with(prefix.as_bytes()),
        (None, None) => value == wanted.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::CONTENT_TYPE;

    use super::*;

    fn of_type(values: Option<&[&str]>) -> ResponseMatcher {
        let values = values.map(|values| values.iter().map(ToString::to_string).collect());
        ResponseMatcher {
            fields: vec![(CONTENT_TYPE, values)],
            ..ResponseMatcher::default()
        }
    }

    #[test]
    fn a_status_or_its_class_is_a_condition() {
        let matcher = ResponseMatcher {
            statuses: vec![4, 503],
            ..ResponseMatcher::default()
        };
        for (status, expected) in [(404, true), (503, true), (500, false), (200, false)] {
            assert_eq!(matcher.matches(status, &HeaderMap::new()), expected, "{status}");
        }
    }

    #[test]
    fn fields_are_absent_present_or_one_of_some_values() {
        let html =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))]);
        for (values, with, without) in [
            (None, false, true),
            (Some(&[][..]), true, false),
            (Some(&["image/*", "text/*"][..]), true, false),
            (Some(&["text/html"]), false, false),
            (Some(&["*utf-8"]), true, false),
            (Some(&["*charset*"]), true, false),
            (Some(&["*"]), true, false),
        ] {
            let matcher = of_type(values);
            assert_eq!(matcher.matches(200, &html), with, "{values:?}");
            assert_eq!(matcher.matches(200, &HeaderMap::new()), without, "{values:?}");
        }
    }
}
