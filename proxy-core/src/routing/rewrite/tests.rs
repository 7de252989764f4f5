//! Rewrites as Caddy does them, and better where that is said.

use super::*;
use crate::routing::header_ops::Search;
use crate::routing::tests::context;

fn text(text: &str) -> Template {
    Template::new(
        &text.parse().unwrap(),
        crate::routing::template::Unknown::Empty,
        &mut crate::routing::slots::Slots::default(),
    )
}

/// The target that `target` becomes.
fn after(rewrite: &Rewrite, target: &str) -> String {
    let mut cx = context("GET", &format!("http://a.test{target}"));
    let new = rewrite.of(&cx).unwrap();
    cx.rewrite(new.method, new.target);
    cx.target().to_owned()
}

fn uri(path: Option<&str>, query: Option<&[(Place, &str)]>) -> Rewrite {
    let query = query.map(|parts| NewQuery(parts.iter().map(|(place, part)| (*place, text(part))).collect()));
    Rewrite {
        uri: Some(NewUri {
            path: path.map(text),
            query,
        }),
        ..Rewrite::default()
    }
}

#[test]
fn only_the_parts_that_are_given_change() {
    assert_eq!(after(&uri(Some("/new"), None), "/old?q=1"), "/new?q=1");
    assert_eq!(after(&uri(Some("/new"), Some(&[])), "/old?q=1"), "/new");
    assert_eq!(
        after(&uri(None, Some(&[(Place::Key, "a")])), "/old?q=1"),
        "/old?a"
    );
    assert_eq!(after(&uri(Some("no/slash"), None), "/old"), "/no/slash");
}

#[test]
fn a_path_is_in_one_form_whatever_it_is_made_of() {
    assert_eq!(after(&uri(Some("/a%2Fb"), None), "/x"), "/a/b");
    assert_eq!(after(&uri(Some("/a b"), None), "/x"), "/a%20b");
    assert_eq!(after(&uri(Some("/100%"), None), "/x"), "/100%25");
    let in_front = uri(Some("/foo{http.request.uri.path}"), None);
    assert_eq!(after(&in_front, "/a%2Fb%20c?q"), "/foo/a/b%20c?q");
    assert_eq!(after(&in_front, "/a%3Fb"), "/foo/a%3Fb");
    assert_eq!(after(&in_front, "/a%2F..%2F..%2Fb"), "/b");
}

#[test]
fn a_query_that_comes_in_with_the_path_is_one() {
    let whole = uri(Some("/foo{http.request.uri}"), None);
    assert_eq!(after(&whole, "/x?q=1"), "/foo/x?q=1");
    let query = uri(
        Some("/foo{http.request.uri}"),
        Some(&[(Place::Key, "a"), (Place::Value, "b")]),
    );
    assert_eq!(after(&query, "/x?q=1"), "/foo/x?a=b");
}

#[test]
fn what_stands_for_placeholders_in_a_query_is_escaped_but_for_a_whole_one() {
    use Place::{Key, Value};
    let parts = [
        (Key, "a"),
        (Value, "{http.request.uri.query}"),
        (Key, "{http.request.uri.query}"),
    ];
    assert_eq!(
        after(&uri(None, Some(&parts)), "/p?x=1&y=%20"),
        "/p?a=x%3D1%26y%3D%2520&x=1&y=%20"
    );
    let empty = [
        (Key, "{http.request.uri.query}"),
        (Key, "b"),
        (Value, "{http.request.uri.path}"),
    ];
    assert_eq!(after(&uri(None, Some(&empty)), "/p"), "/p?b=%2Fp");
}

#[test]
fn a_prefix_is_taken_off_whatever_its_case_and_escapes() {
    for (prefix, target, expected) in [
        ("/api", "/api/x", "/x"),
        ("api", "/API/x?q", "/x?q"),
        ("/api", "/api", "/"),
        ("/api", "/apix", "/x"),
        ("/api", "/other//x", "/other/x"),
        // What is no escape is data, and is written as such.
        ("/api", "/api/%zz", "/%25zz"),
        // The slash behind the prefix, escaped, is the one that the rest begins with; one more is data.
        ("/api", "/api%2Fx%2fy", "/x%2fy"),
        ("/api", "/api/%2fx", "/%2fx"),
        ("/a b", "/a%20b/c%2Fd", "/c%2Fd"),
        ("/a%2Fb", "/a%2fb/c", "/c"),
        ("/a%2Fb", "/a/b/c", "/a/b/c"),
        ("/a//", "/a//b", "/b"),
    ] {
        let rewrite = Rewrite {
            strip_prefix: Some(text(prefix)),
            ..Rewrite::default()
        };
        assert_eq!(after(&rewrite, target), expected, "{prefix} of {target}");
    }
}

