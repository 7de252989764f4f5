//! Name servers on loopback, with everything that they can do wrong.

use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::rdata::CNAME;
use hickory_resolver::proto::rr::{RData, Record};
use tokio::time::Instant;

use super::super::test_server::{DnsServer, Reply};
use super::*;

const TIMEOUT: Duration = Duration::from_secs(5);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn asking(servers: &[&DnsServer]) -> NameServers {
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address()).collect();
    NameServers::new(&addresses, TIMEOUT).unwrap()
}

fn addresses(family: &Result<Records, LookupError>) -> Vec<IpAddr> {
    let mut addresses = family
        .as_ref()
        .map(|records| records.addresses.clone())
        .unwrap_or_default();
    addresses.sort_unstable();
    addresses
}

#[tokio::test]
async fn both_families_are_asked_for_and_come_with_their_ttl() {
    let server = DnsServer::start().await;
    server.set("app.test", &["192.0.2.2", "192.0.2.1", "2001:db8::1"].map(ip), 17);

    let lookup = asking(&[&server]).lookup("app.test").await;

    assert_eq!(addresses(&lookup.v4), ["192.0.2.1", "192.0.2.2"].map(ip));
    assert_eq!(addresses(&lookup.v6), ["2001:db8::1"].map(ip));
    let ttl = Duration::from_secs(17);
    assert_eq!((lookup.v4.unwrap().ttl, lookup.v6.unwrap().ttl), (ttl, ttl));
}

#[tokio::test]
async fn a_family_without_records_is_said_to_be_absent() {
    let server = DnsServer::start().await;
    server.set("app.test", &[ip("192.0.2.1")], 17);

    let lookup = asking(&[&server]).lookup("app.test").await;

    assert_eq!(addresses(&lookup.v4), [ip("192.0.2.1")]);
    assert_eq!(lookup.v6, Err(LookupError::NoAddresses));
}

#[tokio::test]
async fn each_failure_is_told_apart() {
    let server = DnsServer::start().await;
    let names = asking(&[&server]);
    for (reply, expected) in [
        (Reply::Code(ResponseCode::NXDomain), LookupError::NoSuchName),
        (Reply::Code(ResponseCode::NoError), LookupError::NoAddresses),
        (Reply::Addresses(Vec::new(), 60), LookupError::NoAddresses),
        (
            Reply::Code(ResponseCode::ServFail),
            LookupError::Code("Server Failure".into()),
        ),
        (
            Reply::Code(ResponseCode::Refused),
            LookupError::Code("Query Refused".into()),
        ),
    ] {
        server.set_reply("app.test", &reply);
        assert_eq!(
            names.lookup("app.test").await,
            Lookup::failed(&expected),
            "{reply:?}"
        );
    }

    server.set_reply("app.test", &Reply::Garbage);
    let lookup = names.lookup("app.test").await;
    assert!(matches!(lookup.v4, Err(LookupError::Other(_))), "{lookup:?}");

    // It still works after all of that.
    server.set("app.test", &[ip("192.0.2.1")], 60);
    assert_eq!(addresses(&names.lookup("app.test").await.v4), [ip("192.0.2.1")]);
}

