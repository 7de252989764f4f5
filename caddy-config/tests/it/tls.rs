//! What is wrong with certificates and with the ways that connections are made.

use caddy_config::from_caddyfile;

use crate::caddyfile::{adapted, findings, in_a_site, in_the_options};

#[track_caller]
fn assert_site(lines: &str, expected: &str) {
    in_a_site(&[(lines, expected)]);
}

fn site(lines: &str) -> String {
    format!("example.com {{\n\t{lines}\n}}\n")
}

#[test]
fn arguments_of_tls_are_checked() {
    for (lines, expected) in [
        ("tls", "2:2: `tls` needs arguments"),
        ("tls acme", "2:6: unexpected argument `acme`"),
        ("tls a.pem a.key b.pem", "2:18: unexpected argument `b.pem`"),
        ("tls \"\" a.key", "2:6: the path is empty"),
        ("tls {env.CERT} a.key", "2:6: placeholders are not supported here"),
        (
            "tls a.pem a.key\n\ttls a.pem b.key",
            "3:12: this certificate was given another key before",
        ),
    ] {
        assert_site(lines, expected);
    }
}

#[test]
fn options_of_tls_are_checked() {
    let sni = "expected one of secp256r1, secp384r1, secp521r1, x25519, x25519mlkem768";
    for (option, expected) in [
        ("nonsense", "3:3: unknown option `nonsense` of `tls`".to_owned()),
        (
            "get_certificate tailscale",
            "3:3: the option `get_certificate` of `tls` is not supported".to_owned(),
        ),
        (
            "insecure_secrets_log a",
            "3:3: the option `insecure_secrets_log` of `tls` is not supported".to_owned(),
        ),
        (
            "dns cloudflare TOKEN",
            "3:3: the option `dns` of `tls` is not supported".to_owned(),
        ),
        (
            "protocols",
            "3:3: `protocols` needs a version, such as tls1.2".to_owned(),
        ),
        ("protocols tls1.1", "3:13: expected tls1.2 or tls1.3".to_owned()),
        (
            "protocols tls1.3 tls1.2",
            "3:20: the oldest version of TLS is newer than the newest".to_owned(),
        ),
        (
            "protocols tls1.2 tls1.3 tls1.3",
            "3:27: unexpected argument `tls1.3`".to_owned(),
        ),
        ("curves p256", format!("3:10: {sni}")),
        ("alpn", "3:3: `alpn` needs a protocol, such as h2".to_owned()),
        (
            "alpn h2\n\t\talpn h2",
            "4:3: `alpn` is given twice, first on line 3".to_owned(),
        ),
        (
            "ca acme.example.com",
            "3:6: expected a URL such as http://127.0.0.1:9000/check".to_owned(),
        ),
        ("eab name", "3:3: `eab` needs a name and a key".to_owned()),
    ] {
        assert_site(&format!("tls {{\n\t\t{option}\n\t}}"), &expected);
    }
}

