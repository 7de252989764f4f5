//! Transfer codings: exactly one, final `chunked`, and never beside a length.

use super::request::{BAD, Case, check, forwarded, refused};

/// What refuses a coding that is not known.
const UNKNOWN: &[u16] = &[400, 501];

/// The chunked body of five bytes.
const HELLO: &str = "5\r\nhello\r\n0\r\n\r\n";

fn post(fields: impl AsRef<[u8]>, body: &str) -> Vec<u8> {
    let head = [b"POST / HTTP/1.1\r\n<H>", fields.as_ref(), b"\r\n\r\n"].concat();
    [&head, body.as_bytes()].concat()
}

fn coded(coding: impl AsRef<[u8]>) -> Vec<u8> {
    post([b"Transfer-Encoding:", coding.as_ref()].concat(), HELLO)
}

#[tokio::test]
async fn a_length_beside_a_coding_is_refused() {
    let coding = "Transfer-Encoding: chunked";
    let both = [
        (
            "FR-01 CL then TE",
            "Content-Length: 6\r\nTransfer-Encoding: chunked",
        ),
        (
            "FR-02 TE then CL",
            "Transfer-Encoding: chunked\r\nContent-Length: 6",
        ),
        (
            "FR-02 a CL that agrees",
            "Transfer-Encoding: chunked\r\nContent-Length: 15",
        ),
        (
            "FR-02 a CL of 0",
            "Content-Length: 0\r\nTransfer-Encoding: chunked",
        ),
        (
            "FR-02 fields between",
            "Content-Length: 6\r\nA: b\r\nTransfer-Encoding: chunked",
        ),
        (
            "FR-02 odd cases",
            "content-LENGTH: 6\r\ntransfer-ENCODING: Chunked",
        ),
    ];
    let mut cases: Vec<Case> = both
        .iter()
        .map(|(id, fields)| refused(*id, BAD, post(fields, HELLO)))
        .collect();
    let smuggled = format!("POST / HTTP/1.1\r\n<H>Content-Length: 6\r\n{coding}\r\n\r\n0\r\n\r\nG");
    cases.push(refused("FR-01 with the first letter of a request", BAD, smuggled));
    let get = format!("GET / HTTP/1.1\r\n<H>Content-Length: 0\r\n{coding}\r\n\r\n0\r\n\r\n");
    cases.push(refused("FR-02 on a GET", BAD, get));
    let twice = format!("Content-Length: 6\r\n{coding}\r\nContent-Length: 6");
    cases.push(refused("FR-02 between two CL", BAD, post(twice, HELLO)));
    let bad = format!("Content-Length: x\r\n{coding}");
    cases.push(refused("FR-02 a CL that is no number", BAD, post(bad, HELLO)));
    let unknown = "Transfer-Encoding: xchunked\r\nContent-Length: 5";
    cases.push(refused(
        "FR-11 unknown coding and CL",
        UNKNOWN,
        post(unknown, HELLO),
    ));
    let comma = "Transfer-Encoding: ,chunked\r\nContent-Length: 5";
    cases.push(refused("FR-10 leading comma and CL", BAD, post(comma, HELLO)));
    let empty = "Transfer-Encoding:\r\nContent-Length: 5";
    cases.push(refused("FR-11 empty coding and CL", BAD, post(empty, "hello")));
    let identity = "Transfer-Encoding: identity\r\nContent-Length: 5";
    cases.push(refused("FR-05 identity and CL", UNKNOWN, post(identity, "hello")));
    check(cases).await;
}

#[tokio::test]
async fn any_other_list_of_codings_is_refused() {
    let bad = [
        ("FR-04", " chunked, identity"),
        ("FR-05", " identity"),
        ("FR-07", " chunked, chunked"),
        ("FR-07", " chunked,chunked"),
        ("FR-07", " chunked, Chunked"),
        ("FR-07", " chunked, chunked, chunked"),
        ("FR-08", " chunked\r\nTransfer-Encoding: chunked"),
        ("FR-08", " chunked\r\nA: b\r\ntransfer-encoding: chunked"),
        ("FR-09", " identity\r\nTransfer-Encoding: chunked"),
        ("FR-09", " chunked\r\nTransfer-Encoding: identity"),
        ("FR-09", " identity, chunked"),
        ("FR-10", " ,chunked"),
        ("FR-10", " , chunked"),
        ("FR-10", " chunked,"),
        ("FR-10", " chunked, ,"),
        ("FR-10", " ,"),
        ("FR-10", "\r\nTransfer-Encoding: chunked"),
        ("FR-10", " chunked\r\nTransfer-Encoding:"),
        ("FR-11", ""),
        ("FR-11", " \t"),
        ("FR-13", " chunked;x=1"),
        ("FR-13", " chunked; q=0.5"),
        ("FR-13", " chunked;"),
        ("FR-13", " ;chunked"),
    ];
    let mut cases: Vec<Case> = bad
        .iter()
        .map(|(id, coding)| refused(*id, UNKNOWN, coded(coding)))
        .collect();
    let unknown = [
        "gzip, chunked",
        "gzip",
        "chunked, gzip",
        "gzip\r\nTransfer-Encoding: chunked",
        "chunked\r\nTransfer-Encoding: gzip",
        "deflate, gzip, chunked",
        "br, chunked",
        "x, chunked",
        "trailers",
        "trailers, chunked",
    ];
    cases.extend(
        unknown
            .iter()
            .map(|coding| refused("FR-06", UNKNOWN, coded(format!(" {coding}")))),
    );
    let almost = [
        "xchunked",
        "chunkedx",
        "chunke",
        "hunked",
        "chunked-",
        "c hunked",
        "chunked chunked",
        "chunked 1",
        "chunk",
    ];
    cases.extend(
        almost
            .iter()
            .map(|coding| refused("FR-11 almost", UNKNOWN, coded(format!(" {coding}")))),
    );
    check(cases).await;
}

