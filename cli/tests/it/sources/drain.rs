//! What is under way when its host is removed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::{Replica, sqlite};
use crate::support::{Answer, Directory, PATIENCE};

/// The next connection, and the head of its request.
fn accept(listener: &TcpListener) -> (BufReader<TcpStream>, String) {
    let stream = listener.accept().unwrap().0;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream);
    let head = head(&mut reader);
    (reader, head)
}

fn head(reader: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    head
}

fn send(replica: &Replica, request: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, replica.port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Both directions of a tunnel are open.
fn echoes(client: &mut BufReader<TcpStream>, upstream: &mut BufReader<TcpStream>) {
    passes(client, upstream);
    passes(upstream, client);
}

fn passes(from: &mut BufReader<TcpStream>, to: &mut BufReader<TcpStream>) {
    from.get_mut().write_all(b"ping").unwrap();
    let mut heard = [0; 4];
    to.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"ping");
}

#[test]
fn a_request_in_flight_and_a_tunnel_of_a_removed_host_end_by_themselves() {
    let directory = Directory::new();
    let replica = Replica::start(&sqlite(&directory.path().join("store.db")));
    let origin = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let document = format!(
        "{{\"host\": \"a.test\", \"upstreams\": [{{\"address\": \"{}\"}}]}}",
        origin.local_addr().unwrap()
    );
    replica.routes_done(&["put", "a.test", "--wait"], &document);

    let in_flight = send(
        &replica,
        "GET /long HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
    );
    let (mut answering, _) = accept(&origin);
    let begin = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
    answering.get_mut().write_all(begin).unwrap();
    let mut tunnel = send(
        &replica,
        "GET /socket HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let (mut far, asked) = accept(&origin);
    assert!(
        asked.to_ascii_lowercase().contains("upgrade: websocket"),
        "{asked}"
    );
    far.get_mut()
        .write_all(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
              Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        )
        .unwrap();
    let switched = head(&mut tunnel);
    assert!(switched.starts_with("HTTP/1.1 101 "), "{switched}");
    echoes(&mut tunnel, &mut far);

    replica.routes_done(&["delete", "a.test", "--wait"], "");
    assert_eq!(replica.status_of("a.test"), 404, "for others it is gone");

    echoes(&mut tunnel, &mut far);
    answering.get_mut().write_all(b"world").unwrap();
    assert_eq!(Answer::read(in_flight).body, "helloworld");
    // One side ends, and the other is told.
    drop(far);
    assert_eq!(tunnel.read(&mut [0; 1]).unwrap(), 0);
}
