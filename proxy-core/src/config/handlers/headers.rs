//! `headers`: changes to the fields of requests and responses.

use std::collections::BTreeMap;

use caddy_config as model;
use http::header::{self, HeaderName};

use crate::config::compile::Compiler;
use crate::response_matcher::ResponseMatcher;
use crate::routing::copy::CopyFields;
use crate::routing::header_ops::{HeaderOps, NamePattern, Replacement, ResponseOps, Search};
use crate::routing::routes::Headers;
use crate::routing::template::{Template, Unknown};

pub(super) fn compile(compiler: &mut Compiler<'_>, headers: &model::Headers) -> Headers {
    let request = headers
        .request
        .as_ref()
        .map(|ops| self::ops(compiler, ops))
        .unwrap_or_default();
    Headers {
        touches_host: request.touches(&header::HOST),
        request,
        response: headers
            .response
            .as_ref()
            .map(|response| response_ops(compiler, response)),
    }
}

pub(in crate::config) fn response_ops(
    compiler: &mut Compiler<'_>,
    response: &model::ResponseOps,
) -> ResponseOps {
    let require = response.require.as_ref();
    ResponseOps {
        ops: ops(compiler, &response.ops),
        // A condition is about the answer, so it can only be checked once there is one.
        deferred: response.deferred || require.is_some(),
        only: require
            .map(|matcher| response_matcher(compiler, matcher))
            .unwrap_or_default(),
    }
}

pub(in crate::config) fn response_matcher(
    compiler: &mut Compiler<'_>,
    matcher: &model::ResponseMatcher,
) -> ResponseMatcher {
    let fields = matcher.headers.iter();
    ResponseMatcher {
        statuses: matcher.status_code.clone(),
        fields: fields
            .filter_map(|(name, values)| Some((compiler.field_name(name)?, values.clone())))
            .collect(),
    }
}

pub(in crate::config) fn ops(compiler: &mut Compiler<'_>, ops: &model::HeaderOps) -> HeaderOps {
    HeaderOps {
        add: templates(compiler, &ops.add, Unknown::Kept),
        // Several values to set come as one field, joined by commas.
        set: ops
            .set
            .iter()
            .filter_map(|(name, values)| {
                Some((changed(compiler, name)?, compiler.template(&values.join(","))))
            })
            .collect(),
        delete: ops
            .delete
            .iter()
            .filter_map(|name| {
                let pattern = NamePattern::parse(name);
                if pattern.is_none() {
                    compiler.wrong("not a header field name", name);
                }
                pattern
            })
            .collect(),
        replace: ops
            .replace
            .iter()
            .flat_map(|(name, list)| replacements(compiler, name, list))
            .collect(),
    }
}

fn replacements(compiler: &mut Compiler<'_>, name: &str, list: &[model::Replacement]) -> Vec<Replacement> {
    let field = if name == "*" {
        None
    } else {
        Some(changed(compiler, name))
    };
    let field = match field {
        Some(None) => return Vec::new(),
        Some(Some(name)) => Some(name),
        None => None,
    };
    list.iter()
        .filter_map(|one| {
            let search = if one.search_regexp.is_empty() {
                Search::Text(compiler.template(&one.search))
            } else {
                Search::Regex(compiler.regex(&one.search_regexp)?)
            };
            Some(Replacement {
                field: field.clone(),
                search,
                replace: compiler.template(&one.replace),
            })
        })
        .collect()
}

/// The fields with their values.
pub(super) fn templates(
    compiler: &mut Compiler<'_>,
    fields: &BTreeMap<String, Vec<String>>,
    unknown: Unknown,
) -> Vec<(HeaderName, Template)> {
    let mut templates = Vec::new();
    for (name, values) in fields {
        let Some(name) = changed(compiler, name) else {
            continue;
        };
        for value in values {
            templates.push((name.clone(), compiler.parse(value, unknown)));
        }
    }
    templates
}

/// The name of a field that may be changed. Those that say how long a message is are the proxy's own.
fn changed(compiler: &mut Compiler<'_>, name: &str) -> Option<HeaderName> {
    let name = compiler.field_name(name)?;
    if matches!(name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
        compiler.warn(&format!(
            "the field `{name}` is not changed: the proxy says itself how long a body is"
        ));
        return None;
    }
    Some(name)
}

/// `copy_response_headers`.
pub(super) fn copy(compiler: &mut Compiler<'_>, copy: &model::CopyResponseHeaders) -> CopyFields {
    let mut names = |names: &[String]| {
        names
            .iter()
            .filter_map(|name| compiler.field_name(name))
            .collect()
    };
    if copy.include.is_empty() {
        CopyFields::AllBut(names(&copy.exclude))
    } else {
        CopyFields::Only(names(&copy.include))
    }
}
