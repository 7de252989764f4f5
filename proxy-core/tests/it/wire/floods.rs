//! Clients of HTTP/2 that send more than anybody needs, or take nothing: the connection ends, nothing piles up, and
//! others are served.

use std::net::Ipv4Addr;

use http::Method;
use tokio_util::task::AbortOnDropHandle;

use super::Bench;
use crate::support::frames::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, Outcome, PING, PRIORITY,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, block, frame, get,
};
use crate::support::origin::{Origin, Recorder, Reply, ok};
use crate::support::rig::{HOST, Rig};
use crate::support::wait::eventually;

/// Sends `frames` over and over, without reading, until the connection ends; `false` if it took all of them.
async fn floods(client: &mut Frames, frames: &[u8], times: usize) -> bool {
    let batch = 500;
    let frames = frames.repeat(batch);
    for _ in 0..times / batch {
        if !client.try_send(&frames).await {
            return true;
        }
    }
    matches!(client.outcome(u32::MAX).await, Outcome::Closed(_))
}

#[tokio::test]
async fn a_flood_of_frames_that_ask_for_nothing_ends_the_connection() {
    let bench = Bench::start().await;
    for (id, flood) in [
        ("H2-04", frame(SETTINGS, 0, 0, &[])),
        (
            "H2-04 with values",
            frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100, 0, 4, 0, 0, 0xff, 0xff]),
        ),
        ("H2-05", frame(PING, 0, 0, &[0; 8])),
        ("H2-06", frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("H2-07", frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 16])),
        (
            "H2-07 of its time",
            frame(0x10, 0, 0, &[0, 0, 0, 1, b'u', b'=', b'1']),
        ),
        ("unknown frames", frame(0xee, 0, 0, &[0; 16])),
    ] {
        let mut client = Frames::connect(&bench.rig, &[]).await;
        assert!(floods(&mut client, &flood, 200_000).await, "{id}");
        bench.rig.canary().await;
    }
}

#[tokio::test]
async fn a_flood_within_a_request_ends_the_connection() {
    let bench = Bench::start().await;
    let head = |flags: u8| {
        let mut lines = get(b"/flood", &[]);
        lines[0] = (b":method", b"POST");
        frame(HEADERS, flags, 1, &block(&lines))
    };
    for (id, begin, flood) in [
        ("H2-02 empty", head(0), frame(CONTINUATION, 0, 1, &[])),
        ("H2-02 a byte", head(0), frame(CONTINUATION, 0, 1, &[0])),
        (
            "H2-02 full",
            head(0),
            frame(CONTINUATION, 0, 1, &block(&[(b"x-a", &[b'v'; 15_000])])),
        ),
        ("H2-08", head(END_HEADERS), frame(DATA, 0, 1, &[])),
        ("H2-08 a byte", head(END_HEADERS), frame(DATA, 0, 1, b"x")),
    ] {
        let mut client = Frames::connect(&bench.rig, &[]).await;
        client.send(&begin).await;
        assert!(floods(&mut client, &flood, 20_000).await, "{id}");
        bench.rig.canary().await;
    }
}

#[tokio::test]
async fn faults_that_make_the_proxy_reset_its_own_streams_end_the_connection() {
    let bench = Bench::start().await;
    type Fault = fn(u32) -> Vec<u8>;
    let faults: [(&str, Fault); 6] = [
        ("H2-03 a window of nothing", |stream| {
            frame(WINDOW_UPDATE, 0, stream, &[0; 4])
        }),
        ("H2-03 a window too large", |stream| {
            frame(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff])
        }),
        ("H2-03 a stream of itself", |stream| {
            frame(PRIORITY, 0, stream, &[&stream.to_be_bytes()[..], &[16]].concat())
        }),
        ("H2-03 data after the end", |stream| frame(DATA, 0, stream, b"x")),
        ("H2-03 a priority that is short", |stream| {
            frame(PRIORITY, 0, stream, &[0; 4])
        }),
        ("H2-03 a head after the end", |stream| {
            frames::request(stream, &get(b"/reset", &[]))
        }),
    ];
    for (id, fault) in faults {
        bench.origin.take_requests();
        let mut client = Frames::connect(&bench.rig, &[]).await;
        let mut ended = false;
        for stream in (1..4_000).step_by(2) {
            let bytes = [frames::request(stream, &get(b"/reset", &[])), fault(stream)].concat();
            ended = !client.try_send(&bytes).await;
            if ended {
                break;
            }
        }
        ended = ended || matches!(client.outcome(u32::MAX).await, Outcome::Closed(_));
        assert!(ended, "{id}");
        // No more than what may be open at once, and the resets that are allowed.
        let reached = bench.origin.requests().len();
        assert!(reached <= 350, "{id}: {reached}");
        bench.rig.canary().await;
    }
}

