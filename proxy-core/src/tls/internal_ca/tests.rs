//! The authority and its files.

use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use rustls::crypto::aws_lc_rs;
use tempfile::TempDir;

use super::*;

const NOW: u64 = 1_800_000_000;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn open(data: &TempDir) -> Result<InternalCa, CaError> {
    InternalCa::open(Some(data.path()), at(NOW), &aws_lc_rs::default_provider())
}

fn mint(ca: &InternalCa, name: &str, now: u64) -> Leaf {
    ca.mint(
        &ServedName::parse(name).unwrap(),
        at(now),
        &aws_lc_rs::default_provider(),
    )
    .unwrap()
}

fn paths(data: &TempDir) -> (PathBuf, PathBuf) {
    let directory = data.path().join(DIRECTORY);
    (directory.join(ROOT_CERTIFICATE), directory.join(ROOT_KEY))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn leaf_facts(leaf: &Leaf) -> Facts {
    Facts::read(&leaf.key.cert[0]).unwrap()
}

/// Whether a client that trusts `root` takes the leaf for app.example.com.
fn webpki_verified(leaf: &Leaf, root: &CertificateDer<'static>, now: u64) -> Result<(), rustls::Error> {
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.clone())?;
    let provider = std::sync::Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .unwrap();
    let name = "app.example.com".try_into().unwrap();
    verifier
        .verify_server_cert(&leaf.key.cert[0], &[], &name, &[], at(now))
        .map(drop)
}

#[test]
fn the_root_is_made_once_and_loaded_from_then_on() {
    let data = tempfile::tempdir().unwrap();
    let first = open(&data).unwrap();
    let (certificate, key) = paths(&data);
    let before = (fs::read(&certificate).unwrap(), fs::read(&key).unwrap());

    let second = open(&data).unwrap();

    assert_eq!(first.root(), second.root());
    assert_eq!(before, (fs::read(&certificate).unwrap(), fs::read(&key).unwrap()));
    // What the second signs, the first's root vouches for.
    let leaf = mint(&second, "app.example.com", NOW);
    let chain = webpki_verified(&leaf, first.root(), NOW);
    assert!(chain.is_ok(), "{chain:?}");
}

#[test]
fn files_and_directories_are_for_their_owner_alone_and_nothing_else_is_left() {
    let data = tempfile::tempdir().unwrap();
    open(&data).unwrap();
    let (certificate, key) = paths(&data);

    assert_eq!((mode(&key), mode(&certificate)), (0o600, 0o600));
    let mut directory = certificate.parent().unwrap();
    while directory != data.path() {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
        assert_eq!(
            fs::read_dir(directory).unwrap().count(),
            if directory == key.parent().unwrap() { 2 } else { 1 }
        );
        directory = directory.parent().unwrap();
    }
}

#[test]
fn a_damaged_authority_is_an_error_and_stays_as_it_is() {
    let (certificate_bad, key_bad) = (0, 1);
    for (which, content, expected) in [
        (certificate_bad, "", "holds no certificate"),
        (
            certificate_bad,
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "damaged",
        ),
        (key_bad, "", "holds no private key"),
        (
            key_bad,
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "damaged",
        ),
    ] {
        let data = tempfile::tempdir().unwrap();
        open(&data).unwrap();
        let (certificate, key) = paths(&data);
        let broken = if which == certificate_bad {
            &certificate
        } else {
            &key
        };
        fs::write(broken, content).unwrap();

        let message = open(&data).unwrap_err().to_string();

        assert!(message.contains(&broken.display().to_string()), "{message}");
        assert!(
            message.contains(expected) && message.contains("not replaced"),
            "{message}"
        );
        assert_eq!(fs::read_to_string(broken).unwrap(), content);
    }
}

#[test]
fn a_key_of_another_root_is_an_error() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(&data).unwrap();
    open(&other).unwrap();
    fs::copy(paths(&other).1, paths(&data).1).unwrap();

    let message = open(&data).unwrap_err().to_string();

    assert!(message.contains("is not that of the certificate in"), "{message}");
}

#[test]
fn half_an_authority_is_an_error_that_says_what_to_do() {
    for missing_key in [true, false] {
        let data = tempfile::tempdir().unwrap();
        open(&data).unwrap();
        let (certificate, key) = paths(&data);
        let (missing, other) = if missing_key {
            (key, certificate)
        } else {
            (certificate, key)
        };
        fs::remove_file(&missing).unwrap();

        let message = open(&data).unwrap_err().to_string();

        assert!(
            message.contains(&format!("{} is missing; restore it", missing.display())),
            "{message}"
        );
        assert!(
            message.contains(&format!("or move {} away", other.display())),
            "{message}"
        );
        assert!(!missing.exists());
    }
}

