//! What is done to lists of routes.

use std::borrow::Cow;

use eskip::{
    DefaultFilters, Edit, EditError, Layout, Route, clone_routes, delete, edit_routes, print, reset, upsert,
};

use crate::parsed;

fn plain(routes: &[Route]) -> String {
    print(routes, Layout::Plain)
}

/// Replaces one text by another, wherever it stands.
fn replace(from: &'static str, to: &'static str) -> impl Fn(&str) -> Cow<'_, str> {
    move |text| text.replace(from, to).into()
}

#[test]
fn upsert_replaces_in_place_and_adds_behind() {
    for (before, updates, after) in [
        ("", "a: * -> <shunt>", "a: * -> <shunt>;"),
        ("a: * -> <shunt>", "", "a: * -> <shunt>;"),
        (
            "a: * -> <shunt>; b: * -> <shunt>",
            "a: * -> <loopback>",
            "a: * -> <loopback>;\nb: * -> <shunt>;",
        ),
        (
            "a: A() -> <shunt>; b: * -> <shunt>; a: B() -> <shunt>",
            "a: * -> <loopback>",
            "a: * -> <loopback>;\nb: * -> <shunt>;",
        ),
        (
            "b: * -> <shunt>",
            "a: * -> <shunt>; a: * -> <loopback>",
            "b: * -> <shunt>;\na: * -> <loopback>;",
        ),
        (
            "a: * -> <shunt>",
            "a: A() -> <shunt>; a: B() -> <shunt>",
            "a: B() -> <shunt>;",
        ),
    ] {
        let mut routes = parsed(before);
        upsert(&mut routes, parsed(updates));
        assert_eq!(plain(&routes), after, "{before} + {updates}");
    }
    let mut routes = parsed("* -> <shunt>");
    upsert(&mut routes, parsed("* -> <loopback>"));
    assert_eq!(routes.len(), 2);
}

#[test]
fn reset_leaves_nothing_else() {
    let mut routes = parsed("a: * -> <shunt>; b: * -> <shunt>; c: * -> <shunt>");
    reset(
        &mut routes,
        parsed("d: * -> <shunt>; c: * -> <loopback>; a: * -> <shunt>"),
    );
    assert_eq!(
        plain(&routes),
        "a: * -> <shunt>;\nc: * -> <loopback>;\nd: * -> <shunt>;"
    );
    reset(&mut routes, Vec::new());
    assert_eq!(routes, []);
}

#[test]
fn delete_removes_by_id() {
    let mut routes = parsed("a: * -> <shunt>; b: * -> <shunt>; a: * -> <loopback>; c: * -> <shunt>");
    assert_eq!(delete(&mut routes, ["a", "x", "c"]), ["x"]);
    assert_eq!(plain(&routes), "b: * -> <shunt>;");
}

#[test]
fn default_filters_stand_around_the_others() {
    let of = |prepend: &str, append: &str| DefaultFilters {
        prepend: eskip::parse_filters(prepend).unwrap(),
        append: eskip::parse_filters(append).unwrap(),
    };
    for (defaults, after) in [
        (of("", ""), "r1: * -> inlineContent(\"OK\") -> <shunt>;"),
        (
            of("status(418)", ""),
            "r1: * -> status(418) -> inlineContent(\"OK\") -> <shunt>;",
        ),
        (
            of("", "status(418)"),
            "r1: * -> inlineContent(\"OK\") -> status(418) -> <shunt>;",
        ),
        (
            of("status(1) -> status(2)", "status(3) -> status(4)"),
            "r1: * -> status(1) -> status(2) -> inlineContent(\"OK\") -> status(3) -> status(4) -> <shunt>;",
        ),
    ] {
        let mut routes = parsed("r1: * -> inlineContent(\"OK\") -> <shunt>");
        defaults.apply(&mut routes);
        assert_eq!(plain(&routes), after);
    }
}

#[test]
fn edits_are_a_pattern_and_a_replacement() {
    for (text, pattern, replacement) in [
        ("/a/b/", "a", "b"),
        ("#a/b#c#", "a/b", "c"),
        ("/a//", "a", ""),
        ("éaébé", "a", "b"),
    ] {
        let edit: Edit = text.parse().unwrap();
        assert_eq!((edit.pattern(), edit.replacement()), (pattern, replacement));
    }
    for bad in ["", "/", "/a/", "/a/b", "/a/b/c", "/a/b/c/", "a"] {
        assert!(bad.parse::<Edit>().is_err(), "{bad}");
    }
}

#[test]
fn edits_change_predicates_and_filters() {
    for (before, from, to, after) in [
        (
            "r0: Host(\"a\") -> status(201) -> <shunt>",
            "Source(",
            "ClientIP(",
            "r0: Host(/a/) -> status(201) -> <shunt>;",
        ),
        (
            "r0: Source(\"1.2.3.4/26\", \"10.5.5.0/24\") -> status(201) -> <shunt>",
            "Source(",
            "ClientIP(",
            "r0: ClientIP(\"1.2.3.4/26\", \"10.5.5.0/24\") -> status(201) -> <shunt>;",
        ),
        (
            "r0: * -> uniform(\"1\") -> f() -> <shunt>",
            "uniform",
            "normal",
            "r0: * -> normal(\"1\") -> f() -> <shunt>;",
        ),
        (
            "r0: Host(/a/) -> <shunt>",
            "Host(\"",
            "HostAny(\"",
            "r0: HostAny(\"a\") -> <shunt>;",
        ),
        (
            "r0: P() -> P() -> <shunt>",
            "P()",
            "Any()",
            "r0: * -> Any() -> <shunt>;",
        ),
    ] {
        let mut routes = parsed(before);
        assert_eq!(edit_routes(&mut routes, replace(from, to)), []);
        assert_eq!(plain(&routes), after);
    }
}

#[test]
fn an_edit_that_breaks_a_route_leaves_it_as_it_was() {
    let document = "a: P(\"/x\") && Path(\"/\") -> f() -> <shunt>;";
    for (from, to) in [
        ("P(", "P(("),
        ("f()", "f() -> g()"),
        ("f()", ""),
        ("P(\"/x\")", "*"),
        ("P(", "Path("),
    ] {
        let mut routes = parsed(document);
        let errors = edit_routes(&mut routes, replace(from, to));
        assert_eq!(errors.len(), 1, "{to}");
        assert_eq!(errors[0].0.map(|id| id.as_str()), Some("a"));
        assert_eq!(routes, parsed(document), "{to}");
        assert_eq!(clone_routes(&mut routes, replace(from, to)).len(), 1);
        assert_eq!(routes, parsed(document), "{to}");
    }
    let mut routes = parsed(document);
    let errors = edit_routes(&mut routes, replace("P(", "Path("));
    assert!(matches!(errors[0].1, EditError::Route(_)));
    assert_eq!(
        errors[0].1.to_string(),
        "invalid route \"a\": duplicate path tree predicate"
    );
}

#[test]
fn clones_stand_beside_their_routes() {
    let mut routes = parsed("r0: Host(\"a\") -> <shunt>; r1: Source(\"1.2.3.4\") -> <shunt>");
    assert_eq!(clone_routes(&mut routes, replace("Source(", "ClientIP(")), []);
    assert_eq!(
        plain(&routes),
        "r0: Host(/a/) -> <shunt>;\nr1: Source(\"1.2.3.4\") -> <shunt>;\nclone_r1: ClientIP(\"1.2.3.4\") -> <shunt>;"
    );
}
