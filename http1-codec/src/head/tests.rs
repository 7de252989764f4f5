//! Heads whole, in pieces, and against the grammar.

use super::*;

fn read(text: &str) -> Result<RequestHead, HeadError> {
    read_with(text, &HeadLimits::default()).map(|head| head.expect("a whole head"))
}

fn read_with(text: &str, limits: &HeadLimits) -> Result<Option<RequestHead>, HeadError> {
    HeadReader::default().request(&mut BytesMut::from(text), limits)
}

fn answer(text: &str) -> Result<ResponseHead, HeadError> {
    HeadReader::default()
        .response(&mut BytesMut::from(text), &HeadLimits::default(), &Method::GET)
        .map(|head| head.expect("a whole head"))
}

#[test]
fn a_head_becomes_a_request() {
    let head =
        read("POST /a?b=c HTTP/1.1\r\nHost: a.test\r\nX-One:  1 \r\nX-One: 2\r\nContent-Length: 05\r\n\r\n")
            .unwrap();
    assert_eq!(head.request.method(), Method::POST);
    assert_eq!(head.request.uri(), "/a?b=c");
    assert_eq!(head.framing, Framing::Length(5));
    assert!(head.keep_alive);
    let headers = head.request.headers();
    assert_eq!(headers.get_all("x-one").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(headers["content-length"], "5");
}

#[test]
fn only_the_head_is_taken_from_the_buffer() {
    let mut buffer = BytesMut::from("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b");
    HeadReader::default()
        .request(&mut buffer, &HeadLimits::default())
        .unwrap()
        .unwrap();
    assert_eq!(buffer, "GET /b");
}

#[test]
fn heads_against_the_grammar_are_refused() {
    for (text, error) in [
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", HeadError::BareLineFeed),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", HeadError::BareLineFeed),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", HeadError::BareLineFeed),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::BareLineFeed),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: y\n\r\n", HeadError::BareLineFeed),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::FirstLine),
        ("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Method),
        ("G\"T / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Method),
        ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::FirstLine),
        ("GET /a\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Target),
        ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Target),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", HeadError::FirstLine),
        ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", HeadError::Version),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", HeadError::Version),
        ("GET / http/1.1\r\nHost: a\r\n\r\n", HeadError::FirstLine),
        ("GET / HTTP/1.1x\r\nHost: a\r\n\r\n", HeadError::FirstLine),
        ("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", HeadError::FieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", HeadError::FieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", HeadError::FieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\n X: y\r\n\r\n", HeadError::FieldName),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX(y): z\r\n\r\n",
            HeadError::FieldName,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n",
            HeadError::FieldValue,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: y\0z\r\n\r\n",
            HeadError::FieldValue,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: y\u{7f}z\r\n\r\n",
            HeadError::FieldValue,
        ),
        ("GET / HTTP/1.1\r\n\r\n", HeadError::NoHost),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", HeadError::Host),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            HeadError::TwoHosts,
        ),
        ("GET / HTTP/1.0\r\nHost: u@a\r\n\r\n", HeadError::Host),
        ("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Host),
        (
            "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::FirstLine,
        ),
    ] {
        assert_eq!(read(text).unwrap_err(), error, "{text:?}");
    }
}

