//! `rewrite`, `uri` and `method`: another method, path or query.

mod query;

use std::borrow::Cow;

use caddy_config::Placeholder;
use http::Method;
use http::uri::PathAndQuery;
use regex::Regex;

pub(crate) use self::query::{QueryOps, QueryReplacement};
use super::template::Template;
use crate::error::{Failure, Reason};
use crate::percent;
use crate::request::Context;

/// A compiled `rewrite`. Its steps are taken in the order of the fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rewrite {
    pub(crate) method: Option<Template>,
    pub(crate) uri: Option<NewUri>,
    pub(crate) strip_prefix: Option<Template>,
    pub(crate) strip_suffix: Option<Template>,
    pub(crate) substrings: Vec<Substring>,
    /// Replacements in the path as it is sent.
    pub(crate) path_regexp: Vec<(Regex, Template)>,
    pub(crate) query: QueryOps,
}

/// A new path, query or both; what is not given stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewUri {
    pub(crate) path: Option<Template>,
    pub(crate) query: Option<NewQuery>,
}

/// A new query in parts: keys and values. What stands for placeholders is escaped, but for a whole query that stands
/// where a key does.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewQuery(pub(crate) Vec<(Place, Template)>);

/// Where a part of a query stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Key,
    Value,
}

/// One text for another, in path and query.
#[derive(Clone, Debug)]
pub(crate) struct Substring {
    pub(crate) find: Template,
    pub(crate) replace: Template,
    /// How many times at most.
    pub(crate) limit: usize,
    /// What is looked for has double slashes, so those of the path stay.
    pub(crate) keeps_slashes: bool,
}

/// What a request becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) method: Option<Method>,
    pub(crate) target: Option<PathAndQuery>,
}

/// A target on its way to another one.
struct Target<'c> {
    /// As it is sent, escapes and all.
    path: Cow<'c, str>,
    query: Option<Cow<'c, str>>,
}

// === impl Rewrite ===

impl Rewrite {
    /// What the request becomes. A target that would not be valid is left out, and of a method nothing.
    ///
    /// # Errors
    ///
    /// If the method is none: another one could do what was not meant.
    pub(crate) fn of(&self, cx: &Context) -> Result<Rewritten, Box<Failure>> {
        let method = self.new_method(cx)?;
        let mut target = Target {
            path: cx.path().into(),
            query: cx.query().map(Into::into),
        };
        if let Some(uri) = &self.uri {
            uri.apply(&mut target, cx);
        }
        self.strip(&mut target, cx);
        for substring in &self.substrings {
            substring.apply(&mut target, cx);
        }
        for (regex, replace) in &self.path_regexp {
            let path = regex.replace_all(&target.path, replace.render(cx)).into_owned();
            target.set_path(path);
        }
        if !self.query.is_empty() {
            let query = self.query.apply(target.query.as_deref().unwrap_or_default(), cx);
            target.query = (!query.is_empty()).then_some(query.into());
        }
        let target = target.finish();
        Ok(Rewritten {
            method: method.filter(|method| *method != cx.parts.method),
            target: PathAndQuery::try_from(target.as_str())
                .ok()
                .filter(|_| target != cx.target()),
        })
    }

    fn new_method(&self, cx: &Context) -> Result<Option<Method>, Box<Failure>> {
        let name = self
            .method
            .as_ref()
            .map(|method| method.render(cx).to_uppercase());
        let name = name.filter(|name| !name.is_empty());
        name.map(|name| Method::from_bytes(name.as_bytes()))
            .transpose()
            .map_err(|_| Box::new(Reason::BadMethod.into()))
    }

    fn strip(&self, target: &mut Target<'_>, cx: &Context) {
        if let Some(prefix) = &self.strip_prefix {
            let prefix = prefix.render(cx);
            let prefix = if prefix.starts_with('/') {
                prefix
            } else {
                format!("/{prefix}")
            };
            let path = percent::clean(&target.path, !prefix.contains("//")).into_owned();
            let rest = without_prefix(&path, &prefix).map(begins_with_slash);
            target.set_path(rest.unwrap_or(path));
        }
        if let Some(suffix) = &self.strip_suffix {
            let suffix = suffix.render(cx);
            let path = percent::clean(&target.path, !suffix.contains("//")).into_owned();
            let rest = without_suffix(&path, &suffix).map(str::to_owned);
            target.set_path(rest.unwrap_or(path));
        }
    }
}

// === impl NewUri, NewQuery ===

