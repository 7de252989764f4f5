//! Texts with placeholders, regular expressions, and names that routes share.

use std::sync::Arc;

use caddy_config as model;

use super::compile::Compiler;
use crate::routing::regexp::Regexp;
use crate::routing::template::{Template, Unknown};

impl Compiler<'_> {
    /// Text whose placeholders stay as they are written where nothing has a value for them.
    pub(crate) fn template(&mut self, text: &str) -> Template {
        self.parse(text, Unknown::Kept)
    }

    /// Text in which nothing takes the place of placeholders that nothing has a value for.
    pub(crate) fn value(&mut self, text: &str) -> Template {
        self.parse(text, Unknown::Empty)
    }

    pub(crate) fn parse(&mut self, text: &str, unknown: Unknown) -> Template {
        match text.parse() {
            Ok(parsed) => Template::new(&parsed, unknown, &mut self.slots),
            Err(error) => {
                let error: caddy_config::TemplateError = error;
                self.unsupported(&error.to_string(), "write the value itself")
            }
        }
    }

    /// A regular expression.
    pub(crate) fn regex(&mut self, pattern: &str) -> Option<regex::Regex> {
        match model::regexp::compile(pattern) {
            Ok(regex) => Some(regex),
            Err(error) => self.unsupported(
                &format!("`{pattern}`: {error}"),
                "write it in Go's syntax, shorter if it is too large",
            ),
        }
    }

    /// A regular expression of a matcher, whose groups placeholders may ask for.
    pub(crate) fn regexp(&mut self, model: &model::RegexpMatcher) -> Option<Regexp> {
        let regexp = Regexp::new(self.regex(&model.pattern)?, model.name.clone());
        self.groups.push(Arc::clone(regexp.groups()));
        Some(regexp)
    }

    /// The number of a named route, which [`super::routes::compile`] gave it.
    pub(crate) fn named_route(&mut self, name: &str) -> Option<usize> {
        let number = self.named.get(name).copied();
        if number.is_none() {
            self.wrong("no named route of this server", name);
        }
        number
    }
}
