//! A reload that changes how connections are made keeps the listener, and ends those that were made otherwise.

use tokio::net::TcpStream;

use super::{LOCALHOST, client_auth, site, sites};
use crate::support::identity::{Authority, Identity};
use crate::support::origin::Origin;
use crate::support::rig::{HOST, Rig};
use crate::support::tls::{self, Client};
use crate::support::wait::{eventually, within};
use crate::support::wire::{End, Wire};

fn asking(mode: &str, directives: &str) -> String {
    let tls = if mode.is_empty() {
        String::new()
    } else {
        client_auth(mode)
    };
    sites("", &[site(HOST, &tls, directives)])
}

fn request() -> String {
    format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
}

#[tokio::test]
async fn a_new_mode_keeps_the_socket_and_ends_connections_after_their_request() {
    let origin = Origin::bind(LOCALHOST).await;
    let proxied = format!("\treverse_proxy {}", origin.addr());
    let rig = Rig::caddyfile(&asking("", &proxied));
    let anybody = Client::new();
    let mut busy = Wire::over(anybody.connect(rig.addr(), HOST).await.unwrap());
    busy.send(request()).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;

    let applied = rig.reload(&asking("\t\t\tmode require", &proxied)).await;
    assert_eq!(
        (applied.added.len(), applied.removed.len(), applied.kept),
        (0, 0, 1)
    );

    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        .await;
    let answer = busy.answer().await;
    assert_eq!((answer.head.status(), &*answer.body), (200, &b"slow"[..]));
    assert_eq!(busy.rest().await, (Vec::new(), End::Fin));
    // The session that it had is no way in either.
    assert!(anybody.ask(rig.addr(), HOST, HOST).await.is_err());
    let known = anybody.clone().showing(&Identity::of_its_own("me"));
    let asking = known.ask(rig.addr(), HOST, HOST);
    let answering = async {
        upstream.head().await;
        upstream
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin")
            .await;
    };
    let (asked, ()) = tokio::join!(asking, answering);
    assert_eq!(asked.unwrap().0.body, b"in");
}

#[tokio::test]
async fn connections_on_unchanged_terms_notice_nothing() {
    let authority = Authority::new();
    let pool = format!("\t\t\ttrust_pool file {}", authority.file().display());
    let rig = Rig::caddyfile(&asking(&pool, "\trespond before"));
    let client = Client::new().showing(&authority.sign("ann"));
    let mut wire = Wire::over(client.connect(rig.addr(), HOST).await.unwrap());
    assert_eq!(wire.ask(request()).await.body, b"before");

    rig.reload(&asking(&pool, "\trespond after")).await;
    assert_eq!(wire.ask(request()).await.body, b"after");
    assert!(wire.pending().await.is_empty());

    // Another authority at the same path is another condition.
    let other = Authority::new();
    std::fs::copy(other.file(), authority.file()).unwrap();
    rig.reload(&asking(&pool, "\trespond after")).await;
    assert_eq!(wire.rest().await.0, Vec::<u8>::new());
    assert!(client.ask(rig.addr(), HOST, HOST).await.is_err());
    let new = Client::new().showing(&other.sign("bob"));
    assert!(new.ask(rig.addr(), HOST, HOST).await.is_ok());
}

#[tokio::test]
async fn a_broken_authority_changes_nothing() {
    let authority = Authority::new();
    let pool = format!("\t\t\ttrust_pool file {}", authority.file().display());
    let rig = Rig::caddyfile(&asking(&pool, "\trespond hi"));
    let client = Client::new().showing(&authority.sign("ann"));
    let mut wire = Wire::over(client.connect(rig.addr(), HOST).await.unwrap());
    wire.ask(request()).await;

    std::fs::write(authority.file(), "-----BEGIN CERTIFICATE-----\nhalf").unwrap();
    let error = rig.load(&asking(&pool, "\trespond new")).await.unwrap_err();
    let place = format!("{}: is not valid PEM", authority.file().display());
    assert!(error.contains(&place), "{error}");
    assert_eq!(wire.ask(request()).await.body, b"hi");
    assert!(client.ask(rig.addr(), HOST, HOST).await.is_ok());
    assert!(Client::new().ask(rig.addr(), HOST, HOST).await.is_err());
}