#[tokio::test]
async fn odd_bytes_around_chunked_are_refused_and_blanks_are_not() {
    let odd: [&[u8]; 14] = [
        b" \x0bchunked",
        b" \x0cchunked",
        b" chunked\x0b",
        b" chunked\x0c",
        b" \xa0chunked",
        b" chunked\xa0",
        b" \xc2\xa0chunked",
        b" \"chunked\"",
        b" 'chunked'",
        b" chunked\x00",
        b" \x00chunked",
        b" chunked\x7f",
        b" (chunked)",
        // The sign for kelvin, which becomes a k in lower case.
        b" chun\xe2\x84\xaaed",
    ];
    let mut cases: Vec<Case> = odd
        .iter()
        .map(|coding| refused("FR-12", UNKNOWN, coded(coding)))
        .collect();
    for coding in [
        " chunked",
        "chunked",
        "\tchunked\t",
        " CHUNKED",
        "  Chunked  ",
        "\t \tchunked",
    ] {
        cases.push(forwarded("FR-12 blanks and case", coded(coding)).body("hello"));
    }
    check(cases).await;
}

#[tokio::test]
async fn framing_fields_that_are_folded_spaced_or_misspelt_frame_nothing() {
    let bad = [
        ("FR-03 folded", "Transfer-Encoding:\r\n chunked"),
        ("FR-03 folded by a tab", "Transfer-Encoding:\r\n\tchunked"),
        ("FR-03 continued", "Transfer-Encoding: chunked\r\n , gzip"),
        ("FR-03 continued by nothing", "Transfer-Encoding: chunked\r\n "),
        ("FR-03 behind a fold", "X: y\r\n Transfer-Encoding: chunked"),
        ("FR-03 folded CL", "Content-Length:\r\n 15"),
        ("FR-03 continued CL", "Content-Length: 1\r\n 5"),
        ("FR-14 space", "Transfer-Encoding : chunked"),
        ("FR-14 tab", "Transfer-Encoding\t: chunked"),
        ("FR-14 CL", "Content-Length : 15"),
        ("FR-14 CL, tab", "Content-Length\t: 15"),
        ("FR-14 VT", "Content-Length\x0b: 15"),
        ("FR-14 inside", "Transfer Encoding: chunked"),
        ("FR-14 before", "A: b\r\n Content-Length: 15"),
        ("FR-14 no colon", "Transfer-Encoding chunked"),
    ];
    let mut cases: Vec<Case> = bad
        .iter()
        .map(|(id, fields)| refused(*id, BAD, post(fields, HELLO)))
        .collect();
    let old = |fields: &str| format!("POST / HTTP/1.0\r\n<H>{fields}\r\n\r\n{HELLO}");
    cases.push(refused(
        "FR-16 1.0 and TE",
        BAD,
        old("Transfer-Encoding: chunked"),
    ));
    let both = old("Content-Length: 15\r\nTransfer-Encoding: chunked");
    cases.push(refused("FR-16 1.0, CL and TE", BAD, both));
    let kept = old("Connection: keep-alive\r\nTransfer-Encoding: chunked");
    cases.push(refused("FR-16 1.0, kept, and TE", BAD, kept));
    let aliased = post("Transfer_Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n");
    cases.push(
        forwarded("FR-15", aliased)
            .body("0\r\n\r\n")
            .without(&["transfer_encoding"])
            .or(BAD),
    );
    let aliased = post("Transfer.Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n");
    cases.push(
        forwarded("FR-15 dot", aliased)
            .body("0\r\n\r\n")
            .without(&["transfer.encoding"])
            .or(BAD),
    );
    let aliased = post("Content_Length: 3\r\nTransfer-Encoding: chunked", HELLO);
    cases.push(
        forwarded("FR-15 CL", aliased)
            .body("hello")
            .without(&["content_length"])
            .or(BAD),
    );
    let other = post("X-Transfer-Encoding: gzip\r\nContent-Length: 5", "hello");
    cases.push(
        forwarded("FR-15 another field", other)
            .body("hello")
            .with("x-transfer-encoding", [b"gzip"]),
    );
    check(cases).await;
}