#[test]
fn what_tls_says_of_issuers_is_checked() {
    for (option, expected) in [
        (
            "key_type rsa1024",
            "3:12: expected one of ed25519, p256, p384, rsa2048, rsa4096".to_owned(),
        ),
        (
            "renewal_window_ratio 1",
            "3:24: expected a number between 0 and 1".to_owned(),
        ),
        (
            "renewal_window_ratio 0",
            "3:24: expected a number between 0 and 1".to_owned(),
        ),
        (
            "renewal_window_ratio NaN",
            "3:24: expected a number between 0 and 1".to_owned(),
        ),
        (
            "on_demand always",
            "3:13: unexpected argument `always`".to_owned(),
        ),
        ("load", "3:3: `load` needs a directory".to_owned()),
        ("issuer", "3:3: `issuer` needs `acme` or `internal`".to_owned()),
        (
            "issuer zerossl KEY",
            "3:10: the issuer `zerossl` is not supported".to_owned(),
        ),
        (
            "issuer nobody",
            "3:10: unknown or unsupported issuer `nobody`".to_owned(),
        ),
        (
            "issuer internal {\n\t\t\tca other\n\t\t}",
            "4:7: there is one authority, `local`".to_owned(),
        ),
        (
            "issuer acme {\n\t\t\tdns cloudflare\n\t\t}",
            "4:4: the option `dns` of `tls` is not supported".to_owned(),
        ),
        (
            "issuer acme {\n\t\t\talt_http_port 0\n\t\t}",
            "4:18: expected a port from 1 to 65535".to_owned(),
        ),
        (
            "issuer acme {\n\t\t\tpreferred_chains\n\t\t}",
            "4:4: nothing is preferred".to_owned(),
        ),
        (
            "issuer acme {\n\t\t\tpreferred_chains {\n\t\t\t\troot_common_name a\n\t\t\t\tany_common_name b\n\t\t\t}\n\t\t}",
            "4:4: only one of the two is possible".to_owned(),
        ),
        (
            "ca https://a/\n\t\tissuer acme",
            "3:3: this and `issuer` both say who issues certificates".to_owned(),
        ),
    ] {
        assert_site(&format!("tls {{\n\t\t{option}\n\t}}"), &expected);
    }
    assert_site(
        "tls internal {\n\t\tca https://a/\n\t}",
        "3:3: this is for public authorities, and `internal` for the proxy's own",
    );
}

#[test]
fn what_clients_must_show_is_checked() {
    for (option, expected) in [
        ("", "3:3: `client_auth` asks for nothing"),
        (
            "mode always",
            "4:9: expected request, require, verify_if_given or require_and_verify",
        ),
        ("nonsense", "4:4: unknown or unsupported option `nonsense`"),
        (
            "trust_pool",
            "4:4: `trust_pool` needs a pool, such as `file ca.pem`",
        ),
        (
            "trust_pool pki_root local",
            "4:15: the pool `pki_root` is not supported",
        ),
        ("trust_pool file", "4:15: `file` needs a path"),
        (
            "trusted_leaf_cert !",
            "4:22: expected a certificate in DER form, in standard base64",
        ),
        (
            "trusted_ca_cert_file a.pem\n\t\t\ttrust_pool file b.pem",
            "4:4: the authorities are given in two ways",
        ),
        (
            "trusted_leaf_cert_file a.pem\n\t\t\ttrusted_leaf_cert AAAA",
            "4:4: the certificates of clients are given in two ways",
        ),
        ("verifier", "4:4: `verifier` needs a kind: `leaf`"),
        ("verifier other", "4:13: unknown or unsupported verifier `other`"),
        ("verifier leaf", "4:13: `leaf` needs a `file`"),
        (
            "verifier leaf folder a",
            "4:18: the loader `folder` is not supported",
        ),
        ("verifier leaf file", "4:18: `file` needs a path"),
    ] {
        let lines = if option.is_empty() {
            "client_auth".to_owned()
        } else {
            format!("client_auth {{\n\t\t\t{option}\n\t\t}}")
        };
        assert_site(&format!("tls {{\n\t\t{lines}\n\t}}"), expected);
    }
}