#[tokio::test]
async fn a_head_that_grows_when_it_is_read_is_refused() {
    let bench = Bench::start().await;
    let plain = block(&get(b"/bomb", &[]));
    // A line for the table of the connection, and then its index over and over.
    let large = [&[0x40, 3], &b"x-a"[..], &[0x7f, 0xa1, 0x1e], &[b'v'; 4_000]].concat();
    let crumb = vec![0x60, 0];
    for (id, entry, times) in [("H2-09", large, 4_000), ("H2-10", crumb, 12_000)] {
        let block = [plain.clone(), entry, vec![0xbe; times]].concat();
        let mut clients = Vec::new();
        for _ in 0..20 {
            let mut client = Frames::connect(&bench.rig, &[(4, 0)]).await;
            for stream in [1, 3, 5] {
                let (first, rest) = block.split_at(block.len().min(16_000));
                let flags = if rest.is_empty() { END_HEADERS } else { 0 };
                client
                    .try_send(&frame(HEADERS, END_STREAM | flags, stream, first))
                    .await;
                if !rest.is_empty() {
                    client
                        .try_send(&frame(CONTINUATION, END_HEADERS, stream, rest))
                        .await;
                }
            }
            clients.push(client);
        }
        for mut client in clients {
            let outcome = client.outcome(1).await;
            assert!(
                matches!(
                    outcome,
                    Outcome::Status(431) | Outcome::Reset(_) | Outcome::Closed(_)
                ),
                "{id}: {outcome:?}"
            );
        }
        let requests = bench.origin.requests();
        assert!(
            requests.iter().all(|request| request.head.target() != "/bomb"),
            "{id}"
        );
        bench.rig.canary().await;
    }
}

#[tokio::test]
async fn a_client_that_opens_no_window_is_ended_and_its_upstreams_are_free() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| match request.head.target() {
        "/large" => Reply::Keep(ok(&"x".repeat(4 * 1024 * 1024))),
        _ => Reply::ok("ok"),
    })
    .await;
    let global = "{\n\tadmin off\n\tservers {\n\t\ttimeouts {\n\t\t\twrite_idle 2s\n\t\t}\n\t}\n}\n";
    let rig = Rig::caddyfile(&format!(
        "{global}http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {}\n}}\n",
        origin.addr()
    ));
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Frames::connect(&rig, &[(4, 0)]).await;
        for stream in [1, 3, 5, 7] {
            client.send(&frames::request(stream, &get(b"/large", &[]))).await;
        }
        clients.push(client);
    }
    for mut client in clients {
        assert!(matches!(client.outcome(u32::MAX).await, Outcome::Closed(_)));
    }
    origin.until_open(1).await;
    rig.canary().await;
}

