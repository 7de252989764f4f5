//! The Host that a backend is told.

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;

use super::{backend, get_at, rig, rig_with};

const CLIENT: &str = "www.example.org";

/// The Host that the backend sees, with these lines of the handler and these filters.
async fn told(lines: &str, filters: &str) -> (String, String) {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig_with(lines, &format!("any: * -> {filters} {};", backend(origin.addr())));
    // The site is for another host, so the one that matters stands behind it.
    let answer = rig.wire().await.ask(get_at(CLIENT, "/")).await;
    assert_eq!(answer.head.status(), 200, "{lines} {filters}");
    let hosts = origin.only_request().head.all("host");
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    (hosts[0].clone(), origin.addr().to_string())
}

#[tokio::test]
async fn the_switch_of_the_handler_and_the_filter_say_whose_host_it_is() {
    for (lines, filters, is_clients) in [
        ("", "", false),
        ("", "preserveHost(\"false\") ->", false),
        ("", "preserveHost(\"true\") ->", true),
        ("\t\tpreserve_host", "", true),
        ("\t\tpreserve_host on", "preserveHost(\"true\") ->", true),
        ("\t\tpreserve_host", "preserveHost(\"false\") ->", false),
        ("\t\tpreserve_host off", "", false),
    ] {
        let (told, backends) = told(lines, filters).await;
        let expected = if is_clients { CLIENT } else { &backends };
        assert_eq!(told, expected, "{lines} {filters}");
    }
}

#[tokio::test]
async fn a_host_that_a_filter_sets_counts_whatever_else_is_said() {
    let set = "setRequestHeader(\"Host\", \"custom.test:81\") ->";
    for lines in ["", "\t\tpreserve_host"] {
        for preserve in ["", "preserveHost(\"true\") ->", "preserveHost(\"false\") ->"] {
            for filters in [format!("{set} {preserve}"), format!("{preserve} {set}")] {
                assert_eq!(
                    told(lines, &filters).await.0,
                    "custom.test:81",
                    "{lines} {filters}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_balanced_backend_is_told_the_host_of_the_endpoint_that_was_chosen() {
    let (a, b) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "a").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "b").await,
    );
    let endpoints = format!("<roundRobin, {}, {}>", backend(a.addr()), backend(b.addr()));
    let rig = rig(&format!(
        "own: Path(\"/own\") -> {endpoints}; client: Path(\"/client\") -> preserveHost(\"true\") -> {endpoints};
         set: Path(\"/set\") -> setRequestHeader(\"Host\", \"custom.test\") -> {endpoints};"
    ));
    for path in ["/own", "/client", "/set"] {
        for _ in 0..4 {
            let answer = rig.wire().await.ask(get_at(CLIENT, path)).await;
            assert_eq!(answer.head.status(), 200);
        }
    }
    for origin in [a, b] {
        let own = origin.addr().to_string();
        let requests = origin.requests();
        assert_eq!(requests.len(), 6, "both have their turns");
        for request in requests {
            let expected = match request.head.target() {
                "/own" => own.as_str(),
                "/client" => CLIENT,
                _ => "custom.test",
            };
            assert_eq!(request.head.all("host"), [expected], "{}", request.head.start());
        }
    }
}

#[tokio::test]
async fn a_dynamic_backend_is_told_the_host_that_its_filters_named() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let at = origin.addr();
    let rig = rig(&format!(
        "url: Path(\"/url\") -> setDynamicBackendUrl(\"http://{at}/path\") -> <dynamic>;
         host: Path(\"/host\") -> setDynamicBackendHost(\"{at}\") -> setDynamicBackendScheme(\"http\") -> <dynamic>;
         field: Path(\"/field\") -> setDynamicBackendUrlFromHeader(\"X-To\") -> <dynamic>;
         set: Path(\"/set\") -> setRequestHeader(\"Host\", \"custom.test\") -> setDynamicBackendUrl(\"http://{at}\") -> <dynamic>;"
    ));
    for path in ["/url", "/host", "/field", "/set"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {CLIENT}\r\nX-To: http://{at}\r\n\r\n");
        assert_eq!(rig.wire().await.ask(request).await.head.status(), 200, "{path}");
    }
    let hosts: Vec<_> = origin
        .requests()
        .iter()
        .map(|request| request.head.all("host"))
        .collect();
    let at = at.to_string();
    assert_eq!(hosts, [[at.as_str()], [&at], [&at], ["custom.test"]]);
}

#[tokio::test]
async fn a_client_cannot_lead_a_dynamic_backend_anywhere() {
    let victim = Recorder::saying(Ipv4Addr::LOCALHOST, "never").await;
    let rig = rig(
        "a: Path(\"/a\") -> <dynamic>; b: Path(\"/b\") -> setDynamicBackendUrlFromHeader(\"X-To\") -> <dynamic>;",
    );
    let at = victim.addr().to_string();
    for request in [
        get_at(&at, "/a"),
        format!("GET http://{at}/a HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!(
            "GET /a HTTP/1.1\r\nHost: {CLIENT}\r\nX-Skipper-Proxy: http://{at}\r\nForwarded: host={at}\r\nX-To: http://{at}\r\n\r\n"
        ),
        format!("GET /b HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET /b HTTP/1.1\r\nHost: {at}\r\nX-To: {at}\r\n\r\n"),
    ] {
        assert_eq!(rig.wire().await.ask(request).await.head.status(), 502);
    }
    assert_eq!(victim.accepted(), 0);
}

#[tokio::test]
async fn a_regular_expression_says_whether_case_port_and_dot_of_a_host_matter() {
    let rig = rig(
        "any: Host(/(?i)^www[.]example[.]org[.]?(:[0-9]+)?$/) -> serve(200, \"any\") -> <shunt>;
         all: Host(/test/) && Host(/^a/) -> serve(200, \"all\") -> <shunt>;
         exact: HostAny(\"a.org\", \"b.org:8080\") -> serve(200, \"exact\") -> <shunt>;",
    );
    for (host, expected) in [
        ("www.example.org", "any"),
        ("WWW.Example.org", "any"),
        ("www.example.org.", "any"),
        ("www.example.org:8080", "any"),
        ("a.test", "all"),
        ("b.test", "Not Found\n"),
        ("a.org", "exact"),
        ("a.org:8080", "Not Found\n"),
        ("b.org:8080", "exact"),
        ("www.example.org.evil.test", "Not Found\n"),
    ] {
        let answer = rig.wire().await.ask(get_at(host, "/")).await;
        assert_eq!(super::told(&answer).1, expected, "{host}");
    }
}

#[tokio::test]
async fn a_host_that_is_normalized_matches_in_any_spelling() {
    let rig = rig_with(
        "\t\tnormalize_host",
        "a: HostAny(\"app.test\") -> inlineContent(\"${request.host}\") -> <shunt>; b: Host(/^app[.]test$/) && Path(\"/b\") -> status(204) -> <shunt>;",
    );
    for host in ["app.test", "APP.test:8080", "app.test.", "App.Test.:80"] {
        for (path, status) in [("/a", 200), ("/b", 204)] {
            let mut wire = rig.wire().await;
            let answer = wire
                .ask(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"))
                .await;
            assert_eq!(answer.head.status(), status, "{host}{path}");
        }
    }
}
