//! Changes to a request other than its header fields.

use crate::{
    check,
    json::{
        decode::{Cx, Object},
        reader::Node,
        scalar::{count, pattern, template, template_word},
    },
    model::{
        KeyAndValue, QueryOps, QueryReplacement, RegexpReplacement, RequestBody, Rewrite,
        SubstringReplacement,
    },
};

pub(in crate::json) fn rewrite<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Rewrite {
    Rewrite {
        method: object.get("method", cx, |node, cx| {
            let method = template_word(node, cx)?;
            cx.check(node, check::method_template(&method))?;
            Some(method)
        }),
        uri: object.get("uri", cx, template_word),
        strip_path_prefix: object.get("strip_path_prefix", cx, template_word),
        strip_path_suffix: object.get("strip_path_suffix", cx, template_word),
        uri_substring: object.list("uri_substring", cx, substring),
        path_regexp: object.list("path_regexp", cx, regexp),
        query: object.get("query", cx, query),
    }
}

fn text<'n>(object: &mut Object<'n>, name: &'static str, cx: &mut Cx<'n, '_>) -> String {
    object.get(name, cx, template).unwrap_or_default()
}

fn substring<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<SubstringReplacement> {
    let mut object = Object::open(node, cx)?;
    let replacement = SubstringReplacement {
        find: text(&mut object, "find", cx),
        replace: text(&mut object, "replace", cx),
        limit: object.get("limit", cx, count),
    };
    object.finish(cx);
    Some(replacement)
}

fn regexp<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<RegexpReplacement> {
    let mut object = Object::open(node, cx)?;
    let replacement = RegexpReplacement {
        find: object.get("find", cx, pattern).unwrap_or_default(),
        replace: text(&mut object, "replace", cx),
    };
    object.finish(cx);
    Some(replacement)
}

fn query<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<QueryOps> {
    let mut object = Object::open(node, cx)?;
    let ops = QueryOps {
        rename: object.list("rename", cx, key_and_value),
        set: object.list("set", cx, key_and_value),
        add: object.list("add", cx, key_and_value),
        replace: object.list("replace", cx, replacement),
        delete: object.list("delete", cx, template),
    };
    object.finish(cx);
    Some(ops)
}

fn key_and_value<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<KeyAndValue> {
    let mut object = Object::open(node, cx)?;
    let pair = KeyAndValue {
        key: text(&mut object, "key", cx),
        value: text(&mut object, "val", cx),
    };
    object.finish(cx);
    Some(pair)
}

fn replacement<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<QueryReplacement> {
    let mut object = Object::open(node, cx)?;
    let replacement = QueryReplacement {
        key: text(&mut object, "key", cx),
        search: text(&mut object, "search", cx),
        search_regexp: object.get("search_regexp", cx, pattern).unwrap_or_default(),
        replace: text(&mut object, "replace", cx),
    };
    if replacement.search.is_empty() == replacement.search_regexp.is_empty() {
        cx.error(node.span, "give either `search` or `search_regexp`", None);
    }
    object.finish(cx);
    Some(replacement)
}

pub(super) fn request_body<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> RequestBody {
    RequestBody {
        max_size: object
            .get("max_size", cx, |node, cx| {
                cx.number(node, i64::MAX.unsigned_abs())
            })
            .filter(|size| *size != 0),
        set: object.get("set", cx, template_word),
    }
}
