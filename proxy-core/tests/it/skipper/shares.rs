//! What takes from the share of an endpoint: its failures, and a limit.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorder, Reply, ok};
use crate::support::wait::eventually;

use super::{backend, rig, rig_with};

#[tokio::test]
async fn an_endpoint_that_fails_leaves_its_requests_to_others() {
    let well = Recorder::saying(Ipv4Addr::LOCALHOST, "well").await;
    let ill = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Reset(Vec::new())).await;
    let rig = rig_with(
        "\t\tpassive_health_check period=200ms,min-requests=4,max-drop-probability=1.0",
        &format!(
            "a: * -> <roundRobin, {}, {}>;",
            backend(well.addr()),
            backend(ill.addr())
        ),
    );
    let mut in_a_row = 0;
    eventually("twenty requests to the one that is well", async || {
        let answer = rig
            .wire()
            .await
            .ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
            .await;
        in_a_row = if answer.head.status() == 200 {
            in_a_row + 1
        } else {
            0
        };
        (in_a_row >= 20).then_some(())
    })
    .await;
    assert!(!ill.requests().is_empty(), "it had its chance");
}

#[tokio::test]
async fn an_answer_whatever_its_status_is_no_failure_of_an_endpoint() {
    let (well, ill) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "well").await,
        Recorder::start(Ipv4Addr::LOCALHOST, |_| {
            Reply::keep(String::from_utf8(ok("ill")).unwrap().replace("200 OK", "500 No"))
        })
        .await,
    );
    let rig = rig_with(
        "\t\tpassive_health_check period=1ms,min-requests=1,max-drop-probability=1.0",
        &format!(
            "a: * -> <roundRobin, {}, {}>;",
            backend(well.addr()),
            backend(ill.addr())
        ),
    );
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(rig.get("/").await.head.status());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [[200; 10], [500; 10]].concat());
}

#[tokio::test]
async fn a_limit_of_a_group_counts_for_each_endpoint() {
    let (a, b) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "a").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "b").await,
    );
    let limit = "backendRatelimit(\"orders\", 2, \"1h\", 429)";
    let rig = rig(&format!(
        "one: Path(\"/one\") -> {limit} -> {a}; two: Path(\"/two\") -> {limit} -> <roundRobin, {a}, {b}>;",
        a = backend(a.addr()),
        b = backend(b.addr()),
    ));
    for status in [200, 200, 429] {
        let answer = rig.get("/one").await;
        assert_eq!(answer.head.status(), status);
        assert_eq!(answer.head.field("retry-after").is_some(), status == 429);
    }
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(rig.get("/two").await.head.status());
    }
    statuses.sort_unstable();
    assert_eq!(
        statuses,
        [200, 200, 429, 429, 429, 429],
        "the first endpoint has had its share"
    );
    assert_eq!((a.requests().len(), b.requests().len()), (2, 2));
}
