//! Which routes mean the same.

use eskip::are_equivalent;

use crate::{parsed, route};

#[test]
fn routes_are_compared_by_what_they_mean() {
    let base = r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#;
    for same in [
        base,
        r#"foo: Bar("x") && Foo(1, 2) -> f(3) -> g() -> <random, "http://b", "http://a">"#,
        r#"foo: * && Bar(/x/) && Foo(1.0, 2) && Any() -> f(3.0) -> g() -> <random, `http://b`, "http://a">;"#,
    ] {
        assert!(route(base).is_equivalent(&route(same)), "{same}");
        assert_eq!(route(same).canonical(), route(base).canonical());
    }
    for other in [
        r#"bar: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"Foo(1, 2) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Baz("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 3) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, "2") && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> g() -> f(3) -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f() -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(4) -> g() -> <random, "http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <"http://a", "http://b">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <random, "http://a">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://c">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <random, "http://a", "http://b?zone=z">"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <shunt>"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> <loopback>"#,
        r#"foo: Foo(1, 2) && Bar("x") -> f(3) -> g() -> "http://a""#,
    ] {
        assert!(!route(base).is_equivalent(&route(other)), "{other}");
    }
}

#[test]
fn predicates_of_one_name_have_no_order_either() {
    let left = route("Host(/a/) && Host(/b/) && T(2) && T(10) && T(\"a\") && T() -> <shunt>");
    let right = route("T(\"a\") && T(10) && Host(/b/) && T() && Host(/a/) && T(2) -> <shunt>");
    assert!(left.is_equivalent(&right));
}

#[test]
fn lists_have_no_order_and_no_ids_twice() {
    let list = |ids: &str| -> Vec<eskip::Route> {
        ids.split_whitespace()
            .flat_map(|id| parsed(&format!("{id}: * -> <shunt>")))
            .collect()
    };
    assert!(are_equivalent(&[], &[]));
    assert!(are_equivalent(&list("foo bar"), &list("bar foo")));
    assert!(!are_equivalent(&list("foo bar"), &list("foo baz")));
    assert!(!are_equivalent(&list("foo bar"), &list("foo")));
    assert!(!are_equivalent(&list("foo bar foo"), &list("foo bar foo")));
    assert!(!are_equivalent(&list("foo"), &list("foo foo")));
    let alone = parsed("* -> <shunt>");
    assert!(are_equivalent(&alone, &alone));
    let unnamed = [alone.clone(), alone].concat();
    assert!(!are_equivalent(&unnamed, &unnamed));
}
