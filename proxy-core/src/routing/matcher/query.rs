//! The parameters of a request's query.

use std::borrow::Cow;

use crate::percent;
use crate::request::Context;
use crate::routing::template::Template;

/// `query`: parameters that must all have one of their values. Without any, the query must be empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryMatcher(pub(crate) Vec<(Template, Vec<Template>)>);

// === impl QueryMatcher ===

impl QueryMatcher {
    pub(super) fn matches(&self, cx: &Context) -> bool {
        // A query that cannot be read matches nothing.
        let Some(pairs) = parse(cx.query().unwrap_or_default()) else {
            return false;
        };
        if self.0.is_empty() {
            return pairs.is_empty();
        }
        self.0.iter().all(|(name, values)| {
            let name = name.render(cx);
            let mut given = pairs
                .iter()
                .filter(|(key, _)| *key == name)
                .map(|(_, value)| value);
            given.any(|given| {
                values.iter().any(|wanted| {
                    let wanted = wanted.render(cx);
                    wanted == "*" || *given == wanted
                })
            })
        })
    }
}

/// The decoded pairs; `None` if an escape is broken or a semicolon takes the place of `&`.
fn parse(query: &str) -> Option<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
    if query.contains(';') {
        return None;
    }
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            percent::decode_query(key).zip(percent::decode_query(value))
        })
        .collect()
}
