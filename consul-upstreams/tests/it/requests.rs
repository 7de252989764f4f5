//! What Consul is asked.

use std::time::Duration;

use consul_upstreams::{ConsulUpstreams, LookupError, NameError, Secret, Settings};

use crate::fake::{Consul, Instance, Mode};
use crate::support::{Source, settings};

#[tokio::test]
async fn a_request_names_the_service_and_nothing_else() {
    let consul = Consul::start().await;
    assert!(
        Source::new(&settings(&consul.address))
            .addresses("api")
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(consul.targets(), ["/v1/health/service/api?passing=1"]);
    let request = &consul.requests()[0];
    assert!(!request.fields.contains_key("x-consul-token"));
    assert!(!request.fields.contains_key("accept-encoding"));
    assert!(request.fields["user-agent"].starts_with("doorway/"));
}

#[tokio::test]
async fn nothing_is_asked_before_the_first_look_up() {
    let consul = Consul::start().await;
    let watching = Settings {
        watch: true,
        ..settings(&consul.address)
    };
    let sources = [Source::new(&settings(&consul.address)), Source::new(&watching)];
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(consul.targets().is_empty());
    drop(sources);
    // Nor is anything refused because nobody is there.
    let (_, _) = ConsulUpstreams::try_new(&settings("http://127.0.0.1:1"), 1).unwrap();
}

#[tokio::test]
async fn the_address_s_path_goes_before_consul_s() {
    let consul = Consul::start().await;
    for prefix in ["/prefix", "/prefix/"] {
        let source = Source::new(&settings(format!("{}{prefix}", consul.address)));
        source.addresses("api").await.unwrap();
    }
    let one = "/prefix/v1/health/service/api?passing=1".to_owned();
    assert_eq!(consul.targets(), [one.clone(), one]);
}

#[tokio::test]
async fn options_are_sent_as_consul_reads_them() {
    let consul = Consul::start().await;
    let all = Settings {
        datacenter: Some("dc1".to_owned()),
        partition: Some("a b".to_owned()),
        tag: Some("v1&x".to_owned()),
        stale: true,
        token: Some(Secret::new("secret")),
        basic_auth: Some(Secret::new("user:password")),
        ..settings(&consul.address)
    };
    Source::new(&all).addresses("api").await.unwrap();
    assert_eq!(
        consul.targets(),
        ["/v1/health/service/api?passing=1&dc=dc1&partition=a+b&tag=v1%26x&stale="]
    );
    let fields = &consul.requests()[0].fields;
    assert_eq!(fields["x-consul-token"], "secret");
    assert_eq!(fields["authorization"], "Basic dXNlcjpwYXNzd29yZA==");
    assert!(!format!("{all:?}").contains("secret") && !format!("{all:?}").contains("password"));
}

#[tokio::test]
async fn names_are_escaped_and_never_leave_their_place() {
    let consul = Consul::start().await;
    let source = Source::new(&settings(&consul.address));
    for (name, asked) in [
        ("a b", "a%20b"),
        ("a?b", "a%3Fb"),
        ("a#b", "a%23b"),
        ("%2e%2e", "%252e%252e"),
        ("..%2f..", "..%252f.."),
        ("a&passing=0", "a&passing=0"),
        ("ä", "%C3%A4"),
    ] {
        source.addresses(name).await.unwrap();
        let last = consul.targets().pop().unwrap();
        assert_eq!(last, format!("/v1/health/service/{asked}?passing=1"), "{name}");
    }
    let count = consul.targets().len();
    for name in ["..", "../../agent/self", "a/b", "a\\b", "a\r\nX: y", "", "  "] {
        let error = source.addresses(name).await.unwrap_err();
        assert!(error.is_name(), "{name:?}: {error}");
    }
    assert_eq!(
        source.addresses("").await,
        Err(LookupError::Name(NameError::Empty))
    );
    assert_eq!(consul.targets().len(), count);
}

#[tokio::test]
async fn names_that_differ_in_case_are_one_service() {
    let consul = Consul::start().await;
    consul.set("Api", [Instance::at("192.0.2.1", 80)]);
    let source = Source::new(&Settings {
        refresh: Duration::from_secs(60),
        ..settings(&consul.address)
    });
    for name in ["API", "api", " Api "] {
        assert_eq!(source.addresses(name).await.unwrap(), ["192.0.2.1:80"]);
    }
    assert_eq!(consul.targets().len(), 1);
    assert_eq!(source.consul.services(), 1);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (consul, other) = (Consul::start().await, Consul::start().await);
    other.set("api", [Instance::at("192.0.2.1", 80)]);
    consul.mode(Mode::Redirect(format!(
        "{}/v1/health/service/api?passing=1",
        other.address
    )));
    let found = Source::new(&settings(&consul.address)).addresses("api").await;
    assert_eq!(found, Err(LookupError::Redirect(301)));
    assert!(other.targets().is_empty());
}

#[tokio::test]
async fn a_unix_socket_is_an_address() {
    let directory = tempfile::tempdir().unwrap();
    let consul = Consul::start_unix(&directory.path().join("consul.sock"));
    consul.set("api", [Instance::at("192.0.2.1", 80)]);
    let source = Source::new(&settings(&consul.address));
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
    assert_eq!(consul.requests()[0].fields["host"], "localhost");

    let nobody = Source::new(&settings("unix:///nowhere/consul.sock"));
    assert!(matches!(
        nobody.addresses("api").await,
        Err(LookupError::Unreachable(_))
    ));
}

#[tokio::test]
async fn a_token_s_file_is_read_again_when_it_changes() {
    let consul = Consul::start().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let source = Source::new(&Settings {
        token_file: Some(file.clone()),
        ..settings(&consul.address)
    });
    assert!(matches!(
        source.addresses("api").await,
        Err(LookupError::Token(_))
    ));
    for token in ["first", "second-one"] {
        std::fs::write(&file, token).unwrap();
        // Another name, since a failure is told for a while.
        source.addresses(token).await.unwrap();
        assert_eq!(consul.requests().last().unwrap().fields["x-consul-token"], token);
    }
}