#[test]
fn a_certificate_that_may_not_sign_is_no_root() {
    let data = tempfile::tempdir().unwrap();
    open(&data).unwrap();
    let (certificate, key) = paths(&data);
    let made = rcgen::generate_simple_self_signed(["app.example.com".to_owned()]).unwrap();
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();

    assert!(matches!(open(&data), Err(CaError::NoAuthority(path)) if path == certificate));
}

#[test]
fn an_expired_root_is_an_error_with_a_way_out() {
    let data = tempfile::tempdir().unwrap();
    open(&data).unwrap();
    let later = at(NOW + ROOT_LIFETIME.as_secs());

    let error = InternalCa::open(Some(data.path()), later, &aws_lc_rs::default_provider()).unwrap_err();

    assert!(
        error
            .to_string()
            .contains("has expired; move it and its key away"),
        "{error}"
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named_with_the_reason() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("pki"), "a file where a directory should be").unwrap();

    let message = open(&data).unwrap_err().to_string();

    assert!(message.contains("pki/authorities"), "{message}");
    assert!(
        message.contains("cannot store the internal authority"),
        "{message}"
    );
}

#[test]
fn of_two_processes_that_start_at_once_both_get_the_root_of_the_first() {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().join(DIRECTORY);
    assert!(store(&directory, &make_root(at(NOW)).unwrap()).unwrap());
    let first = fs::read(paths(&data).0).unwrap();

    assert!(!store(&directory, &make_root(at(NOW)).unwrap()).unwrap());

    assert_eq!(fs::read(paths(&data).0).unwrap(), first);
    assert_eq!(fs::read_dir(directory.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_root_with_a_key_in_the_older_form_is_loaded() {
    // As Caddy writes it: EC PRIVATE KEY (SEC 1), which PKCS #8 holds inside.
    let data = tempfile::tempdir().unwrap();
    open(&data).unwrap();
    let (_, key) = paths(&data);
    let pkcs8 = files::read_key(&key).unwrap().secret_der().to_vec();
    let inner = pkcs8
        .windows(3)
        .rposition(|window| window == [0x30, 0x6b, 0x02])
        .unwrap();
    let encoded = base64::prelude::BASE64_STANDARD.encode(&pkcs8[inner..]);
    let pem = format!("-----BEGIN EC PRIVATE KEY-----\n{encoded}\n-----END EC PRIVATE KEY-----\n");
    fs::write(&key, pem).unwrap();

    let ca = open(&data).unwrap();

    let leaf = mint(&ca, "app.example.com", NOW);
    let verified = webpki_verified(&leaf, ca.root(), NOW);
    assert!(verified.is_ok(), "{verified:?}");
}

#[test]
fn leaves_live_half_a_day_but_not_longer_than_the_root() {
    let ca = InternalCa::open(None, at(NOW), &aws_lc_rs::default_provider()).unwrap();
    let half_a_day = 12 * 60 * 60;

    let leaf = mint(&ca, "app.example.com", NOW);
    let facts = leaf_facts(&leaf);
    assert_eq!(
        (facts.not_before, facts.not_after),
        ((NOW - 3600) as i64, (NOW + half_a_day) as i64)
    );
    assert_eq!(leaf.renew_at, NOW + half_a_day * 2 / 3);
    assert!(!facts.is_authority);

    let end = NOW + ROOT_LIFETIME.as_secs();
    let last = mint(&ca, "app.example.com", end - 60);
    assert_eq!(leaf_facts(&last).not_after, end as i64);
}

#[test]
fn each_leaf_has_its_own_key() {
    let ca = InternalCa::open(None, at(NOW), &aws_lc_rs::default_provider()).unwrap();
    let keys = [1, 2].map(|_| {
        mint(&ca, "app.example.com", NOW)
            .key
            .key
            .public_key()
            .unwrap()
            .to_vec()
    });

    assert_ne!(keys[0], keys[1]);
}

#[test]
fn long_names_and_addresses_get_certificates_too() {
    let ca = InternalCa::open(None, at(NOW), &aws_lc_rs::default_provider()).unwrap();
    let long = format!("{}.{}.example.com", "a".repeat(63), "b".repeat(63));
    for name in [
        long.as_str(),
        "*.example.com",
        "192.0.2.1",
        "2001:db8::1",
        "localhost",
    ] {
        let name = ServedName::parse(name).unwrap();
        let leaf = ca.mint(&name, at(NOW), &aws_lc_rs::default_provider()).unwrap();
        assert!(leaf_facts(&leaf).covers(&name), "{name:?}");
    }
}

#[test]
fn debug_text_does_not_show_the_key() {
    let data = tempfile::tempdir().unwrap();
    let debug = format!("{:?}", open(&data).unwrap());
    let der = files::read_key(&paths(&data).1).unwrap();
    let bytes = format!("{:?}", &der.secret_der()[40..60]);

    assert!(!debug.contains(bytes.trim_matches(['[', ']'])), "{debug}");
}
