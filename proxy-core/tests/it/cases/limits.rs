//! Limits: heads, fields, targets, extensions and trailers that are as large as they may be, and larger.

use super::request::{CLOSED, broken, check, forwarded, refused};

/// What refuses a body or trailers beyond a limit.
const LARGE: &[u16] = &[400, 413, 431];

fn field(line: impl AsRef<[u8]>) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\n<H>", line.as_ref(), b"\r\n\r\n"].concat()
}

fn chunked(body: impl AsRef<[u8]>) -> Vec<u8> {
    let head = b"POST / HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n";
    [head, body.as_ref()].concat()
}

#[tokio::test]
async fn heads_pass_up_to_the_limits_and_not_beyond() {
    let many = |count: usize| {
        (0..count)
            .map(|number| format!("X-{number}: y\r\n"))
            .collect::<String>()
    };
    let target = |length: usize| format!("GET /{} HTTP/1.1\r\n<H>\r\n", "a".repeat(length - 1));
    let long = |length: usize| field(format!("X: {}", "y".repeat(length)));
    let large = format!("X: {}\r\n", "y".repeat(1000)).repeat(70);
    check(vec![
        forwarded("HD-20 100 fields", field(many(99).trim_end())),
        refused("HD-20 101 fields", &[431], field(many(100).trim_end())),
        refused("HD-20 1000 fields", &[431], field(many(1000).trim_end())),
        forwarded("HD-20 a target of 8 KiB", target(8 << 10)),
        refused("HD-20 a target above 8 KiB", &[414], target((8 << 10) + 1)),
        refused("HD-20 a target of 9 KiB", &[414], target(9 << 10)),
        refused("HD-20 a target of 70 KiB", &[414, 431], target(70 << 10)),
        refused(
            "HD-20 an absolute target of 9 KiB",
            &[414],
            format!("GET http://app.test/{} HTTP/1.1\r\n<H>\r\n", "a".repeat(9 << 10)),
        ),
        forwarded("HD-20 a field of 48 KiB", long(48 << 10)),
        refused("HD-20 a field of 65 KiB", &[431], long(65 << 10)),
        refused(
            "HD-20 a long name",
            &[400, 431],
            field(format!("{}: y", "x".repeat(65 << 10))),
        ),
        refused("HD-20 a head above 64 KiB", &[431], field(large.trim_end())),
        refused(
            "HD-20 a long method",
            &[400, 414, 431, 501],
            format!("{} / HTTP/1.1\r\n<H>\r\n", "A".repeat(70 << 10)),
        ),
        refused(
            "HD-18 empty lines and nothing else",
            &[CLOSED, 400, 408, 431],
            "\r\n".repeat(512 << 10),
        ),
        forwarded(
            "HH-10 ten thousand claims",
            field(format!("X-Forwarded-For: {}", "1.1.1.1,".repeat(5000))),
        ),
    ])
    .await;
}

#[tokio::test]
async fn endless_extensions_and_trailers_are_refused() {
    let ends = "0\r\n\r\n";
    let extensions = format!("1;{}\r\nx\r\n", "a".repeat(4000)).repeat(200) + ends;
    let long = format!("1;{}\r\nx\r\n{ends}", "a".repeat(100 << 10));
    let fields: String = (0..2000).map(|number| format!("X-{number}: y\r\n")).collect();
    check(vec![
        broken("FR-30 many", LARGE, chunked(extensions)),
        broken("FR-30 one", LARGE, chunked(long)),
        broken(
            "FR-33 many trailers",
            LARGE,
            chunked(format!("0\r\n{fields}\r\n")),
        ),
        broken(
            "FR-33 a long trailer",
            LARGE,
            chunked(format!("0\r\nX: {}\r\n\r\n", "y".repeat(100 << 10))),
        ),
    ])
    .await;
}
