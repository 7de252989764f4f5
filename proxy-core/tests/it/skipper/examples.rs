//! Every example of the manual, run.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;

use proxy_core::Options;
use regex::Regex;

use crate::support::message::Head;
use crate::support::origin::Recorder;
use crate::support::rig;

use super::{self as skipper, backend};

/// Filters with whose example a request is refused, and by what.
fn refusal(name: &str) -> Option<u16> {
    Some(match name {
        // Who does not say who it is.
        "basicAuth" | "jwtValidation" | "jwtValidationKeys" => 401,
        name if name.starts_with("oauthToken") || name.starts_with("secureOauthToken") => 401,
        "mtlsAuthn" | "mtlsCN" | "mtlsIssuerDN" | "mtlsSanCIDR" | "mtlsSanDNS" | "mtlsSanIP"
        | "mtlsSanURI" => 403,
        _ => return None,
    })
}

#[tokio::test]
async fn every_predicate_has_an_example_that_a_table_takes() {
    let mut routes = String::new();
    for (name, about) in Options::default().predicates.all() {
        // Writing to a string does not fail.
        let _infallible = writeln!(routes, "example_{}: {} -> <shunt>;", id(name), about.example);
    }
    let rig = skipper::rig(&routes);
    assert_eq!(rig.control().routes().invalid, []);
}

#[tokio::test]
async fn every_filter_has_an_example_that_answers_a_request() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "from the backend").await;
    let to = backend(origin.addr());
    let outside = format!("http://{}", origin.addr());
    let directory = tempfile::tempdir().unwrap();
    for (name, about) in Options::default().filters.all() {
        let example = at_hand(about.example, directory.path(), &outside);
        let route = format!(
            "example: Path(\"/\") -> {example} -> {to}; other: * -> inlineContent(\"other\") -> <shunt>;"
        );
        let rig = skipper::rig_with(&format!("\t\ttokeninfo_url {outside}/tokeninfo"), &route);
        assert_eq!(rig.control().routes().invalid, [], "{name}");
        // Some bodies never end.
        let mut wire = rig.wire().await;
        wire.send(rig::get("/")).await;
        let answer = wire.head().await;
        match refusal(name) {
            Some(status) => assert_eq!(answer.status(), status, "{name}"),
            None => assert!(is_expected(name, &answer), "{name}: {}", answer.start()),
        }
    }
}

/// The example with files and servers that there are.
fn at_hand(example: &str, directory: &Path, server: &str) -> String {
    let file = directory.join("file");
    std::fs::write(
        &file,
        "somebody:$2y$04$UuTkLRZZ6QofpDOlMz32MuuxEHA43WOemOYHPz6.SjsVsyO1tDU96\n",
    )
    .unwrap();
    let with_server = Regex::new("https?://[^\"'/]*")
        .unwrap()
        .replace_all(example, server);
    let text = Regex::new("\"/(etc|secrets|srv|var|run)/[^\"]*\"")
        .unwrap()
        .replace_all(&with_server, format!("\"{}\"", file.display()));
    text.into_owned()
}

/// Whether an example answers as it should.
fn is_expected(name: &str, answer: &Head) -> bool {
    match name {
        // There is no such file.
        "static" => answer.status() == 404,
        "status" | "redirect" | "redirectTo" | "redirectToLower" => true,
        _ => answer.status() < 400,
    }
}

fn id(name: &str) -> String {
    name.chars().map(|c| if c == '*' { 'x' } else { c }).collect()
}
