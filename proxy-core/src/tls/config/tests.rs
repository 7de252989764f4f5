//! Handshakes with a client, in memory and on a clock of the test's own.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::Resumption;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion, RootCertStore, ServerConnection,
};
use rustls_pki_types::ServerName;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::super::Versions;
use super::super::files::Facts;
use super::*;

const NOW: u64 = 1_800_000_000;
const HOUR: u64 = 60 * 60;
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

#[derive(Debug)]
struct TestClock(AtomicU64);

impl TimeProvider for TestClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(
            self.0.load(Ordering::Relaxed),
        )))
    }
}

/// Certificates on a clock, with a data directory.
struct Fixture {
    data: TempDir,
    clock: Arc<TestClock>,
    certificates: Arc<Certificates>,
}

/// What the client saw.
#[derive(Debug)]
struct Seen {
    certificate: CertificateDer<'static>,
    alpn: Option<Vec<u8>>,
    kind: HandshakeKind,
    version: ProtocolVersion,
}

impl Fixture {
    fn new() -> Self {
        Self::on(tempfile::tempdir().unwrap(), NOW)
    }

    fn on(data: TempDir, now: u64) -> Self {
        let clock = Arc::new(TestClock(now.into()));
        let certificates = Certificates::new(Some(data.path().into()), Arc::clone(&clock) as _).unwrap();
        Self {
            data,
            clock,
            certificates: Arc::new(certificates),
        }
    }

    fn server(&self, sites: &[TlsSite]) -> Arc<ServerConfig> {
        let plan = self.certificates.plan(sites, &[policy()]).unwrap();
        Arc::clone(plan.always().unwrap())
    }

    fn client(&self) -> ClientConfig {
        self.client_trusting(&self.certificates.internal_root().unwrap())
    }

    fn client_trusting(&self, root: &CertificateDer<'static>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(root.clone()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut client = ClientConfig::builder_with_details(provider, Arc::clone(&self.clock) as _)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        client
    }

    fn advance(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

/// For all connections.
fn policy() -> TlsPolicy {
    let terms = Terms {
        alpn: ALPN.map(<[u8]>::to_vec).into(),
        ..Terms::default()
    };
    TlsPolicy { names: None, terms }
}

fn site(names: &[&str], source: CertSource) -> TlsSite {
    TlsSite {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        source,
    }
}

fn internal(names: &[&str]) -> TlsSite {
    site(names, CertSource::Internal)
}

/// A site with files, and its certificate, which is its own root.
fn from_files(directory: &Path, names: &[&str]) -> (TlsSite, CertificateDer<'static>) {
    let in_certificate = if names.is_empty() {
        &["catch-all.example.com"]
    } else {
        names
    };
    let in_certificate: Vec<String> = in_certificate.iter().map(|name| (*name).to_owned()).collect();
    let file = directory.join(in_certificate[0].replace('*', "_"));
    let (certificate, key) = (file.with_extension("crt"), file.with_extension("key"));
    let made = rcgen::generate_simple_self_signed(in_certificate).unwrap();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (
        site(names, CertSource::Files { certificate, key }),
        made.cert.der().clone(),
    )
}

/// Shakes hands and says what the client saw; an alert of the server is the client's error.
fn shake_hands(
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
    name: &str,
) -> Result<Seen, rustls::Error> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    let mut refused = None;
    // Until nobody has anything left to say, tickets included.
    while client.wants_write() || server.wants_write() {
        let mut pipe = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut pipe).unwrap();
        }
        server.read_tls(&mut &pipe[..]).unwrap();
        // The alert that explains an error is still sent.
        let outcome = server.process_new_packets().err();
        refused = refused.or(outcome);
        pipe.clear();
        while server.wants_write() {
            server.write_tls(&mut pipe).unwrap();
        }
        client.read_tls(&mut &pipe[..]).unwrap();
        client.process_new_packets()?;
    }
    assert_eq!(refused, None, "the client did not notice");
    exchange(&mut client, &mut server);
    Ok(Seen {
        certificate: client.peer_certificates().unwrap()[0].clone(),
        alpn: client.alpn_protocol().map(<[u8]>::to_vec),
        kind: client.handshake_kind().unwrap(),
        version: client.protocol_version().unwrap(),
    })
}

/// One message from the client arrives.
fn exchange(client: &mut ClientConnection, server: &mut ServerConnection) {
    client.writer().write_all(b"hello").unwrap();
    let mut pipe = Vec::new();
    client.write_tls(&mut pipe).unwrap();
    server.read_tls(&mut &pipe[..]).unwrap();
    server.process_new_packets().unwrap();
    let mut received = [0; 5];
    server.reader().read_exact(&mut received).unwrap();
    assert_eq!(&received, b"hello");
}

fn covers(certificate: &CertificateDer<'_>, name: &str) -> bool {
    Facts::read(certificate)
        .unwrap()
        .covers(&ServedName::parse(name).unwrap())
}