impl NewUri {
    fn apply(&self, target: &mut Target<'_>, cx: &Context) {
        let mut injected = None;
        let path = self.path.as_ref().map(|path| {
            let path = path.render_with(cx, &mut |placeholder, text, out| match placeholder {
                Some(Placeholder::Path) => out.push_str(cx.path()),
                _ => out.push_str(text),
            });
            // A query came in with what stands for a placeholder.
            match path.split_once('?') {
                Some((path, query)) => {
                    injected = Some(query.to_owned());
                    path.to_owned()
                }
                None => path,
            }
        });
        let query = self.query.as_ref().map(|query| query.render(cx));
        if let Some(path) = path {
            target.path = percent::encode_decoded_path(&path).into();
        }
        match (query, injected) {
            (Some(query), injected) if query.is_empty() => target.query = injected.map(Into::into),
            (Some(query), _) | (None, Some(query)) => target.query = Some(query.into()),
            (None, None) => {}
        }
        target.query = target.query.take().filter(|query| !query.is_empty());
    }
}

impl NewQuery {
    fn render(&self, cx: &Context) -> String {
        let mut out = String::new();
        for (place, part) in &self.0 {
            let is_key = *place == Place::Key;
            let part = part.render_with(cx, &mut |placeholder, text, out| match placeholder {
                Some(Placeholder::Query) if is_key => out.push_str(text),
                _ => out.push_str(&percent::encode_query(text)),
            });
            match place {
                Place::Key if !out.is_empty() && !part.is_empty() => out.push('&'),
                Place::Key => {}
                Place::Value => out.push('='),
            }
            out.push_str(&part);
        }
        out
    }
}

// === impl Substring ===

impl Substring {
    fn apply(&self, target: &mut Target<'_>, cx: &Context) {
        let (find, replace) = (self.find.render(cx), self.replace.render(cx));
        if find.is_empty() {
            return;
        }
        let path = percent::clean(&target.path, !self.keeps_slashes);
        let path = path.replacen(&find, &replace, self.limit);
        target.set_path(path);
        if let Some(query) = &mut target.query
            && query.contains(&find)
        {
            *query = query.replacen(&find, &replace, self.limit).into();
        }
    }
}

// === impl Target ===

impl Target<'_> {
    fn set_path(&mut self, path: String) {
        self.path = path.into();
    }

    /// Path and query as they can be sent. What is written into a path must not lead out of it again.
    fn finish(self) -> String {
        let path = percent::encode_path(&self.path);
        let path = match path.strip_prefix('/') {
            Some(_) => path,
            None => format!("/{path}").into(),
        };
        let path = percent::resolve_dots(&path);
        match self.query {
            Some(query) => format!("{path}?{}", percent::keep_query(&query)),
            None => path.into_owned(),
        }
    }
}

/// The path behind `prefix`, case apart. Where `prefix` has no `%`, the path is decoded.
fn without_prefix<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let mut rest = path;
    for wanted in prefix.bytes() {
        let bytes = rest.as_bytes();
        let (byte, length) = match percent::escaped(bytes).filter(|_| wanted != b'%') {
            Some(byte) => (byte, 3),
            None => (*bytes.first()?, 1),
        };
        if !byte.eq_ignore_ascii_case(&wanted) {
            return None;
        }
        rest = rest.get(length..)?;
    }
    Some(rest)
}

/// What is left of a path is one. An escaped slash that parted it from its prefix is the one that it begins with, as
/// in the decoded form, which is what led here: otherwise `/api%2Fx` would reach an upstream as `//x`.
fn begins_with_slash(rest: &str) -> String {
    match percent::escaped(rest.as_bytes()) {
        Some(b'/') => format!("/{}", rest.get(3..).unwrap_or_default()),
        _ => rest.to_owned(),
    }
}

/// The path before `suffix`, case apart. Where `suffix` has no `%`, the path is decoded.
fn without_suffix<'p>(path: &'p str, suffix: &str) -> Option<&'p str> {
    let mut rest = path;
    for wanted in suffix.bytes().rev() {
        let bytes = rest.as_bytes();
        let escape = bytes.len().checked_sub(3).and_then(|at| bytes.get(at..));
        let escape = escape.filter(|_| wanted != b'%' && !suffix.contains('%'));
        let (byte, length) = match escape.and_then(percent::escaped) {
            Some(byte) => (byte, 3),
            None => (*bytes.last()?, 1),
        };
        if !byte.eq_ignore_ascii_case(&wanted) {
            return None;
        }
        rest = rest.get(..rest.len() - length)?;
    }
    Some(rest)
}

#[cfg(test)]
mod tests;
