//! Tests of connections that many requests share.

use tokio::io::DuplexStream;

use super::*;
use crate::upstream::transport::HEAD_LIMITS;

#[test]
fn an_answer_has_one_plain_length() {
    let length = |values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::CONTENT_LENGTH, HeaderValue::from_static(value));
        }
        check_length(&mut headers).map(|()| headers)
    };
    for bad in [&["5", "6"][..], &["5, 5"], &["+5"], &[""]] {
        assert_eq!(length(bad).unwrap_err().reason, Reason::BadResponse, "{bad:?}");
    }
    let headers = length(&["05", "05"]).unwrap();
    assert_eq!(
        headers.get_all("content-length").iter().collect::<Vec<_>>(),
        ["5"]
    );
}

#[test]
fn the_field_that_came_last_is_removed_and_no_other() {
    let mut headers = HeaderMap::new();
    for hop in ["1.1 a", "1.1 b", "1.1 doorway"] {
        headers.append(header::VIA, HeaderValue::from_static(hop));
    }
    remove_last(&mut headers, &header::VIA);
    assert_eq!(
        headers.get_all(header::VIA).iter().collect::<Vec<_>>(),
        ["1.1 a", "1.1 b"]
    );
}

async fn open(near: DuplexStream, tasks: &Tasks) -> Result<(Http2, Place), Failure> {
    let connected = Connected {
        stream: Box::new(near),
        address: ([127, 0, 0, 1], 1).into(),
        http2: true,
        tls: false,
    };
    Http2::open(connected, &HEAD_LIMITS, None, tasks).await
}

type Server = h2::server::Connection<DuplexStream, bytes::Bytes>;

#[tokio::test]
async fn connections_that_nobody_needs_are_not_kept() {
    let pool = crate::upstream::pool::Pool::default();
    let key = "127.0.0.1:1".parse::<std::net::SocketAddr>().unwrap().into();
    let mut servers = Vec::new();
    for _ in 0..3 {
        let (connection, place, server) = opened(10).await;
        pool.share(
            key,
            connection,
            crate::upstream::pool::PoolLimits::default(),
            None,
        );
        servers.push(server);
        drop(place);
    }
    for server in servers.iter_mut().skip(1) {
        let end = server.accept().await;
        assert!(
            !matches!(end, Some(Ok(_))),
            "no request comes, the connection ends"
        );
    }
    assert!(
        pool.take(key, crate::upstream::transport::Protocol::Http2)
            .is_some()
    );
}

/// A connection to an upstream that allows `most` streams at once, with the first place on it.
async fn opened(most: u32) -> (Http2, Place, Server) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let mut settings = h2::server::Builder::new();
    settings.max_concurrent_streams(most);
    let tasks = Tasks::default();
    let (opened, server) = tokio::join!(open(near, &tasks), settings.handshake(far));
    let (connection, place) = opened.unwrap();
    (connection, place, server.unwrap())
}

fn get() -> Box<Request<Body>> {
    Box::new(
        Request::get("/")
            .header("host", "a.test")
            .body(Body::empty())
            .unwrap(),
    )
}

async fn answered(place: Place, server: &mut Server) -> Response<Body> {
    let answer = async {
        let (_, mut answer) = server.accept().await.unwrap().unwrap();
        let mut body = answer.send_response(Response::new(()), false).unwrap();
        let more = std::future::poll_fn(|cx| server.poll_closed(cx));
        tokio::select! {
            _ = more => unreachable!("the connection stays open"),
            () = tokio::task::yield_now() => {}
        }
        body.send_data("ok".into(), true).unwrap();
        server.accept().await;
    };
    tokio::select! {
        response = place.send(get(), &[]) => response.unwrap(),
        () = answer => unreachable!("no other request comes"),
    }
}

#[tokio::test]
async fn a_full_connection_gives_no_place_until_an_answer_has_ended() {
    let (connection, place, mut server) = opened(1).await;
    // The limit is told with the first answer.
    let response = answered(place, &mut server).await;
    assert!(connection.take().is_none(), "its body is not read yet");
    assert!(!connection.is_idle());
    drop(response);
    assert!(connection.is_idle());
    let place = connection.take();
    assert!(place.is_some());
    assert!(connection.take().is_none());
}

#[tokio::test]
async fn a_request_that_is_given_up_leaves_its_place() {
    let (connection, place, _server) = opened(1).await;
    let mut sending = Box::pin(place.send(get(), &[]));
    tokio::select! {
        biased;
        _ = sending.as_mut() => unreachable!("nobody answers"),
        () = tokio::task::yield_now() => {}
    }
    assert!(!connection.is_idle());
    drop(sending);
    assert!(connection.is_idle());
}

#[tokio::test]
async fn a_connection_that_ends_under_a_request_was_stale_if_it_was_shared() {
    for shared in [false, true] {
        let (connection, first, mut server) = opened(10).await;
        let place = if shared { connection.take().unwrap() } else { first };
        let ends = async move {
            let _request = server.accept().await.unwrap().unwrap();
            drop(server);
        };
        let (result, ()) = tokio::join!(place.send(get(), &[]), ends);
        let repeatable = matches!(result.unwrap_err().fate, Fate::Repeatable(_));
        assert_eq!(repeatable, shared);
    }
}