#[tokio::test]
async fn connections_without_a_request_end_at_once_and_half_a_head_gets_421() {
    let rig = Rig::caddyfile(&asking("", "\trespond public"));
    let mut silent = Wire::over(Client::new().connect(rig.addr(), HOST).await.unwrap());
    let mut half = Wire::over(Client::new().connect(rig.addr(), HOST).await.unwrap());
    let request = request();
    let (begun, end) = request.split_at(10);
    // In one piece: once the first is answered, the half of the second is there.
    half.send(format!("{request}{begun}")).await;
    assert_eq!(half.answer().await.body, b"public");

    rig.reload(&asking("\t\t\tmode require", "\trespond secret"))
        .await;

    assert_eq!(silent.rest().await.0, Vec::<u8>::new());
    half.send(end).await;
    let answer = half.answer().await;
    assert_eq!(answer.head.status(), 421);
    assert_eq!(answer.head.members("connection"), ["close"]);
    assert_eq!(half.rest().await, (Vec::new(), End::Fin));
}

#[tokio::test]
async fn a_connection_that_has_not_shaken_hands_comes_in_on_the_new_terms() {
    let rig = Rig::caddyfile(&asking("", "\trespond public"));
    let waiting = TcpStream::connect(rig.addr()).await.unwrap();
    let knowing = TcpStream::connect(rig.addr()).await.unwrap();
    eventually("both are accepted", async || {
        (rig.stats().connections == 2).then_some(())
    })
    .await;

    rig.reload(&asking(
        "\t\t\tmode request",
        "\trespond \"[{http.request.tls.client.subject}]\"",
    ))
    .await;
    let identity = Identity::of_its_own("me");
    let mut known = Wire::over(
        Client::new()
            .showing(&identity)
            .over(knowing, HOST)
            .await
            .unwrap(),
    );
    assert_eq!(known.ask(request()).await.body, b"[CN=me]");

    rig.reload(&asking("\t\t\tmode require", "\trespond secret"))
        .await;
    let mut unknown = Wire::over(tls::over(waiting, HOST, &[]).await);
    // It is refused while it is sending.
    let _refused = unknown.try_send(request()).await;
    assert!(within("an alert", unknown.try_answer_to("GET")).await.is_err());
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A whole request for `/` in HTTP/2: GET, https, the path, then the host.
fn headers(stream: u32) -> Vec<u8> {
    let mut fields = vec![0x82, 0x87, 0x84, 0x01, u8::try_from(HOST.len()).unwrap()];
    fields.extend(HOST.as_bytes());
    frame(1, 5, stream, &fields)
}

/// The next frame: its kind and its payload.
async fn next_frame(wire: &mut Wire) -> (u8, Vec<u8>) {
    let head = wire.exactly(9).await;
    let length = usize::from(head[1]) << 8 | usize::from(head[2]);
    (head[3], wire.exactly(length).await)
}

#[tokio::test]
async fn http2_that_acknowledges_nothing_gets_421_then_nothing_then_an_end() {
    // ":status: 421" as HPACK has it, in Huffman's code.
    const MISDIRECTED: [u8; 4] = [0x48, 0x82, 0x68, 0x41];
    const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
    let rig = Rig::caddyfile(&asking("", "\trespond public"));
    let mut wire = Wire::over(tls::connect(rig.addr(), HOST, &[b"h2"]).await);
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend(frame(4, 0, 0, &[]));
    hello.extend(headers(1));
    wire.send(hello).await;
    while next_frame(&mut wire).await != (0, b"public".to_vec()) {}

    rig.reload(&asking("\t\t\tmode require", "\trespond secret"))
        .await;

    wire.send(headers(3)).await;
    let answer = loop {
        if let (1, fields) = next_frame(&mut wire).await {
            break fields;
        }
    };
    assert!(answer.starts_with(&MISDIRECTED), "{answer:x?}");
    // A client that goes on asking.
    let (mut stream, mut came) = (3, Vec::new());
    eventually("the end of the connection", async || {
        stream += 2;
        if wire.try_send(headers(stream)).await.is_err() {
            return Some(());
        }
        came.extend(wire.pending().await);
        None
    })
    .await;
    let has = |text: &[u8]| came.windows(text.len()).any(|part| part == text);
    assert!(has(&REFUSED_STREAM));
    assert!(!has(b"secret") && !has(b"public"));
}
