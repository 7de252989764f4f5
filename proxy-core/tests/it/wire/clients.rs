//! `max_connections_per_client`: who has many connections open gets no more, and others do.

use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::eventually;
use crate::support::wire::Wire;

fn rig(options: &str) -> Rig {
    Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {{\n\t\tmax_connections_per_client 2\n{options}\n\t}}\n}}\n\
         http://{HOST}:0 {{\n\tbind 127.0.0.1\n\trespond served\n}}\n"
    ))
}

/// A connection that is kept open, if the proxy serves it.
async fn open(rig: &Rig, begin: &str) -> Option<Wire> {
    let mut wire = rig.wire().await;
    // The other end may be closed already.
    wire.try_send(begin.to_owned() + &get("/")).await.ok()?;
    let answer = wire.try_answer_to("GET").await.ok()?;
    assert_eq!(answer.body, b"served");
    Some(wire)
}

#[tokio::test]
async fn a_client_gets_no_more_connections_than_configured_until_one_has_ended() {
    let rig = rig("");
    let first = open(&rig, "").await.unwrap();
    let _second = open(&rig, "").await.unwrap();
    for _ in 0..5 {
        assert!(open(&rig, "").await.is_none());
    }
    drop(first);
    let third = eventually("room for another connection", async || open(&rig, "").await).await;
    assert!(open(&rig, "").await.is_none());
    drop(third);
    eventually("room again", async || open(&rig, "").await).await;
}

#[tokio::test]
async fn a_client_is_who_a_balancer_says_it_is() {
    let wrappers =
        "\t\tlistener_wrappers {\n\t\t\tproxy_protocol {\n\t\t\t\tallow 127.0.0.0/8\n\t\t\t}\n\t\t}";
    let rig = rig(wrappers);
    let named = |client: &str| format!("PROXY TCP4 {client} 203.0.113.1 4711 80\r\n");
    let (ann, bob) = (named("192.0.2.1"), named("192.0.2.2"));
    let _kept = [open(&rig, &ann).await.unwrap(), open(&rig, &ann).await.unwrap()];
    assert!(open(&rig, &ann).await.is_none());
    assert!(open(&rig, &bob).await.is_some());
}

#[tokio::test]
async fn connections_from_before_a_limit_count() {
    let text = |limit: &str| {
        format!(
            "{{\n\tadmin off\n\tservers {{\n\t\tmax_header_size 9KB\n{limit}\n\t}}\n}}\n\
             http://{HOST}:0 {{\n\tbind 127.0.0.1\n\trespond served\n}}\n"
        )
    };
    let rig = Rig::caddyfile(&text(""));
    let mut kept = Vec::new();
    for _ in 0..50 {
        kept.push(open(&rig, "").await.unwrap());
    }
    rig.reload(&text("\t\tmax_connections_per_client 50")).await;
    assert!(open(&rig, "").await.is_none());
    kept.pop();
    eventually("room for another connection", async || open(&rig, "").await).await;
}
