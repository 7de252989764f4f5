//! Variables, and values that placeholders stand for.

use crate::request::Context;
use crate::routing::regexp::Regexp;
use crate::routing::template::Template;

/// One of `vars`: a value that must be one of some.
#[derive(Clone, Debug, Default)]
pub(crate) struct VarMatcher {
    pub(crate) value: Template,
    pub(crate) wanted: Vec<Template>,
}

/// One of `vars_regexp`: a value that must match.
#[derive(Clone, Debug)]
pub(crate) struct VarRegexp {
    pub(crate) value: Template,
    pub(crate) regexp: Regexp,
}

// === impl VarMatcher ===

impl VarMatcher {
    pub(super) fn matches(&self, cx: &Context) -> bool {
        let value = self.value.render(cx);
        self.wanted.iter().any(|wanted| wanted.render(cx) == value)
    }
}

// === impl VarRegexp ===

impl VarRegexp {
    pub(super) fn matches(&self, cx: &mut Context) -> bool {
        let value = self.value.render(cx);
        self.regexp.matches(&value, &mut cx.vars)
    }
}