#[test]
fn old_ways_to_say_what_clients_must_show_are_read() {
    let read = |lines: &str| {
        let adapted = adapted(&site(&format!(
            "tls {{\n\t\tclient_auth {{\n\t\t\t{lines}\n\t\t}}\n\t}}"
        )));
        let warnings = adapted.warnings.len();
        (adapted.config.to_json(), warnings)
    };
    let (json, warnings) = read("trusted_ca_cert_file a.pem\n\t\t\ttrusted_ca_cert_file b.pem");
    assert!(
        json.contains(r#""ca":{"pem_files":["a.pem","b.pem"],"provider":"file"}"#),
        "{json}"
    );
    assert_eq!(warnings, 1);
    let (json, warnings) = read("trusted_ca_cert AAAA");
    assert!(
        json.contains(r#""ca":{"provider":"inline","trusted_ca_certs":["AAAA"]}"#),
        "{json}"
    );
    assert_eq!(warnings, 1);
    let (json, warnings) = read("trusted_leaf_cert_file a.pem");
    let leaf =
        r#""verifiers":[{"leaf_certs_loaders":[{"files":["a.pem"],"loader":"file"}],"verifier":"leaf"}]"#;
    assert!(json.contains(leaf), "{json}");
    assert_eq!(warnings, 0);
}

#[test]
fn directives_for_the_same_names_must_agree() {
    let two = |first: &str, second: &str| {
        let block = |lines: &str| format!("tls {{\n\t\t{lines}\n\t}}");
        findings(&site(&format!("{}\n\t{}", block(first), block(second))))
    };
    let request = "client_auth {\n\t\t\tmode request\n\t\t}";
    let require = "client_auth {\n\t\t\tmode require\n\t\t}";
    for (first, second, line, name) in [
        ("alpn h2", "alpn http/1.1", 5, "alpn"),
        ("curves x25519", "curves secp256r1", 5, "curves"),
        ("protocols tls1.2", "protocols tls1.3", 5, "protocols"),
        (request, require, 7, "client_auth"),
    ] {
        assert_eq!(
            two(first, second),
            [format!(
                "{line}:2: another `tls` for the same names has another `{name}`"
            )]
        );
    }
}

#[test]
fn global_options_about_certificates_are_checked() {
    in_the_options(&[
        ("email", "2:2: `email` needs an address"),
        (
            "acme_ca a",
            "2:10: expected a URL such as http://127.0.0.1:9000/check",
        ),
        ("acme_eab", "2:2: `acme_eab` needs a name and a key"),
        (
            "acme_dns cloudflare TOKEN",
            "2:2: the global option `acme_dns` is not supported",
        ),
        ("cert_issuer", "2:2: `cert_issuer` needs `acme` or `internal`"),
        (
            "local_certs\n\tcert_issuer acme",
            "2:2: `local_certs` and `cert_issuer` both say who issues certificates",
        ),
        (
            "key_type rsa",
            "2:11: expected one of ed25519, p256, p384, rsa2048, rsa4096",
        ),
        ("ocsp_stapling on", "2:16: expected `off`"),
        ("storage_check on", "2:16: expected `off`"),
        (
            "storage_clean_interval never",
            "2:25: expected a duration, such as 10s",
        ),
        (
            "on_demand_tls",
            "2:2: nobody is asked whether a name may have a certificate",
        ),
        (
            "on_demand_tls {\n\t\tinterval 1m\n\t}",
            "3:3: the option `interval` is not supported",
        ),
        (
            "on_demand_tls {\n\t\task nobody\n\t}",
            "3:7: expected a URL such as http://127.0.0.1:9000/check",
        ),
        (
            "on_demand_tls {\n\t\tpermission file\n\t}",
            "3:14: unknown or unsupported permission `file`",
        ),
        (
            "on_demand_tls {\n\t\tpermission http\n\t}",
            "3:14: `http` needs a URL",
        ),
        ("default_sni", "2:2: `default_sni` needs a name"),
        ("ech a", "2:2: the global option `ech` is not supported"),
    ]);
}

/// A secret is not shown, not even where the line is wrong.
#[test]
fn keys_of_accounts_are_not_shown() {
    let options = [
        "acme_eab s3cr3t s3cr3t",
        "acme_eab {\n\t\tmac_key s3cr3t\n\t}",
        "acme_dns cloudflare s3cr3t",
        "acme_dns cloudflare {\n\t\tapi_token s3cr3t\n\t}",
        "cert_issuer acme {\n\t\teab name s3cr3t surplus\n\t}",
        "cert_issuer acme {\n\t\tdns cloudflare s3cr3t\n\t}",
    ];
    let sites = [
        "tls {\n\t\teab name s3cr3t more\n\t}",
        "tls {\n\t\tdns cloudflare s3cr3t\n\t}",
    ];
    let options = options.iter().map(|option| format!("{{\n\t{option}\n}}\n"));
    for text in options.chain(sites.iter().map(|lines| site(lines))) {
        let findings = from_caddyfile("Caddyfile", &text, &|_| None).unwrap_err();
        let findings = findings.to_string();
        assert!(!findings.contains("s3cr3t"), "{findings}");
    }
}
