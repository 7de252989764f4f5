//! Certificates of Secrets, in files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use k8s_openapi::ByteString;

use super::*;

const A: (&str, &str) = (include_str!("pem/a.crt"), include_str!("pem/a.key"));
const B: (&str, &str) = (include_str!("pem/b.crt"), include_str!("pem/b.key"));

fn secret(kind: &str, certificate: &str, key: &str) -> Value {
    let encoded = |text: &str| serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap();
    json!({
        "metadata": { "namespace": "shop", "name": "cert" }, "type": kind,
        "data": { "tls.crt": encoded(certificate), "tls.key": encoded(key) },
    })
}

const TLS: &str = "kubernetes.io/tls";

async fn api_with_tls() -> Api {
    let api = api().await;
    let mut ingress = ingress("a");
    ingress["spec"]["tls"] = json!([{ "hosts": ["a.test"], "secretName": "cert" }]);
    api.put("ingresses", ingress);
    api
}

/// The text of the certificate and of the key that the document of `a.test` names.
fn files(snapshot: &Snapshot) -> Option<(String, String)> {
    let document = document(snapshot, "a.test")?;
    let tls = document.raw().tls.as_ref()?;
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    Some((read(&tls.certificate), read(&tls.key)))
}

fn is(files: Option<(String, String)>, pair: (&str, &str)) -> bool {
    files.is_some_and(|(certificate, key)| certificate == pair.0 && key == pair.1)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_certificate_is_in_files_that_only_its_owner_reads() {
    let api = api_with_tls().await;
    api.put("secrets", secret(TLS, A.0, A.1));
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(&api);
    settings.tls_directory = directory.path().join("made");
    let snapshot = run(settings).complete().await;
    assert!(is(files(&snapshot), A));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.path().join("made")), 0o700);
    let tls = document(&snapshot, "a.test").unwrap().raw().tls.clone().unwrap();
    assert_eq!(mode(Path::new(&tls.key)), 0o600);
    assert_eq!(mode(Path::new(&tls.certificate)), 0o600);
}

#[tokio::test]
async fn a_new_certificate_gets_new_files_and_the_old_ones_go() {
    let api = api_with_tls().await;
    api.put("secrets", secret(TLS, A.0, A.1));
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(&api);
    settings.tls_directory = directory.path().to_owned();
    let mut running = run(settings);
    running.complete().await;
    let before = names(directory.path());
    api.put("secrets", secret(TLS, B.0, B.1));
    running
        .until("the new one", |snapshot| is(files(snapshot), B))
        .await;
    // Whoever is about to read the old files still can; they go with a later snapshot.
    api.put("ingresses", ingress("b"));
    running
        .until("another change", |snapshot| snapshot.routes.len() == 2)
        .await;
    api.put("ingresses", ingress("c"));
    running
        .until("another change", |snapshot| snapshot.routes.len() == 3)
        .await;
    running.stop().await;
    let after = names(directory.path());
    assert_eq!(after.len(), 2);
    assert!(before.iter().all(|name| !after.contains(name)));
}

#[tokio::test]
async fn a_secret_that_breaks_keeps_its_last_good_files() {
    let api = api_with_tls().await;
    api.put("secrets", secret(TLS, A.0, A.1));
    let mut running = run(settings(&api));
    running.complete().await;
    for (broken, reason) in [
        (
            secret("Opaque", A.0, A.1),
            "the type of the Secret is not kubernetes.io/tls",
        ),
        (secret(TLS, "no PEM", A.1), "no certificate as PEM"),
        (secret(TLS, A.0, "no PEM"), "no private key as PEM"),
        (secret(TLS, A.0, B.1), "the key is not that of the certificate"),
        (secret(TLS, A.0, ""), "has no key `tls.key`"),
    ] {
        api.put("secrets", broken);
        let snapshot = running
            .until(reason, |snapshot| {
                snapshot.invalid.iter().any(|one| one.reason.contains(reason))
            })
            .await;
        assert!(is(files(&snapshot), A), "{reason}");
        assert!(snapshot.invalid[0].kept);
    }
    api.delete("secrets", "shop", "cert");
    let snapshot = running
        .until("it is gone", |snapshot| {
            snapshot
                .invalid
                .iter()
                .any(|one| one.reason.contains("not there"))
        })
        .await;
    assert!(is(files(&snapshot), A));
    api.put("secrets", secret(TLS, B.0, B.1));
    let mended = running
        .until("it is mended", |snapshot| snapshot.invalid.is_empty())
        .await;
    assert!(is(files(&mended), B));
}

#[tokio::test]
async fn the_last_good_files_are_those_of_an_earlier_process_too() {
    let api = api_with_tls().await;
    api.put("secrets", secret(TLS, A.0, A.1));
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(&api);
    settings.tls_directory = directory.path().to_owned();
    let mut first = run(settings.clone());
    first.complete().await;
    first.stop().await;
    api.put("secrets", secret(TLS, "no PEM", A.1));
    let snapshot = run(settings).complete().await;
    assert!(is(files(&snapshot), A));
    assert!(snapshot.invalid[0].kept);
}

#[tokio::test]
async fn a_certificate_that_never_was_closes_what_wants_it_until_it_comes() {
    let api = api_with_tls().await;
    let mut running = run(settings(&api));
    let snapshot = running.complete().await;
    assert!(files(&snapshot).is_none() && addresses(&snapshot, "a.test").is_empty());
    api.put("secrets", secret(TLS, A.0, A.1));
    let snapshot = running.until("it comes", |snapshot| is(files(snapshot), A)).await;
    assert_eq!(addresses(&snapshot, "a.test"), ["10.0.0.1:8080"]);
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_reported() {
    let api = api_with_tls().await;
    api.put("secrets", secret(TLS, A.0, A.1));
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut settings = settings(&api);
    settings.tls_directory = file.path().join("below-a-file");
    let snapshot = run(settings).complete().await;
    assert!(
        snapshot.invalid[0]
            .reason
            .contains("it cannot be written to a file")
    );
    assert!(addresses(&snapshot, "a.test").is_empty());
}
