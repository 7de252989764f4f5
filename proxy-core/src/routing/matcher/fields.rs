//! The fields of a request's head.

use http::header::{HeaderName, HeaderValue};

use crate::request::Context;
use crate::response_matcher::value_matches;
use crate::routing::regexp::Regexp;
use crate::routing::template::Template;

/// `header`: fields that must all be so.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldMatcher(pub(crate) Vec<(HeaderName, Wanted)>);

/// What a field must be.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Absent,
    Present,
    /// One of these, with `*` at either end as a wildcard.
    OneOf(Vec<Template>),
}

/// `header_regexp`: fields of which some value must match, all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldRegexp(pub(crate) Vec<(HeaderName, Regexp)>);

// === impl FieldMatcher ===

impl FieldMatcher {
    pub(super) fn matches(&self, cx: &Context) -> bool {
        self.0.iter().all(|(name, wanted)| {
            let headers = &cx.parts.headers;
            match wanted {
                Wanted::Absent => !headers.contains_key(name),
                Wanted::Present => headers.contains_key(name),
                Wanted::OneOf(values) => {
                    let mut given = headers.get_all(name).iter().map(HeaderValue::as_bytes);
                    given.any(|given| values.iter().any(|wanted| is(wanted, given, cx)))
                }
            }
        })
    }
}

fn is(wanted: &Template, given: &[u8], cx: &Context) -> bool {
    match wanted.as_static() {
        Some(text) => value_matches(text, given),
        None => value_matches(&wanted.render(cx), given),
    }
}

// === impl FieldRegexp ===

impl FieldRegexp {
    pub(super) fn matches(&self, cx: &mut Context) -> bool {
        self.0.iter().all(|(name, regexp)| {
            let mut values = cx.parts.headers.get_all(name).iter();
            values.any(|value| regexp.matches(&String::from_utf8_lossy(value.as_bytes()), &mut cx.vars))
        })
    }
}
