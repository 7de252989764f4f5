//! Tests of certificates.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::StatusCode;

use crate::filters::Flow;
use crate::filters::trial::Trial;

/// Subject: CN=first, then CN=client. Issuer: C=DE, O=Trust, Ltd, OU=A, OU=B, CN=Test CA. For
/// Client.Example.org, other.example.org, 192.0.2.9, 2001:db8::9, spiffe://example.org/client and a mail address.
const CLIENT: &str = concat!(
    "MIICLDCCAdOgAwIBAgIBATAKBggqhkjOPQQDAjBMMQswCQYDVQQGEwJERTETMBEGA1UECgwKVHJ1c3QsIEx0ZDEKMAgGA1UECwwB",
    "QTEKMAgGA1UECwwBQjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjEyMDEwMjUyNTFaGA8yMTI2MTEwNzAyNTI1MVowITEOMAwGA1UE",
    "AwwFZmlyc3QxDzANBgNVBAMMBmNsaWVudDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIEePaxk9GAs1muvgF3+A9AdjOiGmisH",
    "FQXqiHB3wUyKnbIF3vIGURm4wIT8DV+0FipTfuSEnZyT2Y85Hkx7WvKjgc4wgcswdAYDVR0RBG0wa4ISQ2xpZW50LkV4YW1wbGUu",
    "b3JnghFvdGhlci5leGFtcGxlLm9yZ4cEwAACCYcQIAENuAAAAAAAAAAAAAAACYYbc3BpZmZlOi8vZXhhbXBsZS5vcmcvY2xpZW50",
    "gQ14QGV4YW1wbGUub3JnMBMGA1UdJQQMMAoGCCsGAQUFBwMCMB0GA1UdDgQWBBSgrTIy0dtLfdSdDcMRrX2tQVXxVjAfBgNVHSME",
    "GDAWgBT/E75dZf7iQa/c85QeIPteoy4IQjAKBggqhkjOPQQDAgNHADBEAiBniJ6NrobJRLKZUioKpSJgXlQq099wU4BnmPUAL3/i",
    "bAIgBf1Q1E8rKE9R7KPU1Y9tQ7VReRlhZelFbuytJe1INIk=",
);

/// Subject and issuer: O=nobody. For no name.
const BARE: &str = concat!(
    "MIIBeTCCAR+gAwIBAgIUO8QAGJJQmB36q/SEiSD9vkgdznAwCgYIKoZIzj0EAwIwETEPMA0GA1UECgwGbm9ib2R5MCAXDTI2MTIw",
    "MTAyNTI1MloYDzIxMjYxMTA3MDI1MjUyWjARMQ8wDQYDVQQKDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASBHj2s",
    "ZPRgLNZrr4Bd/gPQHYzohporBxUF6ohwd8FMip2yBd7yBlEZuMCE/A1ftBYqU37khJ2ck9mPOR5Me1ryo1MwUTAdBgNVHQ4EFgQU",
    "oK0yMtHbS33UnQ3DEa19rUFV8VYwHwYDVR0jBBgwFoAUoK0yMtHbS33UnQ3DEa19rUFV8VYwDwYDVR0TAQH/BAUwAwEB/zAKBggq",
    "hkjOPQQDAgNIADBFAiAgr2aPR1SDeLhqDrtsCqOjq+pxDfkDSzZ16F1fqesMHAIhAIkGUmK2LY5LTvm3NSVCiCTFawXU0KT18DKB",
    "BwWSZSU+",
);

fn with(certificate: Option<&str>) -> Trial {
    let mut trial = Trial::get("/");
    let der = certificate.map(|text| STANDARD.decode(text).unwrap());
    trial.exchange.client_certificate = der.map(Into::into);
    trial
}

/// Whether a client with this certificate is let through.
#[track_caller]
fn passes(certificate: Option<&str>, filter: &str) -> bool {
    match with(certificate).request(filter).0 {
        Flow::Next => true,
        Flow::Serve(answer) => {
            assert_eq!(answer.status(), StatusCode::FORBIDDEN);
            assert_eq!(answer.body().length(), Some("Forbidden\n".len() as u64));
            false
        }
        flow => panic!("{flow:?}"),
    }
}

