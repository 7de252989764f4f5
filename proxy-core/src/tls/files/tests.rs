//! Loading from files, good and bad.

use std::fs;
use std::time::Duration;

use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, SignatureAlgorithm,
};
use rustls::crypto::aws_lc_rs;
use tempfile::TempDir;

use super::*;

const YEAR: u64 = 365 * 24 * 60 * 60;

/// A certificate in PEM and its key in PEM, valid from 2020 to 2030.
fn make(names: &[&str], algorithm: &'static SignatureAlgorithm) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2030, 1, 1);
    let key = KeyPair::generate_for(algorithm).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn p384(names: &[&str]) -> (String, String) {
    make(names, &PKCS_ECDSA_P384_SHA384)
}

fn year(year: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(
        (year - 1970) * YEAR + (year - 1969) / 4 * 24 * 60 * 60,
    ))
}

/// Writes both files and loads them.
fn load_pem(directory: &TempDir, certificate: &str, key: &str) -> Result<Loaded, FileError> {
    let (certificate_path, key_path) = (
        directory.path().join("site.crt"),
        directory.path().join("site.key"),
    );
    fs::write(&certificate_path, certificate).unwrap();
    fs::write(&key_path, key).unwrap();
    load(&certificate_path, &key_path, &aws_lc_rs::default_provider())
}

#[track_caller]
fn assert_refused(certificate: &str, key: &str, file: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let message = load_pem(&directory, certificate, key).unwrap_err().to_string();
    let path = directory.path().join(file).display().to_string();
    assert!(message.starts_with(&format!("{path}: ")), "{message}");
    assert!(message.contains(expected), "{message}");
}

#[test]
fn chains_of_every_supported_kind_of_key_are_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let (other, _) = p384(&["issuer.example.com"]);
    for algorithm in [&PKCS_ECDSA_P384_SHA384, &PKCS_ED25519, &PKCS_RSA_SHA256] {
        let (certificate, key) = make(&["app.example.com"], algorithm);

        let loaded = load_pem(&directory, &format!("{certificate}{other}"), &key).unwrap();

        assert_eq!(loaded.key.cert.len(), 2);
        assert!(loaded.key.keys_match().is_ok());
    }
}

#[test]
fn one_file_may_hold_both() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = p384(&["app.example.com"]);
    let path = directory.path().join("both.pem");
    fs::write(&path, format!("{key}{certificate}")).unwrap();

    assert!(load(&path, &path, &aws_lc_rs::default_provider()).is_ok());
}

#[test]
fn a_missing_file_is_named_with_the_reason() {
    let missing = Path::new("/nonexistent/site.crt");
    let message = load(missing, missing, &aws_lc_rs::default_provider())
        .unwrap_err()
        .to_string();

    assert!(
        message.starts_with("/nonexistent/site.crt: cannot be read: No such file"),
        "{message}"
    );
    assert!(message.contains("check the path"), "{message}");
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let ((a, _), (_, b_key)) = (p384(&["a.example.com"]), p384(&["b.example.com"]));

    assert_refused(&a, &b_key, "site.key", "is not that of the certificate in");
}

#[test]
fn a_chain_in_the_wrong_order_is_refused_with_the_number_of_the_right_one() {
    let ((a, a_key), (b, _)) = (p384(&["a.example.com"]), p384(&["b.example.com"]));

    assert_refused(
        &format!("{b}{a}"),
        &a_key,
        "site.key",
        "is that of certificate number 2 in",
    );
}

#[test]
fn swapped_empty_encrypted_and_damaged_files_are_told_apart() {
    let (certificate, key) = p384(&["app.example.com"]);
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGb\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let cut: String = certificate.chars().take(200).collect();
    let wrong_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let wrong_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

    assert_refused(&key, &certificate, "site.crt", "holds no certificate");
    assert_refused("", &key, "site.crt", "holds no certificate");
    assert_refused(&cut, &key, "site.crt", "is not valid PEM");
    assert_refused(
        wrong_der,
        &key,
        "site.crt",
        "certificate number 1 in it is damaged",
    );
    assert_refused(
        &format!("{certificate}{wrong_der}"),
        &key,
        "site.crt",
        "certificate number 2 in it is damaged",
    );
    assert_refused(&certificate, &certificate, "site.key", "holds no private key");
    assert_refused(&certificate, encrypted, "site.key", "openssl pkey");
    assert_refused(
        &certificate,
        wrong_key,
        "site.key",
        "damaged or of a kind that is not supported",
    );
}

#[test]
fn an_endless_file_is_not_read_whole() {
    let (_, key) = p384(&["app.example.com"]);
    assert_refused(&"x".repeat(2 << 20), &key, "site.crt", "longer than 1 MiB");
}

#[test]
fn no_message_and_no_debug_text_shows_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = p384(&["app.example.com"]);
    let secret = key.lines().nth(1).unwrap();
    // Broken in ways that make the PEM reader quote what it read.
    let broken = [
        key.replace("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY"),
        key.replace("-----END PRIVATE KEY-----", ""),
        key.replace(secret, &format!("{secret}?")),
    ];
    for key in broken {
        let error = load_pem(&directory, &certificate, &key).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
    }

    let loaded = load_pem(&directory, &certificate, &key).unwrap();

    let der = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let bytes = format!("{:?}", &der.secret_der()[40..60]);
    let debug = format!("{loaded:?} {:?}", loaded.key);
    assert!(
        !debug.contains(secret) && !debug.contains(bytes.trim_matches(['[', ']'])),
        "{debug}"
    );
}

#[test]
fn what_clients_would_refuse_is_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = p384(&[
        "app.example.com",
        "*.wild.example.com",
        "192.0.2.1",
        "2001:db8::1",
    ]);
    let loaded = load_pem(&directory, &certificate, &key).unwrap();
    let warnings = |names: &[&str], now| {
        let names: Vec<ServedName> = names
            .iter()
            .map(|name| ServedName::parse(name).unwrap())
            .collect();
        loaded.warnings(&names, now).join("; ")
    };
    let good = [
        "app.example.com",
        "a.wild.example.com",
        "*.wild.example.com",
        "192.0.2.1",
        "2001:db8::1",
    ];

    assert_eq!(warnings(&good, year(2026)), "");
    assert_eq!(warnings(&[], year(2026)), "");
    assert_eq!(
        warnings(&["other.example.com", "192.0.2.2"], year(2026)),
        "the certificate is not for other.example.com; clients will refuse it; \
         the certificate is not for 192.0.2.2; clients will refuse it"
    );
    assert!(
        warnings(&good, year(2031)).starts_with("the certificate expired 36"),
        "{}",
        warnings(&good, year(2031))
    );
    assert!(warnings(&good, year(2019)).contains("not valid yet"));
    let week = UnixTime::since_unix_epoch(Duration::from_secs(year(2030).as_secs() - 5 * 24 * 60 * 60));
    assert!(warnings(&good, week).contains("expires in"));
}