#[test]
fn a_suffix_is_taken_off_whatever_its_escapes() {
    for (target, expected) in [
        ("/a.html", "/a"),
        ("/a%2Ehtml", "/a"),
        ("/html", "/html"),
        ("/.html", "/"),
    ] {
        let rewrite = Rewrite {
            strip_suffix: Some(text(".html")),
            ..Rewrite::default()
        };
        assert_eq!(after(&rewrite, target), expected, "{target}");
    }
}

#[test]
fn substrings_are_replaced_in_path_and_query_expressions_in_the_path() {
    let rewrite = Rewrite {
        substrings: vec![Substring {
            find: text("a/"),
            replace: text("b"),
            limit: usize::MAX,
            keeps_slashes: false,
        }],
        ..Rewrite::default()
    };
    assert_eq!(after(&rewrite, "/rep/a/x/a//b?a/=1"), "/rep/bx/bb?b=1");
    let rewrite = Rewrite {
        path_regexp: vec![(Regex::new("/+(.)").unwrap(), text("/-$1"))],
        ..Rewrite::default()
    };
    assert_eq!(after(&rewrite, "/x//y?//z"), "/-x/-y?//z");
}

#[test]
fn a_method_is_upper_case_and_one_that_is_none_is_an_error() {
    let method = |name: &str| {
        let rewrite = Rewrite {
            method: Some(text(name)),
            ..Rewrite::default()
        };
        let new = rewrite.of(&context("GET", "http://a.test/"));
        new.map(|new| new.method).map_err(|failure| failure.reason)
    };
    assert_eq!(method("post"), Ok(Some(Method::POST)));
    assert_eq!(method("get"), Ok(None));
    assert_eq!(method(""), Ok(None));
    assert_eq!(method("a b"), Err(Reason::BadMethod));
}

#[test]
fn of_a_query_only_the_named_parameters_change() {
    let pair = |key: &str, value: &str| (text(key), text(value));
    let with = |change: fn(&mut QueryOps, (Template, Template)), pair| {
        let mut query = QueryOps::default();
        change(&mut query, pair);
        Rewrite {
            query,
            ..Rewrite::default()
        }
    };
    let set = with(|ops, pair| ops.set.push(pair), pair("k", "v w"));
    assert_eq!(
        after(&set, "/?z=%20&k=1&%zz&a;b&k=2&y"),
        "/?z=%20&k=v+w&%zz&a;b&y"
    );
    assert_eq!(after(&set, "/"), "/?k=v+w");
    let add = with(|ops, pair| ops.add.push(pair), pair("k", "{http.request.method}"));
    assert_eq!(after(&add, "/?z=1&k=1"), "/?z=1&k=1&k=GET");
    let rename = with(|ops, pair| ops.rename.push(pair), pair("a", "b"));
    assert_eq!(after(&rename, "/?b=0&z&a=%201&a"), "/?z&b=%201&b");
    let delete = with(|ops, (key, _)| ops.delete.push(key), pair("a b", ""));
    assert_eq!(after(&delete, "/?a%20b=1&c&a+b"), "/?c");
    assert_eq!(after(&delete, "/?a+b"), "/");
}

#[test]
fn values_of_parameters_are_replaced_within() {
    let replace = |key: &str, search: Search| {
        let mut query = QueryOps::default();
        query.replace.push(QueryReplacement {
            key: text(key),
            search,
            replace: text("<$1>"),
        });
        Rewrite {
            query,
            ..Rewrite::default()
        }
    };
    let digits = || Search::Regex(Regex::new("([0-9])").unwrap());
    assert_eq!(
        after(&replace("a", digits()), "/?a=x1%20&b=1&a"),
        "/?a=x%3C1%3E+&b=1&a"
    );
    assert_eq!(after(&replace("*", digits()), "/?b=1"), "/?b=%3C1%3E");
    assert_eq!(
        after(&replace("a", Search::Text(text("x"))), "/?a=xx"),
        "/?a=%3C%241%3E%3C%241%3E"
    );
}
