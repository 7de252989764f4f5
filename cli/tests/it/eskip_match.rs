//! `doorway eskip match`.

use crate::support::{Directory, Finished, doorway, finish};

const ROUTES: &str = r#"
user: Path("/users/:id") && Method("GET") -> setRequestHeader("X-Id", "${id}") -> "http://users:8080";
admin: Path("/users/:id") && ClientIP("192.0.2.0/24") && Weight(5) -> "http://admin:8080";
other: Path("/other") -> <shunt>;
rest: Host(/^example[.]org$/) -> <shunt>;
broken: Nothing() -> <shunt>;
"#;

fn matching(arguments: &[&str]) -> Finished {
    let directory = Directory::with("routes.eskip", ROUTES);
    let arguments = [&["eskip", "match"], arguments].concat();
    finish(&mut doorway(directory.path(), &arguments))
}

#[test]
fn it_tells_the_route_and_why_the_others_are_not() {
    let told = matching(&["GET", "https://example.org/users/7", "routes.eskip"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(
        told.stdout,
        "user: Path(\"/users/:id\") && Method(\"GET\") -> setRequestHeader(\"X-Id\", \"${id}\") -> \"http://users:8080\";\n  \
         ${id} is \"7\"\n\
         not admin: ClientIP(\"192.0.2.0/24\") does not hold\n\
         not rest: another route comes first\n\
         not other: its path is another one\n"
    );
    assert_eq!(
        told.stderr,
        "failed to process route broken: unknown_predicate: predicate \"Nothing\" not found\n"
    );
}

#[test]
fn the_request_has_an_address_and_fields() {
    let from = matching(&[
        "GET",
        "http://a.org/users/7",
        "--from",
        "192.0.2.9",
        "routes.eskip",
    ]);
    assert!(from.stdout.starts_with("admin: "), "{}", from.stdout);
    let host = matching(&["GET", "http://a.org/", "-H", "Host: example.org", "routes.eskip"]);
    assert!(host.stdout.starts_with("rest: "), "{}", host.stdout);
    let slash = ["POST", "http://a.org/other/", "routes.eskip"];
    assert_eq!(matching(&slash).code, Some(1));
    let ignored = [&slash[..], &["--ignore-trailing-slash"]].concat();
    assert!(matching(&ignored).stdout.starts_with("other: "));
}

#[test]
fn without_a_route_it_says_so() {
    let none = matching(&["GET", "http://a.org/", "routes.eskip"]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.stdout.starts_with("no route is for this request\nnot "),
        "{}",
        none.stdout
    );
    assert!(
        none.stderr.ends_with("no route is for the request\n"),
        "{}",
        none.stderr
    );
    let misplaced = matching(&["GET", "routes.eskip", "http://example.org/"]);
    assert_eq!(
        misplaced.stderr,
        "error: routes.eskip is no absolute URL; write one such as https://example.org/users\n"
    );
    let relative = matching(&["GET", "/users", "routes.eskip"]);
    assert_eq!(relative.code, Some(2), "{}", relative.stderr);
    let single = matching(&["GET", "http://a.org/", "--routes", "False() -> <shunt>"]);
    assert!(
        single.stdout.contains("not the route: False() does not hold"),
        "{}",
        single.stdout
    );
}

#[test]
fn the_example_says_what_its_comments_say() {
    let directory = Directory::with("routes.eskip", include_str!("../../../examples/routes.eskip"));
    let run = |arguments: &[&str]| finish(&mut doorway(directory.path(), &[&["eskip"], arguments].concat()));
    let checked = run(&["check", "routes.eskip"]);
    assert_eq!(
        (checked.stdout.as_str(), checked.stderr.as_str()),
        ("Valid routes: 6\n", "")
    );
    let order = "https://shop.example.org/api/orders/7";
    for (arguments, id) in [
        (&[order, "--chance", "0.05"][..], "orders_new"),
        (&[order, "--chance", "0.5"], "orders"),
        (
            &[order, "--chance", "0.5", "-H", "Cookie: release=new"],
            "orders_new",
        ),
        (
            &["https://shop.example.org/admin/users", "--from", "192.0.2.7"],
            "admin",
        ),
        (&["https://shop.example.org/admin/users"], "rest"),
        (&["https://shop.example.org/health"], "health"),
    ] {
        let told = run(&[&["match", "GET"], arguments, &["routes.eskip"]].concat());
        assert!(
            told.stdout.starts_with(&format!("{id}: ")),
            "{arguments:?}: {}{}",
            told.stdout,
            told.stderr
        );
    }
}