#[test]
fn who_shows_no_certificate_is_refused() {
    for filter in [
        "mtlsAuthn()",
        r#"mtlsCN("client")"#,
        r#"mtlsIssuerDN("O=nobody")"#,
        r#"mtlsSanDNS("client.example.org")"#,
        r#"mtlsSanIP("192.0.2.9")"#,
        r#"mtlsSanCIDR("0.0.0.0/0")"#,
        r#"mtlsSanURI("spiffe://example.org/client")"#,
    ] {
        assert!(!passes(None, filter), "{filter}");
        // What is no certificate is none.
        assert!(!passes(Some("AAAA"), filter), "{filter}");
    }
    assert!(passes(Some(CLIENT), "mtlsAuthn()"));
    assert!(passes(Some(BARE), "mtlsAuthn()"));
}

#[test]
fn certificates_must_have_what_is_listed() {
    for (filter, expected) in [
        (r#"mtlsCN("other", "client")"#, true),
        // Of several the most special one counts.
        (r#"mtlsCN("first")"#, false),
        (r#"mtlsCN("Client")"#, false),
        (r#"mtlsCN("Test CA")"#, false),
        (
            r#"mtlsIssuerDN("O=x", "CN=Test CA,OU=B,OU=A,O=Trust\\, Ltd,C=DE")"#,
            true,
        ),
        (r#"mtlsIssuerDN("CN=Test CA")"#, false),
        (r#"mtlsIssuerDN("CN=client")"#, false),
        (r#"mtlsSanDNS("x", "CLIENT.example.org")"#, true),
        (r#"mtlsSanDNS("other.example.org")"#, true),
        (
            r#"mtlsSanDNS("example.org", "192.0.2.9", "client", "*.example.org")"#,
            false,
        ),
        (r#"mtlsSanIP("10.0.0.1", "192.0.2.9")"#, true),
        (r#"mtlsSanIP("2001:db8::9")"#, true),
        (r#"mtlsSanIP("192.0.2.8")"#, false),
        (r#"mtlsSanCIDR("10.0.0.0/8", "192.0.2.0/24")"#, true),
        (r#"mtlsSanCIDR("2001:db8::/32")"#, true),
        (r#"mtlsSanCIDR("10.0.0.0/8")"#, false),
        (r#"mtlsSanURI("x", "spiffe://example.org/client")"#, true),
        (r#"mtlsSanURI("spiffe://example.org/", "x@example.org")"#, false),
    ] {
        assert_eq!(passes(Some(CLIENT), filter), expected, "{filter}");
        assert!(!passes(Some(BARE), filter), "{filter}");
    }
    assert!(passes(Some(BARE), r#"mtlsIssuerDN("O=nobody")"#));
}

#[test]
fn a_certificate_is_passed_on_and_none_can_be_made_up() {
    let mut trial = with(Some(CLIENT)).with("x-forwarded-tls-client-cert", "mine");
    trial.request("tlsPassClientCertificates()");
    assert_eq!(trial.field("x-forwarded-tls-client-cert"), [CLIENT]);

    let mut trial = with(None).with("x-forwarded-tls-client-cert", "mine");
    trial.request("tlsPassClientCertificates()");
    assert!(trial.field("x-forwarded-tls-client-cert").is_empty());
}

#[test]
fn what_can_be_in_no_certificate_is_a_mistake() {
    for wrong in [
        "tlsPassClientCertificates(1)",
        "mtlsAuthn(1)",
        "mtlsCN()",
        "mtlsCN(1)",
        r#"mtlsCN("")"#,
        "mtlsIssuerDN()",
        r#"mtlsIssuerDN("My CA")"#,
        r#"mtlsSanDNS("")"#,
        r#"mtlsSanIP("10.0.0.0/8")"#,
        r#"mtlsSanCIDR("10.0.0.1")"#,
        "mtlsSanURI()",
    ] {
        assert!(
            Trial::mistake(wrong).starts_with("invalid_filter_params"),
            "{wrong}"
        );
    }
}
