//! Certificates of clients: who is asked, who is let in, and what is known of them then.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::version::{TLS12, TLS13};

use super::{LOCALHOST, client_auth, refused, rig, site, sites};
use crate::support::identity::{Authority, Identity};
use crate::support::logs::AccessLog;
use crate::support::net::Net;
use crate::support::rig::{HOST, Rig};
use crate::support::tls::Client;

const SUBJECT: &str = "\trespond \"[{http.request.tls.client.subject}]\"";

/// Those who try to come in.
struct Visitors {
    authority: Authority,
    all: [(&'static str, Option<Identity>); 5],
}

fn visitors() -> Visitors {
    let authority = Authority::new();
    let all = [
        ("nothing", None),
        ("good", Some(authority.sign("ann"))),
        ("of another", Some(Authority::new().sign("bob"))),
        ("expired", Some(authority.sign_expired("old"))),
        ("its own", Some(Identity::of_its_own("self"))),
    ];
    Visitors { authority, all }
}

impl Visitors {
    fn identity(&self, name: &str) -> &Identity {
        let found = self.all.iter().find(|(known, _)| *known == name);
        found
            .and_then(|(_, identity)| identity.as_ref())
            .expect("there is such a visitor")
    }

    /// A file with the certificate of one.
    fn file(&self, name: &str) -> String {
        let file = self
            .authority
            .file_of(self.identity(name), &format!("{name}.pem").replace(' ', "_"));
        file.display().to_string()
    }

    /// Whoever is let in with these lines in `client_auth` must be exactly these.
    async fn assert_let_in(&self, lines: &str, expected: &[&str]) {
        let rig = rig(&[site(HOST, &client_auth(lines), SUBJECT)]);
        for (name, identity) in &self.all {
            for version in [&TLS12, &TLS13] {
                let mut client = Client::new().version(version);
                if let Some(identity) = identity {
                    client = client.showing(identity);
                }
                let asked = client.ask(rig.addr(), HOST, HOST).await;
                let is_in = asked.is_ok_and(|(answer, _)| answer.head.status() == 200);
                assert_eq!(
                    is_in,
                    expected.contains(name),
                    "{name} with {version:?} and\n{lines}"
                );
            }
        }
        assert!(rig.stop().await.drained);
    }
}

#[tokio::test]
async fn each_mode_lets_in_whom_it_says() {
    let visitors = visitors();
    let pool = format!("\t\t\ttrust_pool file {}", visitors.authority.file().display());
    let everybody = ["nothing", "good", "of another", "expired", "its own"];
    for (mode, pool, expected) in [
        ("request", "", &everybody[..]),
        ("require", "", &everybody[1..]),
        ("request", &pool, &everybody[..]),
        ("require", &pool, &everybody[1..]),
        ("verify_if_given", &pool, &everybody[..2]),
        ("require_and_verify", &pool, &everybody[1..2]),
    ] {
        let lines = format!("\t\t\tmode {mode}\n{pool}");
        visitors.assert_let_in(&lines, expected).await;
    }
    // As in Caddy, this is what a trust pool means.
    visitors.assert_let_in(&pool, &["good"]).await;
}

#[tokio::test]
async fn authorities_may_stand_in_the_configuration_itself() {
    let visitors = visitors();
    let pem = std::fs::read_to_string(visitors.authority.file()).unwrap();
    let der: String = pem.lines().filter(|line| !line.starts_with("---")).collect();
    let inline = format!("\t\t\ttrust_pool inline {{\n\t\t\t\ttrust_der {der}\n\t\t\t}}");
    visitors.assert_let_in(&inline, &["good"]).await;
    let old = format!("\t\t\ttrusted_ca_cert {der}");
    visitors.assert_let_in(&old, &["good"]).await;
    let old = format!(
        "\t\t\ttrusted_ca_cert_file {}",
        visitors.authority.file().display()
    );
    visitors.assert_let_in(&old, &["good"]).await;
}

#[tokio::test]
async fn of_those_that_an_authority_signed_only_the_listed_ones_come_in() {
    let visitors = visitors();
    let pool = format!("\t\t\ttrust_pool file {}\n", visitors.authority.file().display());
    let leaf = |names: &[&str]| {
        let files: Vec<String> = names.iter().map(|name| visitors.file(name)).collect();
        format!("\t\t\tverifier leaf file {}", files.join(" "))
    };
    visitors
        .assert_let_in(&format!("{pool}{}", leaf(&["good", "expired"])), &["good"])
        .await;
    visitors
        .assert_let_in(&format!("{pool}{}", leaf(&["expired", "its own"])), &[])
        .await;
    // A list without authorities: these very certificates, within their dates.
    visitors
        .assert_let_in(&leaf(&["its own", "expired", "good"]), &["its own", "good"])
        .await;
    // Nobody is on a list with nothing.
    let lines = format!("\t\t\tmode request\n{}", leaf(&["expired"]));
    visitors.assert_let_in(&lines, &["expired"]).await;
}

#[tokio::test]
async fn routes_and_the_access_log_are_told_who_it_is() {
    let authority = Authority::new();
    let log = AccessLog::new();
    let subject = format!(
        "{}\trespond \"{{http.request.tls.client.subject}} {{http.request.tls.client.issuer}} \
         {{http.request.tls.client.serial}}\"",
        log.directive()
    );
    let rig = rig(&[site(HOST, &client_auth("\t\t\tmode request"), &subject)]);
    let client = Client::new();
    let known = client.clone().showing(&authority.sign("ann"));
    let (answer, _) = known.ask(rig.addr(), HOST, HOST).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.body), "CN=ann CN=authority 4660");
    let (answer, _) = client.ask(rig.addr(), HOST, HOST).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.body), "  ");

    let lines = log.until_lines(2).await;
    let tls = &lines[0]["request"]["tls"];
    assert_eq!(
        *tls,
        serde_json::json!({
            "resumed": false, "version": 772, "cipher_suite": 4866, "proto": "http/1.1",
            "server_name": HOST, "ech": false, "client_common_name": "ann", "client_serial": "4660",
        })
    );
    assert!(lines[1]["request"]["tls"].get("client_common_name").is_none());
}