/// A request that may not be repeated for any other reason.
fn post() -> Box<Request<Body>> {
    let post = Request::post("/").header("host", "a.test");
    Box::new(post.body(Body::full("order")).unwrap())
}

#[tokio::test]
async fn only_a_refused_stream_was_not_looked_at() {
    for (reason, refused) in [
        (h2::Reason::REFUSED_STREAM, true),
        (h2::Reason::INTERNAL_ERROR, false),
    ] {
        let (_connection, place, mut server) = opened(10).await;
        let resets = async {
            let (_, mut answer) = server.accept().await.unwrap().unwrap();
            answer.send_reset(reason);
            server.accept().await;
        };
        let result = tokio::select! {
            result = place.send(post(), &[]) => result,
            () = resets => unreachable!("no other request comes"),
        };
        match result.unwrap_err().fate {
            Fate::Refused(request) => {
                assert!(refused, "{reason}");
                let (body, _) = crate::body::read_all(request.into_body()).await.unwrap();
                assert_eq!(body, b"order");
            }
            fate => assert!(!refused, "{reason}: {fate:?}"),
        }
    }
}

/// Bytes of HTTP/2 that the other side has written until now.
async fn ignore_input(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> usize {
    let mut bytes = [0; 4096];
    tokio::io::AsyncReadExt::read(stream, &mut bytes).await.unwrap()
}

#[tokio::test]
async fn requests_behind_the_last_one_of_a_goaway_were_not_looked_at_and_those_before_go_on() {
    use tokio::io::AsyncWriteExt as _;

    let (near, mut far) = tokio::io::duplex(64 * 1024);
    let tasks = Tasks::default();
    far.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let (connection, first) = open(near, &tasks).await.unwrap();
    let second = connection.take().unwrap();
    let upstream = async {
        while ignore_input(&mut far).await > 0 && connection.streams.open.load(Ordering::Relaxed) < 2 {}
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        // The first stream is the last that is looked at, and the second is not.
        far.write_all(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0")
            .await
            .unwrap();
        // An answer of the status 204, which is in the static table.
        far.write_all(b"\0\0\x01\x01\x05\0\0\0\x01\x89").await.unwrap();
        while ignore_input(&mut far).await > 0 {}
    };
    let requests = async { tokio::join!(first.send(post(), &[]), second.send(post(), &[])) };
    let ((first, second), ()) = tokio::join!(requests, upstream);
    assert_eq!(first.unwrap().status(), 204);
    let fate = second.unwrap_err().fate;
    assert!(matches!(fate, Fate::Refused(_) | Fate::Unsent(_)), "{fate:?}");
    assert!(connection.take().is_none(), "no further request goes there");
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_found_by_a_ping_although_nobody_uses_it() {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let tasks = Tasks::default();
    let (connection, place) = open(near, &tasks).await.unwrap();
    drop(place);
    assert!(connection.has_room());
    tokio::time::sleep(PING_INTERVAL + PING_TIMEOUT * 2).await;
    assert!(connection.is_closed(), "it takes no request");
    drop(far);
}

#[tokio::test(start_paused = true)]
async fn a_request_on_a_dead_connection_fails_when_its_ping_is_not_answered() {
    let (near, _far) = tokio::io::duplex(64 * 1024);
    let tasks = Tasks::default();
    let (_connection, place) = open(near, &tasks).await.unwrap();
    let begin = tokio::time::Instant::now();
    let failed = place.send(post(), &[]).await.unwrap_err();
    assert!(matches!(failed.fate, Fate::Sent), "it may have been looked at");
    assert!(begin.elapsed() <= PING_INTERVAL + PING_TIMEOUT * 2);
}

/// A body without an end, and how much of it was asked for.
struct Endless(Arc<AtomicUsize>);

impl http_body::Body for Endless {
    type Data = bytes::Bytes;
    type Error = crate::body::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, Self::Error>>> {
        const PIECE: &[u8] = &[b'x'; 4096];
        self.0.fetch_add(PIECE.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(http_body::Frame::data(PIECE.into()))))
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_to_an_upstream_that_reads_nothing_waits_at_its_client() {
    const WIDE: u32 = 1 << 30;
    const SOCKET: usize = 4 * 1024;
    let (near, far) = tokio::io::duplex(SOCKET);
    let mut settings = h2::server::Builder::new();
    settings
        .initial_window_size(WIDE)
        .initial_connection_window_size(WIDE);
    let tasks = Tasks::default();
    let (opened, server) = tokio::join!(open(near, &tasks), settings.handshake::<_, bytes::Bytes>(far));
    let (_connection, place) = opened.unwrap();
    let mut server = server.unwrap();
    let pulled = Arc::new(AtomicUsize::new(0));
    let mut request = post();
    *request.body_mut() = Body::new(Endless(Arc::clone(&pulled)));
    let mut sending = Box::pin(place.send(request, &[]));
    tokio::select! {
        _ = sending.as_mut() => unreachable!("nobody answers"),
        // With the request the windows are open; from here on nothing is read.
        request = server.accept() => assert!(request.unwrap().is_ok()),
    }
    let waited = tokio::time::timeout(Duration::from_secs(1), sending).await;
    assert!(waited.is_err(), "nobody answers");
    let waiting = pulled.load(Ordering::Relaxed);
    assert!(
        waiting <= SEND_BUFFER + 8 * SOCKET,
        "{waiting} bytes wait for an upstream"
    );
}