#[tokio::test]
async fn an_upload_that_an_upstream_does_not_take_holds_up_no_other_stream() {
    let stuck = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\treverse_proxy /stuck {}\n\treverse_proxy {}",
        stuck.addr(),
        origin.addr()
    ));
    let mut h2 = rig.h2().await;
    let post =
        |h2: &crate::support::h2_client::H2, path: &str| h2.request(Method::POST, path).body(()).unwrap();
    let request = post(&h2, "/stuck");
    let mut upload = h2.open(request, false).await;
    let _upstream = stuck.accept_stream().await;
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counting = std::sync::Arc::clone(&sent);
    let uploading = AbortOnDropHandle::new(tokio::spawn(async move {
        let piece = vec![0; 16 * 1024];
        for _ in 0..4_096 {
            let room = std::future::poll_fn(|cx| {
                upload.body.reserve_capacity(piece.len());
                upload.body.poll_capacity(cx)
            });
            let Some(Ok(room)) = room.await else { break };
            upload.send(piece[..room.min(piece.len())].to_vec());
            counting.fetch_add(room, std::sync::atomic::Ordering::Relaxed);
        }
    }));
    let mut last = 0;
    eventually("the upload to be stuck", async || {
        let now = sent.load(std::sync::atomic::Ordering::Relaxed);
        let is_stuck = now > 0 && now == std::mem::replace(&mut last, now);
        is_stuck.then_some(())
    })
    .await;
    assert_eq!(h2.get("/meanwhile").await.body, b"ok");
    // Dropped, the stream is reset.
    drop(uploading);
    let request = post(&h2, "/after");
    let mut after = h2.open(request, false).await;
    after.send_when_ready(&vec![0; 4 * 1024 * 1024]).await;
    after.finish();
    assert_eq!(after.answer().await.status, 200);
}

#[tokio::test]
async fn an_honest_burst_beyond_the_limit_of_streams_is_refused_stream_by_stream() {
    let bench = Bench::start().await;
    let mut client = Frames::connect(&bench.rig, &[]).await;
    let streams = 1_000;
    let burst: Vec<u8> = (0..streams)
        .flat_map(|number| frames::request(2 * number + 1, &get(b"/", &[])))
        .collect();
    client.send(&burst).await;
    let (mut answered, mut refused) = (0, 0);
    while answered + refused < streams {
        let frame = client.next().await.expect("the connection stays");
        match frame.kind {
            HEADERS => answered += 1,
            RST_STREAM => {
                assert_eq!(frame.payload, [0, 0, 0, 7], "REFUSED_STREAM");
                refused += 1;
            }
            GOAWAY => panic!("the connection is given up after {answered} answers and {refused} refusals"),
            _ => {}
        }
    }
    assert!(answered >= 250, "{answered} answers, {refused} refusals");
    client
        .send(&frames::request(2 * streams + 1, &get(b"/", &[])))
        .await;
    assert!(matches!(
        client.outcome(2 * streams + 1).await,
        Outcome::Status(_)
    ));
}

#[tokio::test]
async fn what_clients_may_send_is_a_setting() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tservers {{\n\t\tmax_streams 7\n\t\tmax_control_frames 10 20\n\t\tmax_stream_errors 2\n\t}}\n}}\n\
         http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {}\n}}\n",
        origin.addr()
    ));
    let (bench, pings) = (Bench::start().await, frame(PING, 0, 0, &[0; 8]).repeat(100));
    for (rig, passes) in [(&bench.rig, true), (&rig, false)] {
        let mut client = Frames::connect(rig, &[]).await;
        let settings = client.next().await.unwrap();
        let streams = if passes {
            [0, 3, 0, 0, 0, 250]
        } else {
            [0, 3, 0, 0, 0, 7]
        };
        assert_eq!(settings.kind, SETTINGS);
        assert!(settings.payload.chunks(6).any(|setting| setting == streams));
        client.try_send(&pings).await;
        let asked = client.try_send(&frames::request(1, &get(b"/", &[]))).await;
        let outcome = client.outcome(1).await;
        assert_eq!(outcome == Outcome::Status(200), passes, "{asked} {outcome:?}");
    }
    for (rig, passes) in [(&bench.rig, true), (&rig, false)] {
        let mut client = Frames::connect(rig, &[]).await;
        for stream in [1_u32, 3, 5] {
            let of_itself = [&stream.to_be_bytes()[..], &[16]].concat();
            let fault = frame(PRIORITY, 0, stream, &of_itself);
            let asked = frames::request(stream, &get(b"/", &[]));
            client.try_send(&[asked, fault].concat()).await;
            client.outcome(stream).await;
        }
        client.try_send(&frames::request(9, &get(b"/", &[]))).await;
        let outcome = client.outcome(9).await;
        assert_eq!(outcome == Outcome::Status(200), passes, "{outcome:?}");
    }
}