#[tokio::test]
async fn a_silent_server_is_asked_again_and_then_given_up() {
    let server = DnsServer::start().await;
    server.set_reply("app.test", &Reply::Silence);
    let names = NameServers::new(&[server.address()], Duration::ZERO).unwrap();

    let lookup = names.lookup("app.test").await;

    assert_eq!(lookup, Lookup::failed(&LookupError::Timeout));
    assert!(
        server.asked("app.test", RecordType::A) > 1,
        "a lost packet must not cost a whole look-up"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure() {
    // No other test listens on this address, so that nobody takes the port meanwhile.
    let gone = DnsServer::start_at("127.0.0.9:0".parse().unwrap())
        .await
        .address();
    let names = NameServers::new(&[gone], Duration::ZERO).unwrap();

    let lookup = names.lookup("app.test").await;

    assert!(lookup.v4.is_err_and(|error| !error.is_absence()));
}

#[tokio::test]
async fn the_next_server_stands_in_for_one_that_fails_and_is_asked_first_from_then_on() {
    for failure in [
        Reply::Code(ResponseCode::ServFail),
        Reply::Code(ResponseCode::Refused),
        Reply::Garbage,
        Reply::Silence,
    ] {
        let (bad, good) = (DnsServer::start().await, DnsServer::start().await);
        bad.set_reply("app.test", &failure);
        good.set("app.test", &[ip("192.0.2.1"), ip("2001:db8::1")], 60);
        // Each server gets its least share, so that the silent one costs little.
        let names = NameServers::new(&[bad.address(), good.address()], Duration::ZERO).unwrap();

        let lookup = names.lookup("app.test").await;
        assert_eq!(addresses(&lookup.v4), [ip("192.0.2.1")], "{failure:?}");
        let before = bad.asked("app.test", RecordType::A);
        names.lookup("app.test").await;

        assert_eq!(bad.asked("app.test", RecordType::A), before, "{failure:?}");
        assert_eq!(good.asked("app.test", RecordType::A), 2, "{failure:?}");
    }
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_not_asked_for_elsewhere() {
    let (first, second) = (DnsServer::start().await, DnsServer::start().await);

    let lookup = asking(&[&first, &second]).lookup("app.test").await;

    assert_eq!(lookup, Lookup::failed(&LookupError::NoSuchName));
    assert_eq!(second.asked("app.test", RecordType::A), 0);
}

#[tokio::test]
async fn nothing_is_cached_between_look_ups() {
    let server = DnsServer::start().await;
    let names = asking(&[&server]);
    for address in ["192.0.2.1", "192.0.2.2"].map(ip) {
        server.set("app.test", &[address], 3600);
        assert_eq!(addresses(&names.lookup("app.test").await.v4), [address]);
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_for_udp_comes_over_tcp() {
    let server = DnsServer::start().await;
    let many: Vec<IpAddr> = (0..=255).map(|n| IpAddr::from([192, 0, 2, n])).collect();
    server.set("app.test", &many, 60);

    let lookup = asking(&[&server]).lookup("app.test").await;

    assert_eq!(addresses(&lookup.v4), many);
    assert_eq!(server.asked("app.test", RecordType::A), 2);
}

#[test]
fn an_alias_that_changes_sooner_than_its_addresses_limits_their_time() {
    let (alias, target): (DnsName, DnsName) = ("app.test.".parse().unwrap(), "pod.test.".parse().unwrap());
    let cname = RData::CNAME(CNAME(target.clone()));
    let found = Found::new_with_max_ttl(
        Query::query(alias.clone(), RecordType::A),
        [
            Record::from_rdata(alias, 5, cname),
            Record::from_rdata(target, 60, RData::from(ip("192.0.2.1"))),
        ],
    );

    let expected = Records {
        addresses: vec![ip("192.0.2.1")],
        ttl: Duration::from_secs(5),
    };
    assert_eq!(records(&found), Ok(expected));
}

#[tokio::test]
async fn addresses_that_nothing_can_be_reached_at_are_left_out() {
    let server = DnsServer::start().await;
    server.set(
        "app.test",
        &["0.0.0.0", "192.0.2.1", "224.0.0.1", "::", "ff02::1"].map(ip),
        60,
    );

    let lookup = asking(&[&server]).lookup("app.test").await;

    assert_eq!(addresses(&lookup.v4), [ip("192.0.2.1")]);
    assert_eq!(lookup.v6, Err(LookupError::NoAddresses));
}

#[tokio::test]
async fn text_that_is_no_name_is_an_error_of_that_look_up() {
    let server = DnsServer::start().await;
    let names = asking(&[&server]);
    let long = "a".repeat(64);
    for text in ["a..b", "exa mple", long.as_str()] {
        let lookup = names.lookup(text).await;
        assert_eq!(
            lookup,
            Lookup::failed(&LookupError::BadName(text.into())),
            "{text}"
        );
    }
}

#[tokio::test]
async fn underscores_and_international_names_are_names() {
    let server = DnsServer::start().await;
    let names = asking(&[&server]);
    for (host, asked) in [
        ("my_app_", "my_app_"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("app.test.", "app.test"),
    ] {
        server.set(asked, &[ip("192.0.2.1")], 60);
        assert_eq!(
            addresses(&names.lookup(host).await.v4),
            [ip("192.0.2.1")],
            "{host}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_family_that_never_answers_costs_half_a_second_once_there_are_addresses() {
    let good = || {
        Ok(Records {
            addresses: vec![ip("192.0.2.1")],
            ttl: Duration::from_secs(60),
        })
    };
    let start = Instant::now();

    let lookup = both(std::future::ready(good()), std::future::pending()).await;

    assert_eq!(
        lookup,
        Lookup {
            v4: good(),
            v6: Err(LookupError::Timeout)
        }
    );
    assert_eq!(start.elapsed(), SECOND_FAMILY_GRACE);
}

#[tokio::test(start_paused = true)]
async fn a_second_family_is_waited_for_while_there_are_no_addresses() {
    let late = async {
        time::sleep(Duration::from_secs(4)).await;
        Ok(Records {
            addresses: vec![ip("2001:db8::1")],
            ttl: Duration::from_secs(60),
        })
    };

    let lookup = both(std::future::ready(Err(LookupError::NoAddresses)), late).await;

    assert_eq!(addresses(&lookup.v6), [ip("2001:db8::1")]);
}
