//! Hosts with certificates of their own.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{Origin, Replica, sqlite};
use crate::support::{Directory, PATIENCE};

/// A certificate of a host and its key.
struct Key {
    certified: CertifiedKey<KeyPair>,
}

// === impl Key ===

impl Key {
    fn new(host: &str) -> Self {
        let certified = generate_simple_self_signed([host.to_owned()]).unwrap();
        Self { certified }
    }

    fn certificate(&self) -> &CertificateDer<'static> {
        self.certified.cert.der()
    }

    /// Writes both files, the key first: halves of two pairs are no pair.
    fn write(&self, directory: &Directory, name: &str) {
        directory.write(
            &format!("{name}.key"),
            &self.certified.signing_key.serialize_pem(),
        );
        directory.write(&format!("{name}.pem"), &self.certified.cert.pem());
    }
}

/// Asks over TLS, trusting these: what it is answered, and the certificate that was shown.
fn ask(replica: &Replica, host: &str, trusted: &[&Key]) -> (String, CertificateDer<'static>) {
    let mut roots = RootCertStore::empty();
    for key in trusted {
        roots.add(key.certificate().clone()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = host.to_owned().try_into().unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, replica.secure_port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(client, stream);
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let shown = stream.conn.peer_certificates().unwrap()[0].clone().into_owned();
    (answer, shown)
}

#[test]
fn hosts_have_their_certificates_and_new_ones_when_their_files_change() {
    let (directory, one) = (Directory::new(), Origin::start("one"));
    let [a, next, b] = ["a.test", "a.test", "b.test"].map(Key::new);
    a.write(&directory, "a");
    b.write(&directory, "b");
    let replica = Replica::start(&sqlite(&directory.path().join("store.db")));
    for name in ["a", "b"] {
        let path = directory.path().join(name);
        let document = format!(
            "{{\"host\": \"{name}.test\", \"tls\": {{\"certificate\": \"{path}.pem\", \"key\": \"{path}.key\"}}, \
             \"upstreams\": [{{\"address\": \"{}\"}}]}}",
            one.address(),
            path = path.display(),
        );
        replica.routes_done(&["put", &format!("{name}.test"), "--wait"], &document);
    }
    for (host, key) in [("a.test", &a), ("b.test", &b)] {
        let (answer, shown) = ask(&replica, host, &[&a, &b]);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("one"),
            "{answer}"
        );
        assert_eq!(&shown, key.certificate(), "{host}");
        let plain = replica.get(host, "/x?y");
        let to = format!("location: https://{host}:{}/x?y", replica.secure_port());
        assert_eq!(plain.status, 308);
        assert!(plain.head.to_ascii_lowercase().contains(&to), "{}", plain.head);
    }

    // One gets better, the other breaks; both are seen by the same look.
    directory.write("b.pem", "-----BEGIN CERTIFICATE-----\n");
    next.write(&directory, "a");
    replica.says("stays as it is");
    while ask(&replica, "a.test", &[&a, &next]).1 != *next.certificate() {
        replica.says("was read again");
    }
    assert_eq!(ask(&replica, "b.test", &[&b]).1, *b.certificate());
}
