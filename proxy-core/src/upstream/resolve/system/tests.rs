//! The system's files, played by files in a directory of the test.

use std::net::{IpAddr, SocketAddr};

use hickory_resolver::config::NameServerConfig;
use tempfile::TempDir;

use super::super::test_server::{DnsServer, Reply};
use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn names(texts: &[&str]) -> Vec<DnsName> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn candidate_texts(name: &str, search: &[&str], ndots: usize) -> Vec<String> {
    let candidates = candidates(&name.parse().unwrap(), &names(search), ndots);
    candidates
        .iter()
        .map(|name| name.to_string().trim_end_matches('.').to_owned())
        .collect()
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// A system in `directory`, whose resolv.conf names one server and these search domains.
fn system(directory: &TempDir, server: SocketAddr, search: &[&str], ndots: usize) -> System {
    let search = names(search);
    let read_conf = move || {
        let config = ResolverConfig::from_parts(None, search.clone(), vec![name_server(server)]);
        let mut options = ResolverOpts::default();
        options.ndots = ndots;
        Ok((config, options))
    };
    System {
        sources: sources(directory, Box::new(read_conf)),
        timeout: Duration::ZERO,
        loaded: Mutex::default(),
    }
}

fn sources(directory: &TempDir, read_conf: ReadConf) -> Sources {
    let path = |name| directory.path().join(name);
    Sources {
        resolv_conf: path("resolv.conf"),
        hosts: path("hosts"),
        read_conf,
    }
}

fn addresses(lookup: &Lookup) -> Vec<IpAddr> {
    let both = [&lookup.v4, &lookup.v6].into_iter().flatten();
    both.flat_map(|records| records.addresses.clone()).collect()
}

#[test]
fn few_dots_try_the_search_domains_first_and_many_the_name_itself() {
    let search = ["ns.svc.cluster.local", "cluster.local"];
    let searched = |name: &str| search.map(|domain| format!("{name}.{domain}"));

    let [a, b] = searched("app.ns");
    assert_eq!(candidate_texts("app.ns", &search, 5), [a.as_str(), &b, "app.ns"]);
    assert_eq!(candidate_texts("app.ns", &search, 1), ["app.ns", &a, &b]);
    assert_eq!(candidate_texts("app.ns.", &search, 5), ["app.ns"]);
    assert_eq!(candidate_texts("localhost", &search, 5), ["localhost"]);
    assert_eq!(candidate_texts("app", &[], 1), ["app"]);
}

#[tokio::test]
async fn the_first_name_with_addresses_counts() {
    let (directory, server) = (tempfile::tempdir().unwrap(), DnsServer::start().await);
    let system = system(&directory, server.address(), &["ns.test", "test"], 5);
    server.set("app", &[ip("192.0.2.1")], 60);
    assert_eq!(addresses(&system.lookup("app").await), [ip("192.0.2.1")]);

    server.set("app.test", &[ip("2001:db8::2")], 60);
    assert_eq!(
        addresses(&system.lookup("app").await),
        [ip("2001:db8::2")],
        "families of two names do not mix"
    );

    server.set("app.ns.test", &[ip("192.0.2.3")], 60);
    assert_eq!(addresses(&system.lookup("app").await), [ip("192.0.2.3")]);
    assert_eq!(addresses(&system.lookup("app.").await), [ip("192.0.2.1")]);
}

#[tokio::test]
async fn a_broken_search_domain_makes_no_name_unresolvable_but_is_reported_if_nothing_is_found() {
    let (directory, server) = (tempfile::tempdir().unwrap(), DnsServer::start().await);
    let system = system(&directory, server.address(), &["broken.test"], 5);
    let server_failure = hickory_proto::op::ResponseCode::ServFail;
    server.set_reply("app.broken.test", &Reply::Code(server_failure));

    let failed = LookupError::Code("Server Failure".into());
    assert_eq!(system.lookup("app").await, Lookup::failed(&failed));

    server.set("app", &[ip("192.0.2.1")], 60);
    assert_eq!(addresses(&system.lookup("app").await), [ip("192.0.2.1")]);
}

#[tokio::test]
async fn the_hosts_file_comes_before_the_name_servers_for_both_families() {
    let (directory, server) = (tempfile::tempdir().unwrap(), DnsServer::start().await);
    let hosts = "127.0.0.7 App.test other # comment\n127.0.0.8 app.test\n";
    fs::write(directory.path().join("hosts"), hosts).unwrap();
    server.set("app.test", &[ip("192.0.2.1"), ip("2001:db8::1")], 60);

    let lookup = system(&directory, server.address(), &[], 1)
        .lookup("app.test")
        .await;

    assert_eq!(addresses(&lookup), [ip("127.0.0.7"), ip("127.0.0.8")]);
    assert_eq!(lookup.v6, Err(LookupError::NoAddresses));
}

#[tokio::test]
async fn a_change_of_a_file_is_seen_by_the_next_look_up() {
    let (directory, server) = (tempfile::tempdir().unwrap(), DnsServer::start().await);
    let system = system(&directory, server.address(), &[], 1);
    assert_eq!(
        system.lookup("app.test").await,
        Lookup::failed(&LookupError::NoSuchName)
    );
    let before = system.load();
    assert!(
        Arc::ptr_eq(&before, &system.load()),
        "unchanged files are not read again"
    );

    fs::write(directory.path().join("hosts"), "127.0.0.7 app.test\n").unwrap();
    assert_eq!(addresses(&system.lookup("app.test").await), [ip("127.0.0.7")]);

    let between = system.load();
    fs::write(directory.path().join("resolv.conf"), "nameserver 127.0.0.1\n").unwrap();
    assert!(!Arc::ptr_eq(&between, &system.load()));
}

#[tokio::test]
async fn without_name_servers_the_hosts_file_still_works() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hosts"), "127.0.0.7 app.test\n").unwrap();
    let read_conf = || Err(NetError::from("no nameservers found in config"));
    let sources = sources(&directory, Box::new(read_conf));
    let system = System {
        sources,
        timeout: Duration::ZERO,
        loaded: Mutex::default(),
    };

    assert_eq!(addresses(&system.lookup("app.test").await), [ip("127.0.0.7")]);
    let lookup = system.lookup("other.test").await;

    let expected = "the system's name servers are not known: no nameservers found in config";
    assert_eq!(lookup, Lookup::failed(&LookupError::Other(expected.into())));
}

#[tokio::test]
async fn this_machine_resolves_localhost() {
    let lookup = System::new(Duration::from_secs(5)).lookup("localhost").await;

    assert!(addresses(&lookup).contains(&ip("127.0.0.1")), "{lookup:?}");
}