#[test]
fn each_name_gets_its_certificate_and_an_unknown_name_none() {
    let f = Fixture::new();
    let server = f.server(&[
        internal(&["a.example.com", "*.wild.example.com"]),
        internal(&["b.example.com"]),
    ]);
    let client = Arc::new(f.client());

    for (asked, shown) in [
        ("a.example.com", "a.example.com"),
        ("B.Example.COM", "b.example.com"),
        ("x.wild.example.com", "*.wild.example.com"),
    ] {
        let seen = shake_hands(&server, &client, asked).unwrap();
        assert!(covers(&seen.certificate, shown), "{asked}");
    }
    for unknown in ["c.example.com", "x.y.wild.example.com", "wild.example.com"] {
        let error = shake_hands(&server, &client, unknown).unwrap_err();
        assert_eq!(
            error,
            rustls::Error::AlertReceived(rustls::AlertDescription::AccessDenied),
            "{unknown}"
        );
    }
}

#[test]
fn a_client_that_connects_to_an_address_gets_that_certificate() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["app.example.com"]), internal(&["127.0.0.1"])]);

    let seen = shake_hands(&server, &Arc::new(f.client()), "127.0.0.1").unwrap();

    assert!(covers(&seen.certificate, "127.0.0.1"));
}

#[test]
fn a_catch_all_site_serves_every_other_name() {
    let f = Fixture::new();
    let (catch_all, certificate) = from_files(f.data.path(), &[]);
    let (named, _) = from_files(f.data.path(), &["app.example.com"]);
    let server = f.server(&[named, catch_all]);
    let client = Arc::new(f.client_trusting(&certificate));

    let seen = shake_hands(&server, &client, "catch-all.example.com").unwrap();

    assert_eq!(seen.certificate, certificate);
}

#[test]
fn files_and_internal_certificates_live_side_by_side() {
    let f = Fixture::new();
    let (from_file, certificate) = from_files(f.data.path(), &["file.example.com"]);
    let server = f.server(&[from_file, internal(&["internal.example.com"])]);

    let trusts_file = Arc::new(f.client_trusting(&certificate));
    assert_eq!(
        shake_hands(&server, &trusts_file, "file.example.com")
            .unwrap()
            .certificate,
        certificate
    );
    assert!(shake_hands(&server, &Arc::new(f.client()), "internal.example.com").is_ok());
}

#[test]
fn the_server_prefers_the_first_protocol_that_both_speak() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["app.example.com"])]);
    for (offered, chosen) in [
        (vec![b"http/1.1".to_vec(), b"h2".to_vec()], Some(b"h2".to_vec())),
        (vec![b"http/1.1".to_vec()], Some(b"http/1.1".to_vec())),
        (vec![], None),
    ] {
        let mut client = f.client();
        client.alpn_protocols = offered;
        let seen = shake_hands(&server, &Arc::new(client), "app.example.com").unwrap();
        assert_eq!(seen.alpn, chosen);
    }

    let mut client = f.client();
    client.alpn_protocols = vec![b"spdy".to_vec()];
    let error = shake_hands(&server, &Arc::new(client), "app.example.com").unwrap_err();
    assert_eq!(
        error,
        rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)
    );
}

#[test]
fn both_versions_of_tls_resume_with_a_ticket() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["app.example.com"])]);
    for version in [&TLS13, &TLS12] {
        let client = Arc::new(client_with(&f, version));
        let seen: Vec<Seen> = (0..3)
            .map(|_| shake_hands(&server, &client, "app.example.com").unwrap())
            .collect();

        assert!(seen.iter().all(|seen| seen.version == version.version));
        assert_eq!(seen[0].kind, HandshakeKind::Full);
        assert_eq!(
            [seen[1].kind, seen[2].kind],
            [HandshakeKind::Resumed; 2],
            "{version:?}"
        );
    }
}

