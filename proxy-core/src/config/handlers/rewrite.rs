//! `rewrite`: another method, path or query.

use caddy_config as model;

use crate::config::compile::Compiler;
use crate::routing::header_ops::Search;
use crate::routing::rewrite::{NewQuery, NewUri, Place, QueryOps, QueryReplacement, Rewrite, Substring};
use crate::routing::template::Template;

pub(in crate::config) fn rewrite(compiler: &mut Compiler<'_>, rewrite: &model::Rewrite) -> Rewrite {
    let mut value = |text: &Option<String>| {
        let text = text.as_ref().filter(|text| !text.is_empty());
        text.map(|text| compiler.value(text))
    };
    let (method, strip_prefix, strip_suffix) = (
        value(&rewrite.method),
        value(&rewrite.strip_path_prefix),
        value(&rewrite.strip_path_suffix),
    );
    Rewrite {
        method,
        strip_prefix,
        strip_suffix,
        uri: rewrite.uri.as_ref().map(|uri| new_uri(compiler, uri)),
        substrings: rewrite
            .uri_substring
            .iter()
            .map(|one| substring(compiler, one))
            .collect(),
        path_regexp: rewrite
            .path_regexp
            .iter()
            .filter(|one| !one.find.is_empty())
            .filter_map(|one| Some((compiler.regex(&one.find)?, compiler.value(&one.replace))))
            .collect(),
        query: rewrite
            .query
            .as_ref()
            .map(|ops| query_ops(compiler, ops))
            .unwrap_or_default(),
    }
}

/// `path?query#fragment`; the fragment is for browsers, who never send one.
fn new_uri(compiler: &mut Compiler<'_>, uri: &str) -> NewUri {
    let uri = uri.split('#').next().unwrap_or_default();
    let (path, query) = match uri.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (uri, None),
    };
    NewUri {
        path: (!path.is_empty()).then(|| compiler.value(path)),
        query: query.map(|query| new_query(compiler, query)),
    }
}

/// Keys and values in turn: behind `=` comes a value, behind `&` a key.
fn new_query(compiler: &mut Compiler<'_>, query: &str) -> NewQuery {
    let mut parts = Vec::new();
    let (mut rest, mut place) = (query, Place::Key);
    while !rest.is_empty() {
        let end = rest.find(['=', '&']).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        parts.push((place, compiler.value(part)));
        place = if behind.starts_with('=') {
            Place::Value
        } else {
            Place::Key
        };
        rest = behind.get(1..).unwrap_or_default();
    }
    NewQuery(parts)
}

fn substring(compiler: &mut Compiler<'_>, one: &model::SubstringReplacement) -> Substring {
    let limit = one.limit.filter(|limit| *limit > 0);
    Substring {
        find: compiler.value(&one.find),
        replace: compiler.value(&one.replace),
        limit: limit.map_or(usize::MAX, |limit| limit as usize),
        keeps_slashes: one.find.contains("//"),
    }
}

fn query_ops(compiler: &mut Compiler<'_>, ops: &model::QueryOps) -> QueryOps {
    QueryOps {
        rename: pairs(compiler, &ops.rename),
        set: pairs(compiler, &ops.set),
        add: pairs(compiler, &ops.add),
        replace: ops
            .replace
            .iter()
            .filter_map(|one| query_replacement(compiler, one))
            .collect(),
        delete: ops.delete.iter().map(|key| compiler.value(key)).collect(),
    }
}

fn pairs(compiler: &mut Compiler<'_>, list: &[model::KeyAndValue]) -> Vec<(Template, Template)> {
    list.iter()
        .map(|pair| (compiler.value(&pair.key), compiler.value(&pair.value)))
        .collect()
}

fn query_replacement(compiler: &mut Compiler<'_>, one: &model::QueryReplacement) -> Option<QueryReplacement> {
    Some(QueryReplacement {
        key: compiler.template(&one.key),
        search: if one.search_regexp.is_empty() {
            Search::Text(compiler.template(&one.search))
        } else {
            Search::Regex(compiler.regex(&one.search_regexp)?)
        },
        replace: compiler.template(&one.replace),
    })
}
