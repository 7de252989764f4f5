//! Connections that are used again.

use crate::support::{Kept, TestBody, connected, each_wire, get, read, request, send};

#[tokio::test(start_paused = true)]
async fn a_connection_has_one_exchange_after_the_other() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let client = async {
            let mut connection = connection;
            assert!(!connection.is_reused());
            for number in 0..4 {
                assert!(connection.is_quiet());
                let request = request("POST", &format!("/{number}"), TestBody::full("abc"));
                let answer = send(connection, request, &kept).await.unwrap();
                assert_eq!(read(answer).await.1, format!("n{number}"));
                assert_eq!(kept.len(), 1);
                connection = kept.take().unwrap();
                assert!(connection.is_reused());
            }
        };
        let serves = async {
            for number in 0..4 {
                server
                    .expect(&format!(
                        "POST /{number} HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"
                    ))
                    .await;
                let body = match number % 2 {
                    0 => format!("Content-Length: 2\r\n\r\nn{number}"),
                    _ => format!("Transfer-Encoding: chunked\r\n\r\n2\r\nn{number}\r\n0\r\n\r\n"),
                };
                server.send(format!("HTTP/1.1 200 OK\r\n{body}")).await;
            }
        };
        tokio::join!(client, serves);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_to_its_end_gives_nothing_back() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let serves = server.exchange(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        );
        let (answer, ()) = tokio::join!(send(connection, get("/"), &kept), serves);
        drop(answer.unwrap());
        server.expect_end().await;
        assert_eq!(kept.len(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_quiet_is_of_no_use() {
    for byte in ["", "x"] {
        let (mut connection, mut server) = connected(crate::support::Wire::Whole);
        assert!(connection.is_quiet());
        server.send(byte).await;
        if byte.is_empty() {
            server.finish().await;
        }
        assert!(!connection.is_quiet());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_end_of_its_request_ends_the_connection() {
    each_wire(async |wire| {
        for framing in [
            "Content-Length: 2\r\n\r\nno",
            "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
        ] {
            let (connection, mut server) = connected(wire);
            let kept = Kept::default();
            let body = crate::support::Frames::default().data("abc").stuck();
            let client = async {
                let answer = send(connection, request("POST", "/", TestBody::new(body)), &kept)
                    .await
                    .unwrap();
                let (_, data, end) = read(answer).await;
                assert_eq!((data.as_str(), end), ("no", Ok(())));
            };
            let serves = async {
                server
                    .expect("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
                    .await;
                server.send(format!("HTTP/1.1 413 X\r\n{framing}")).await;
                server.expect_end().await;
            };
            tokio::join!(client, serves);
            assert_eq!(kept.len(), 0);
        }
    })
    .await;
}
