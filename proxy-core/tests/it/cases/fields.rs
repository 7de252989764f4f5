//! Field lines: their names, their values, their ends, and how many there may be.

use super::request::{BAD, Case, check, forwarded, refused};
use crate::support::rig::HOST;

fn field(line: impl AsRef<[u8]>) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\n<H>", line.as_ref(), b"\r\n\r\n"].concat()
}

#[tokio::test]
async fn malformed_field_lines_are_refused() {
    let bad: [(&str, &[u8]); 16] = [
        ("HD-02 CR in a value", b"X: y\rZ: w"),
        ("HD-02 CR before a value", b"X:\ry"),
        ("HD-02 CR behind a value", b"X: y\r"),
        ("HD-02 CR in a name", b"X\rY: z"),
        ("HD-02 no name", b": z"),
        ("HD-02 a colon", b":"),
        ("HD-02 no colon", b"foo"),
        ("HD-02 two words", b"foo bar"),
        ("HD-02 a space before the colon", b"X : y"),
        ("HD-02 a tab before the colon", b"X\t: y"),
        ("HD-02 a folded line", b"X: y\r\n z"),
        ("HD-02 a line folded by a tab", b"X: y\r\n\tz"),
        ("HD-02 folded blanks", b"X: y\r\n \r\nZ: a"),
        ("HD-02 a folded host", b"X: y\r\n Host: b.test"),
        ("HD-02 a request", b"GET /s HTTP/1.1"),
        ("HD-02 only blanks", b" \t"),
    ];
    let mut cases: Vec<Case> = bad
        .iter()
        .map(|(id, line)| refused(*id, BAD, field(line)))
        .collect();
    let first = format!("GET / HTTP/1.1\r\n X: y\r\nHost: {HOST}\r\n\r\n");
    cases.push(refused("HD-02 a folded first line", BAD, first));
    let first = format!("GET / HTTP/1.1\r\n Host: {HOST}\r\n\r\n");
    cases.push(refused("HD-02 a folded only line", BAD, first));
    check(cases).await;
}

#[tokio::test]
async fn control_bytes_in_values_and_all_but_letters_in_names_are_refused() {
    let mut cases = Vec::new();
    for byte in (0..0x20)
        .chain([0x7f])
        .filter(|byte| ![b'\t', b'\n', b'\r'].contains(byte))
    {
        cases.push(refused(
            "HD-02 in a value",
            BAD,
            field([b"X: y", [byte].as_slice(), b"z"].concat()),
        ));
    }
    let names = b"\0\x01\x0b\x0c\x1f\x7f\x80\x85\xa0\xff \t\"(),/;<=>?@[\\]{}";
    for byte in names {
        cases.push(refused(
            "HD-02 in a name",
            BAD,
            field([b"X", [*byte].as_slice(), b"y: z"].concat()),
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn lines_end_with_cr_and_lf() {
    check(vec![
        refused(
            "HD-05 LF all over",
            BAD,
            format!("GET / HTTP/1.1\nHost: {HOST}\n\n"),
        ),
        refused("HD-05 LF behind the first line", BAD, "GET / HTTP/1.1\n<H>\r\n"),
        refused(
            "HD-05 LF behind a field",
            BAD,
            format!("GET / HTTP/1.1\r\nHost: {HOST}\n\r\n"),
        ),
        refused("HD-05 LF in the middle", BAD, field("X: y\nZ: w")),
        refused(
            "HD-05 LF before a length",
            BAD,
            "POST / HTTP/1.1\r\n<H>X: y\nContent-Length: 5\r\n\r\nhello",
        ),
        refused("HD-05 LF as the empty line", BAD, "GET / HTTP/1.1\r\n<H>\n"),
        refused("HD-05 LF twice", BAD, "GET / HTTP/1.1\r\n<H>X: y\n\n"),
        refused("HD-05 two CR", BAD, field("X: y\r\r\nZ: w")),
        refused("HD-05 two CR at the end", BAD, "GET / HTTP/1.1\r\n<H>\r\r\n\r\n"),
        refused(
            "HD-05 CR all over",
            BAD,
            format!("GET / HTTP/1.1\rHost: {HOST}\r\r\r\n\r\n"),
        ),
        refused(
            "HD-05 LF CR",
            BAD,
            format!("GET / HTTP/1.1\n\rHost: {HOST}\n\r\n\r"),
        ),
        refused("HD-05 CR behind the first line", BAD, "GET / HTTP/1.1\r<H>\r\n"),
        refused("HD-05 CR before a field", BAD, field("\rX: y")),
    ])
    .await;
}

#[tokio::test]
async fn values_pass_byte_for_byte() {
    let latin = b"X: \xff\xfe\xe4";
    check(vec![
        forwarded("HD-03", field(latin)).with("x", [b"\xff\xfe\xe4"]),
        forwarded("HD-03 UTF-8", field("X: \u{e9}\u{20ac}")).with("x", ["\u{e9}\u{20ac}".as_bytes()]),
        forwarded("HD-04 blanks", field("X:  a  b\t ")).with("x", [b"a  b"]),
        forwarded("HD-04 a tab inside", field("X: a\tb")).with("x", [b"a\tb"]),
        forwarded("HD-04 no blank", field("X:a")).with("x", [b"a"]),
        forwarded("HD-04 empty", field("X:\r\nY: \t"))
            .with("x", [b""])
            .with("y", [b""]),
        forwarded("HD-04 colons", field("X:: a:b:")).with("x", [b": a:b:"]),
        forwarded("HD-04 several lines", field("X: 1\r\nx: 2\r\nX: 1")).with("x", [b"1", b"2", b"1"]),
        forwarded("HD-04 all signs of a name", field("!#$%&'*+-^`|~09aZ: y"))
            .with("!#$%&'*+-^`|~09az", [b"y"]),
        forwarded("HD-04 quotes", field("X: \"a, b\", c\\")).with("x", [b"\"a, b\", c\\"]),
        forwarded(
            "HD-04 a host in another case",
            format!("GET / HTTP/1.1\r\nhOsT:{HOST}\r\n\r\n"),
        ),
    ])
    .await;
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
    ])
    .await;
}
