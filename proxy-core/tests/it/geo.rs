//! Redirects by country: an archive that is fetched, kept and read again, and the requests that it decides about.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use proxy_core::Options;

use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{HOST, Rig};

/// A gzipped tar archive: 203.0.113.0/24 and ::1 are Germany's, 198.51.100.0/24 is of the United States.
fn archive() -> Vec<u8> {
    let mut tar = Vec::new();
    for (code, ipv4, ipv6) in [
        ("de", "203.0.113.0/24", "2001:db8:de::/48"),
        ("us", "198.51.100.0/24", "2001:db8:51::/48"),
    ] {
        let upper = code.to_ascii_uppercase();
        let body =
            format!(r#"{{"countryCode":"{upper}","prefixes":{{"ipv4":["{ipv4}"],"ipv6":["{ipv6}"]}}}}"#);
        entry(
            &mut tar,
            &format!("geo-ip-blocks-master/country/{code}/{code}.json"),
            body.as_bytes(),
        );
    }
    tar.extend([0; 1024]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    gzip.finish().unwrap()
}

/// One regular file in the format of POSIX (ustar).
fn entry(tar: &mut Vec<u8>, name: &str, body: &[u8]) {
    let mut head = [0_u8; 512];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", body.len()));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    head[148..156].copy_from_slice(sum.as_bytes());
    tar.extend(head);
    tar.extend(body);
    tar.resize(tar.len().next_multiple_of(512), 0);
}

/// Serves the archive, with a validator.
async fn mirror() -> Recorder {
    let body = archive();
    let mut reply = format!(
        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    reply.extend(body);
    Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::Keep(reply.clone())).await
}

fn site(mirror: &Recorder, options: &str) -> String {
    format!(
        "{{\n\tadmin off\n\tservers {{\n\t\ttrusted_proxies static 127.0.0.0/8\n\t}}\n}}\n\
         http://{HOST}:0, http://eu.test:0 {{\n\tbind 127.0.0.1\n\troute {{\n\tdoors_geo {{\n\
         \t\ttarball_url http://{}/a.tar.gz\n\t\teu.test {{\n\t\t\tDE\n\t\t}}\n{options}\t}}\n\
         \t@american geo_country US\n\trespond @american \"hello US\"\n\trespond \"from {{geo.country}}\"\n\t}}\n}}\n",
        mirror.addr()
    )
}

/// Status and Location, or body, of an answer to a client with this address.
async fn ask(rig: &Rig, method: &str, target: &str, client: &str, more: &str) -> String {
    let mut wire = rig.wire().await;
    let mut request = format!("{method} {target} HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-For: {client}\r\n");
    write!(request, "{more}\r\n").unwrap();
    let answer = wire.ask(request).await;
    match answer.head.field("location") {
        Some(location) => format!("{} {location}", answer.head.status()),
        None => String::from_utf8(answer.body).unwrap(),
    }
}

/// Waits until there is data.
async fn until_known(rig: &Rig) {
    let known = async {
        while ask(rig, "POST", "/", "203.0.113.9", "Content-Length: 0\r\n").await != "from DE" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), known)
        .await
        .expect("the archive is fetched");
}

fn options(data: &Path) -> Options {
    Options {
        data_dir: Some(data.to_owned()),
        ..Options::default()
    }
}

#[tokio::test]
async fn visitors_are_sent_to_the_site_of_their_country() {
    let (mirror, data) = (mirror().await, tempfile::tempdir().unwrap());
    let rig = Rig::with_options(&options(data.path()), &site(&mirror, ""));
    until_known(&rig).await;

    let german = "203.0.113.9";
    for (target, want) in [
        ("/a?b=%2f", "307 https://eu.test/a?b=%2f"),
        ("//evil.test", "307 https://eu.test//evil.test"),
        ("/\\evil.test", "307 https://eu.test/%5Cevil.test"),
        ("/a%0d%0ab", "307 https://eu.test/a%0d%0ab"),
        ("/~/token/s/1", "from DE"),
        ("/.well-known/acme-challenge/x", "from DE"),
    ] {
        assert_eq!(ask(&rig, "GET", target, german, "").await, want, "{target}");
    }
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    assert_eq!(ask(&rig, "GET", "/", german, upgrade).await, "from DE");
    assert_eq!(ask(&rig, "GET", "/", "198.51.100.1", "").await, "hello US");
    assert_eq!(ask(&rig, "GET", "/", "192.0.2.1", "").await, "from ");
    assert_eq!(
        ask(&rig, "GET", "/", "::ffff:203.0.113.1", "").await,
        "307 https://eu.test/"
    );
    assert_eq!(
        ask(&rig, "GET", "/", "2001:db8:de::1", "").await,
        "307 https://eu.test/"
    );

    let [database] = rig.control().geo().try_into().expect("there is one source");
    assert_eq!(
        (database.countries, database.failures, &database.last_error),
        (2, 0, &None)
    );
    assert!(database.age.is_some() && database.next_try.is_some() && database.bytes > 0);
    let (_, metrics) = rig.control().metrics(None);
    for line in [
        "doorway_geo_requests_total{outcome=\"redirected\"} 6",
        "doorway_geo_requests_total{outcome=\"acme\"} 1",
        "doorway_geo_requests_total{outcome=\"upgrade\"} 1",
        "doorway_geo_countries_total{country=\"US\",outcome=\"passed\"} 1",
        "doorway_geo_database_countries{source=\"http://",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_restart_and_a_reload_go_on_with_the_data_that_is_there() {
    let (mirror, data) = (mirror().await, tempfile::tempdir().unwrap());
    let rig = Rig::with_options(&options(data.path()), &site(&mirror, ""));
    until_known(&rig).await;
    let asked = mirror.accepted();
    rig.reload(&site(&mirror, "\t\tstatus 308\n")).await;
    assert_eq!(
        ask(&rig, "GET", "/", "203.0.113.9", "").await,
        "308 https://eu.test/"
    );
    rig.stop().await;

    let rig = Rig::with_options(&options(data.path()), &site(&mirror, "\t\tstatus 302\n"));
    assert_eq!(
        ask(&rig, "GET", "/", "203.0.113.9", "").await,
        "302 https://eu.test/"
    );
    rig.stop().await;
    assert_eq!(mirror.accepted(), asked, "nothing was due");
}
