//! What stands for placeholders.

use super::*;
use crate::error::{Failure, Reason};
use crate::request::Told;
use crate::routing::tests::context;

fn rendered_of(cx: &Context, template: &str) -> String {
    template.parse::<Template>().unwrap().render(cx)
}

fn rendered(template: &str) -> String {
    let mut cx = context("GET", "http://A.b.test:8080/p%20q/%zz/f.tar.gz?x=1&y&x=a%2Bb");
    cx.parts
        .headers
        .append("cookie", "a=1; up=\"tok\"".parse().unwrap());
    cx.parts.headers.append("x-many", "1".parse().unwrap());
    cx.parts.headers.append("x-many", "2".parse().unwrap());
    rendered_of(&cx, template)
}

#[test]
fn placeholders_give_the_request() {
    for (template, expected) in [
        (
            "https://{http.request.host}{http.request.uri}",
            "https://A.b.test/p%20q/%zz/f.tar.gz?x=1&y&x=a%2Bb",
        ),
        (
            "{http.request.hostport} {http.request.port}",
            "A.b.test:8080 8080",
        ),
        (
            "{http.request.host.labels.0} {http.request.host.labels.2} {http.request.host.labels.3}",
            "test a ",
        ),
        ("{http.request.uri.path}", "/p q/%zz/f.tar.gz"),
        (
            "{http.request.uri.path.dir} {http.request.uri.path.file}",
            "/p q/%zz/ f.tar.gz",
        ),
        (
            "{http.request.uri.path.file.base} {http.request.uri.path.file.ext}",
            "f.tar .gz",
        ),
        (
            "{http.request.uri.path.0} {http.request.uri.path.1} {http.request.uri.path.9}",
            "p q %zz ",
        ),
        ("{http.request.uri.path_escaped}", "%2Fp+q%2F%25zz%2Ff.tar.gz"),
        (
            "{http.request.uri.query}{http.request.uri.prefixed_query}",
            "x=1&y&x=a%2Bb?x=1&y&x=a%2Bb",
        ),
        (
            "{http.request.uri.query.x}|{http.request.uri.query.y}|{http.request.uri.query.z}",
            "1,a+b||",
        ),
        (
            "{http.request.method} {http.request.scheme} {http.request.proto}",
            "GET http HTTP/1.1",
        ),
        ("{http.request.header.X-Many} {http.request.cookie.UP}", "1,2 tok"),
        (
            "{http.request.remote} {http.request.remote.host} {http.vars.client_ip}",
            "192.0.2.1:4711 192.0.2.1 192.0.2.9",
        ),
        (
            "{http.request.remote.host/16} {http.request.remote.host/0}",
            "192.0.0.0/16 0.0.0.0/0",
        ),
        ("{http.request.tls.version}{http.request.local}{http.vars.x}", ""),
    ] {
        assert_eq!(rendered(template), expected, "{template}");
    }
}

#[test]
fn what_has_no_value_stays_as_it_is_written_or_is_left_out() {
    const TEXT: &str =
        "<{http.regexp.a.1}{http.error.message}{http.auth.user.id}{http.reverse_proxy.status_code}{mine}>";
    assert_eq!(rendered(TEXT), TEXT);
    let empty = Template::new(&TEXT.parse().unwrap(), Unknown::Empty, &mut Slots::default());
    assert_eq!(empty.render(&context("GET", "http://a.test/")), "<>");
}

#[test]
fn the_target_before_a_rewrite_is_known_behind_it() {
    let mut cx = context("GET", "http://a.test/old/x?q=1");
    cx.rewrite(Some(http::Method::POST), Some("/new".parse().unwrap()));
    let template = "{http.request.method} {http.request.uri} {http.request.orig_method} {http.request.orig_uri} \
                    {http.request.orig_uri.path.dir} {http.request.orig_uri.prefixed_query}";
    assert_eq!(rendered_of(&cx, template), "POST /new GET /old/x?q=1 /old/ ?q=1");
    cx.restore();
    assert_eq!(
        rendered_of(&cx, "{http.request.method} {http.request.uri}"),
        "GET /old/x?q=1"
    );
}

#[test]
fn errors_are_told() {
    let mut cx = context("GET", "http://a.test/");
    let failure = Failure::from(Reason::Raised).with_status(http::StatusCode::NOT_FOUND);
    cx.error = Some(Box::new(Told::new(&failure.with_source("not here"))));
    let template = "{http.error.status_code} {http.error.status_text}: {http.error.message}";
    assert_eq!(rendered_of(&cx, template), "404 Not Found: not here");
    let (id, whole) = (
        rendered_of(&cx, "{http.error.id}"),
        rendered_of(&cx, "{http.error}"),
    );
    assert_eq!(id.len(), 9);
    assert_eq!(whole, format!("{{id={id}}} doorway: HTTP 404: not here"));
}

#[test]
fn what_a_request_is_known_by_stays_the_same() {
    let cx = context("GET", "http://a.test/");
    let uuid = rendered_of(&cx, "{http.request.uuid}");
    let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(
        (parts, uuid.get(14..15)),
        (vec![8, 4, 4, 4, 12], Some("4")),
        "{uuid}"
    );
    assert_eq!(rendered_of(&cx, "{http.request.uuid}"), uuid);
    assert_ne!(
        rendered_of(&context("GET", "http://a.test/"), "{http.request.uuid}"),
        uuid
    );
}

#[test]
fn a_map_that_leads_to_itself_ends() {
    let mut slots = Slots::default();
    let mut template = |text: &str| Template::new(&text.parse().unwrap(), Unknown::Empty, &mut slots);
    let (source, all) = (template("{a}{a}"), template("x{a}"));
    let map = Arc::new(Map {
        source,
        defaults: vec![all.clone()],
        ..Map::default()
    });
    let mut cx = context("GET", "http://a.test/");
    cx.vars.set(slots.find("a").unwrap(), Value::Mapped(map, 0));
    assert!(all.render(&cx).starts_with('x'));
}