fn client_with(f: &Fixture, version: &'static rustls::SupportedProtocolVersion) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(f.certificates.internal_root().unwrap()).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_details(provider, Arc::clone(&f.clock) as _)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

#[test]
fn a_reload_keeps_internal_certificates_and_tickets() {
    let f = Fixture::new();
    let before = f.server(&[internal(&["app.example.com"])]);
    let client = Arc::new(f.client());
    let first = shake_hands(&before, &client, "app.example.com").unwrap();

    let after = f.server(&[internal(&["app.example.com", "new.example.com"])]);
    drop(before);

    assert_eq!(
        shake_hands(&after, &client, "app.example.com").unwrap().kind,
        HandshakeKind::Resumed
    );
    let fresh = Arc::new(f.client());
    assert_eq!(
        shake_hands(&after, &fresh, "app.example.com")
            .unwrap()
            .certificate,
        first.certificate
    );
}

#[test]
fn a_ticket_is_worth_nothing_for_another_name_or_another_process() {
    let f = Fixture::new();
    let sites = [internal(&["a.example.com", "b.example.com"])];
    let server = f.server(&sites);
    let client = Arc::new(f.client());
    shake_hands(&server, &client, "a.example.com").unwrap();
    assert_eq!(
        shake_hands(&server, &client, "b.example.com").unwrap().kind,
        HandshakeKind::Full
    );

    let Fixture { data, .. } = f;
    let restarted = Fixture::on(data, NOW);
    let server = restarted.server(&sites);

    assert_eq!(
        shake_hands(&server, &client, "a.example.com").unwrap().kind,
        HandshakeKind::Full
    );
}

#[test]
fn clients_that_trust_the_root_still_do_after_a_restart() {
    let f = Fixture::new();
    f.server(&[internal(&["app.example.com"])]);
    let root = f.certificates.internal_root().unwrap();
    let Fixture { data, .. } = f;

    let restarted = Fixture::on(data, NOW + 400 * 24 * HOUR);
    let server = restarted.server(&[internal(&["app.example.com"])]);

    assert!(
        shake_hands(
            &server,
            &Arc::new(restarted.client_trusting(&root)),
            "app.example.com"
        )
        .is_ok()
    );
}

#[test]
fn internal_certificates_are_renewed_in_good_time_and_not_before() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["app.example.com"])]);
    let mut client = f.client();
    client.resumption = Resumption::disabled();
    let client = Arc::new(client);
    let shown = || {
        shake_hands(&server, &client, "app.example.com")
            .unwrap()
            .certificate
    };
    let first = shown();

    f.advance(7 * HOUR);
    f.certificates.renew();
    assert_eq!(shown(), first);

    f.advance(2 * HOUR);
    f.certificates.renew();
    let second = shown();
    assert_ne!(second, first);

    // Past the first one's end.
    f.advance(6 * HOUR);
    assert_eq!(shown(), second);
}

#[tokio::test(start_paused = true)]
async fn the_task_renews_and_stops() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["app.example.com"])]);
    let client = Arc::new(f.client());
    let first = shake_hands(&server, &client, "app.example.com")
        .unwrap()
        .certificate;
    let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
    tasks.spawn(Arc::clone(&f.certificates).run(stop.clone()));
    f.advance(9 * HOUR);

    time::sleep(2 * RENEWAL_CHECK).await;
    let fresh = Arc::new(f.client());
    assert_ne!(
        shake_hands(&server, &fresh, "app.example.com")
            .unwrap()
            .certificate,
        first
    );

    stop.cancel();
    tasks.join_next().await.unwrap().unwrap();
}

#[test]
fn certificates_that_no_listener_uses_are_forgotten() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["old.example.com"])]);
    drop(server);
    let _server = f.server(&[internal(&["new.example.com"])]);

    f.certificates.renew();

    let kept: Vec<ServedName> = f.certificates.internal().leaves.keys().cloned().collect();
    assert_eq!(kept, [ServedName::parse("new.example.com").unwrap()]);
}

#[test]
fn a_stranger_makes_no_certificates() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["*.example.com"])]);
    let client = Arc::new(f.client());
    for name in ["a.example.com", "b.example.com", "c.example.org"] {
        drop(shake_hands(&server, &client, name));
    }

    assert_eq!(f.certificates.internal().leaves.len(), 1);
}

#[test]
fn policies_on_equal_terms_share_one_configuration() {
    let f = Fixture::new();
    let named = |name: String, versions| TlsPolicy {
        names: Some(vec![name]),
        terms: Terms {
            versions,
            ..policy().terms
        },
    };
    let mut policies: Vec<_> = (0..1000)
        .map(|number| named(format!("{number}.test"), Versions::Both))
        .collect();
    policies.push(named("old.test".to_owned(), Versions::Only12));

    let plan = f.certificates.plan(&[internal(&["0.test"])], &policies).unwrap();

    let of = |name| plan.choose(Some(name));
    assert!(Arc::ptr_eq(of("0.test"), of("999.test")));
    assert!(!Arc::ptr_eq(of("0.test"), of("old.test")));
    assert!(!Arc::ptr_eq(of("0.test"), of("1000.test")), "nobody is for it");
}

#[test]
fn all_errors_are_reported_at_once() {
    let f = Fixture::new();
    let missing = CertSource::Files {
        certificate: "/nonexistent/a".into(),
        key: "/nonexistent/b".into(),
    };
    let sites = [
        internal(&["bücher.example", "*.*"]),
        internal(&[]),
        site(&["app.example.com"], missing),
        internal(&["good.example.com"]),
    ];

    let errors = f.certificates.plan(&sites, &[policy()]).unwrap_err();

    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 4, "{errors:?}");
    for (error, expected) in errors.iter().zip([
        "\"bücher.example\"",
        "\"*.*\"",
        "needs a name",
        "/nonexistent/a: ",
    ]) {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn nothing_is_written_before_a_site_needs_the_authority() {
    let f = Fixture::new();
    assert_eq!(std::fs::read_dir(f.data.path()).unwrap().count(), 0);
    assert!(f.certificates.internal_root().is_none());

    f.server(&[internal(&["app.example.com"])]);

    assert!(f.data.path().join("pki/authorities/local/root.crt").exists());
}

#[test]
fn early_data_is_never_accepted() {
    let f = Fixture::new();
    let server = f.server(&[internal(&["app.example.com"])]);

    assert_eq!(server.max_early_data_size, 0);
    assert!(server.ticketer.enabled() && !server.session_storage.can_cache());
}