#[tokio::test]
async fn a_site_of_two_ports_asks_for_certificates_at_both() {
    let ip = Net::fresh().pod(1);
    let text = format!(
        "a.test:9441, b.test:9442 {{\n\tbind {ip}\n\ttls internal {{\n{}\n\t}}\n{SUBJECT}\n}}\n",
        client_auth("\t\t\tmode require")
    );
    let _rig = Rig::caddyfile(&sites("", &[text]));
    let known = Client::new().showing(&Identity::of_its_own("me"));
    for (host, port) in [("a.test", 9441), ("b.test", 9442)] {
        let addr = (ip, port).into();
        assert!(
            Client::new().ask(addr, host, host).await.is_err(),
            "{host} without a certificate"
        );
        let (answer, _) = known.ask(addr, host, host).await.unwrap();
        assert_eq!(answer.body, b"[CN=me]", "{host}");
    }
}

#[tokio::test]
async fn what_cannot_be_verified_is_an_error_with_a_way_out() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let (missing, broken) = (
        folder.path().join("missing.pem"),
        folder.path().join("broken.pem"),
    );
    std::fs::write(
        &broken,
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    let key = folder.path().join("key.pem");
    std::fs::write(&key, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let ann = authority.sign("ann");
    let leaf = authority.file_of(&ann, "leaf.pem");
    let der = STANDARD.encode(&ann.chain[0]);
    let pool = |path: &std::path::Path| format!("\t\t\ttrust_pool file {}", path.display());
    for (lines, parts) in [
        (
            "\t\t\tmode require_and_verify".to_owned(),
            ["names nobody", "trust_pool file PATH"],
        ),
        (
            "\t\t\tmode verify_if_given".to_owned(),
            ["names nobody", "mode require"],
        ),
        (
            "\t\t\ttrust_pool system".to_owned(),
            ["authorities of the system", "trust_pool file PATH"],
        ),
        (pool(&missing), ["missing.pem: ", "cannot be read"]),
        (pool(&broken), ["broken.pem: ", "certificate number 1"]),
        (pool(&key), ["key.pem: ", "holds no certificate"]),
        (
            format!(
                "{}\n\t\t\tverifier leaf file {}",
                pool(&authority.file()),
                missing.display()
            ),
            ["missing.pem: ", "cannot be read"],
        ),
        // Its key would make certificates of anybody.
        (pool(&leaf), ["leaf.pem: ", "with trusted_leaf_cert_file"]),
        (
            format!("\t\t\ttrust_pool inline {{\n\t\t\t\ttrust_der {der}\n\t\t\t}}"),
            ["not an authority's", "with trusted_leaf_cert"],
        ),
        (
            "\t\t\ttrust_pool inline {\n\t\t\t\ttrust_der AAAA\n\t\t\t}".to_owned(),
            ["client_auth", "cut off"],
        ),
    ] {
        let error = refused(&sites("", &[site(HOST, &client_auth(&lines), "")]));
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(error.contains(&format!("({LOCALHOST}:0)")), "the place: {error}");
    }
}