#[test]
fn a_folded_value_is_refused() {
    for text in [
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n",
    ] {
        let error = read(text).unwrap_err();
        assert!(
            matches!(error, HeadError::FieldName | HeadError::FieldValue),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn a_bare_line_feed_passes_where_it_is_allowed() {
    let limits = HeadLimits {
        bare_line_feed: true,
        ..HeadLimits::default()
    };
    for text in [
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "\nGET / HTTP/1.1\nHost: a\r\n\n",
    ] {
        let head = read_with(text, &limits).unwrap().unwrap();
        assert_eq!(head.request.headers()["host"], "a", "{text:?}");
    }
}

#[test]
fn a_target_has_the_form_of_its_method() {
    for line in [
        "GET /",
        "GET /*",
        "GET http://b.test/",
        "GET HTTP://b.test",
        "GET http://b.test?x",
        "OPTIONS *",
        "OPTIONS /",
        "CONNECT a:443",
        "CONNECT [::1]:443",
    ] {
        assert!(
            read(&format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n")).is_ok(),
            "{line}"
        );
    }
    for line in [
        "GET admin",
        "GET a:80",
        "GET *",
        "OPTIONS */x",
        "OPTIONS **",
        "GET a/b",
        "GET ?x",
        "GET http:/x",
        "GET http:///x",
        "CONNECT /x",
        "CONNECT *",
        "CONNECT http://a",
        "CONNECT http://a:80/",
        "CONNECT a:443/",
        "CONNECT u@a:443",
    ] {
        let error = read(&format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n")).unwrap_err();
        assert!(
            matches!(error, HeadError::Target | HeadError::Host),
            "{line}: {error}"
        );
    }
}

#[test]
fn a_first_line_has_the_same_limit_whole_and_in_pieces() {
    for method in [100, 118, 119, 120, 300] {
        let text = format!(
            "{} /{} HTTP/1.1\r\nHost: a\r\n\r\n",
            "M".repeat(method),
            "a".repeat(8191)
        );
        let whole = read(&text).is_ok();
        let (mut reader, mut buffer) = (HeadReader::default(), BytesMut::new());
        let pieces = text.as_bytes().chunks(1).find_map(|piece| {
            buffer.extend_from_slice(piece);
            reader.request(&mut buffer, &HeadLimits::default()).transpose()
        });
        assert_eq!(pieces.unwrap().is_ok(), whole, "{method}");
    }
}

#[test]
fn two_empty_lines_may_come_first() {
    assert!(read("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").is_ok());
}

#[test]
fn an_old_request_needs_no_host_and_ends_its_connection_unless_it_says_otherwise() {
    assert!(!read("GET / HTTP/1.0\r\n\r\n").unwrap().keep_alive);
    assert!(
        read("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            .unwrap()
            .keep_alive
    );
    assert!(
        !read("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n")
            .unwrap()
            .keep_alive
    );
}

#[test]
fn heads_have_limits() {
    let head = |target: usize, fields: usize, value: usize| {
        let fields = "X: y\r\n".repeat(fields);
        read(&format!(
            "GET /{} HTTP/1.1\r\nHost: a\r\n{fields}Y: {}\r\n\r\n",
            "a".repeat(target),
            "v".repeat(value)
        ))
        .map(|_| ())
    };
    assert_eq!(head(8191, 98, 1000), Ok(()));
    assert_eq!(head(8192, 0, 0), Err(HeadError::TargetTooLong));
    assert_eq!(head(0, 99, 0), Err(HeadError::TooManyFields));
    assert_eq!(head(0, 0, 65 * 1024), Err(HeadError::TooLarge));
}

#[test]
fn what_never_ends_is_refused_when_it_is_too_large() {
    let part = |text: &str| read_with(text, &HeadLimits::default()).map(|_| ());
    assert_eq!(
        part(&format!("GET /{}", "a".repeat(9000))),
        Err(HeadError::TargetTooLong)
    );
    assert_eq!(
        part(&format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(65_536))),
        Err(HeadError::TooLarge)
    );
}

#[test]
fn what_is_no_http_is_refused_before_its_end() {
    for text in [
        "\u{16}\u{3}\u{1}\u{2}\u{0}",
        "GET / HTTP/3",
        "SSH-2.0-x\r\n",
        "{\"a\": 1}",
    ] {
        assert!(read_with(text, &HeadLimits::default()).is_err(), "{text:?}");
    }
}

#[test]
fn a_head_in_pieces_is_the_same_as_in_one() {
    let text = "\r\nPOST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc";
    for cut in 0..text.len() {
        let (mut reader, mut buffer) = (HeadReader::default(), BytesMut::new());
        let mut found = None;
        for piece in <[&[u8]; 2]>::from(text.as_bytes().split_at(cut)) {
            buffer.extend_from_slice(piece);
            if found.is_none() {
                found = reader.request(&mut buffer, &HeadLimits::default()).unwrap();
            }
        }
        assert_eq!(found.unwrap().request.uri(), "/a", "{cut}");
        assert_eq!(buffer, "abc", "{cut}");
    }
    let (mut reader, mut buffer) = (HeadReader::default(), BytesMut::new());
    let mut heads = 0;
    for byte in text.bytes() {
        buffer.extend_from_slice(&[byte]);
        heads += usize::from(
            reader
                .request(&mut buffer, &HeadLimits::default())
                .unwrap()
                .is_some(),
        );
        if heads > 0 {
            break;
        }
    }
    assert_eq!(heads, 1);
}

#[test]
fn a_response_head_becomes_a_response() {
    let head =
        answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n").unwrap();
    assert_eq!(
        (head.response.status(), head.framing),
        (StatusCode::OK, Framing::Length(5))
    );
    assert!(head.keep_alive);
    assert!(
        !answer("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n")
            .unwrap()
            .keep_alive
    );
    assert!(!answer("HTTP/1.1 200 OK\r\n\r\n").unwrap().keep_alive);
    assert!(answer("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n").is_ok());
}

#[test]
fn a_length_beside_chunked_is_dropped_and_ends_the_connection() {
    let head = answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    assert_eq!(head.framing, Framing::Chunked);
    assert!(!head.keep_alive);
    assert!(!head.response.headers().contains_key("content-length"));
}

#[test]
fn response_heads_against_the_grammar_are_refused() {
    for text in [
        "HTTP/1.1 700 X\r\n\r\n",
        "HTTP/1.1 99 X\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
    ] {
        assert!(answer(text).is_err(), "{text:?}");
    }
}

#[test]
fn values_are_slices_of_the_buffer() {
    let mut buffer = BytesMut::from("GET / HTTP/1.1\r\nHost: a.test\r\nX: \u{e9}\r\n\r\n");
    let range = buffer.as_ptr_range();
    let head = HeadReader::default()
        .request(&mut buffer, &HeadLimits::default())
        .unwrap()
        .unwrap();
    for value in head.request.headers().values() {
        assert!(range.contains(&value.as_bytes().as_ptr()));
    }
}
