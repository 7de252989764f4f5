//! Responses: their framing, their ends, and what of them belongs to one hop.

use super::reply::{Case, Then, bad, check, cut, whole};

/// A 200 with these field lines, the empty line and what follows.
fn reply(rest: impl AsRef<[u8]>) -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\n", rest.as_ref()].concat()
}

/// A chunked 200.
fn chunked(body: impl AsRef<[u8]>) -> Vec<u8> {
    reply([b"Transfer-Encoding: chunked\r\n\r\n", body.as_ref()].concat())
}

/// Each case with both ends.
fn ended(cases: Vec<Case>) -> Vec<Case> {
    let both = |case: Case| [case.clone().then(Then::Ends), case.then(Then::Resets)];
    cases.into_iter().flat_map(both).collect()
}

#[tokio::test]
async fn a_response_that_is_cut_short_never_looks_whole() {
    let counted =
        ["", "h", "hell"].map(|part| cut("RS-01", reply(format!("Content-Length: 5\r\n\r\n{part}"))));
    let parts = [
        "",
        "5",
        "5\r",
        "5\r\n",
        "5\r\nhel",
        "5\r\nhello",
        "5\r\nhello\r",
        "5\r\nhello\r\n",
        "5\r\nhello\r\n0",
        "5\r\nhello\r\n0\r",
        "5\r\nhello\r\n0\r\n",
        "5\r\nhello\r\n0\r\n\r",
        "5\r\nhello\r\n0\r\nX: y\r\n",
        "5;a=b",
        "0\r\n",
    ];
    let coded = parts.map(|part| cut("RS-02", chunked(part)));
    let heads = [
        "",
        "H",
        "HTTP/1.1",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r",
    ];
    let heads = heads.map(|head| bad("RS-03", head));
    let mut cases: Vec<Case> = counted.into_iter().chain(coded).chain(heads).collect();
    cases.push(bad("RS-03 behind a 100", "HTTP/1.1 100 Continue\r\n\r\n"));
    cases.push(cut(
        "RS-01 HTTP/1.0",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhel",
    ));
    cases.push(cut("RS-01 to HTTP/1.0", reply("Content-Length: 5\r\n\r\nhel")).for_http10());
    // To a client of HTTP/1.0 only a reset can say that chunks are missing.
    cases.push(cut("RS-02 to HTTP/1.0", chunked("5\r\nhello\r\n")).for_http10());
    check(ended(cases)).await;
}

#[tokio::test]
async fn a_response_without_a_length_lasts_to_a_clean_end() {
    let mut cases = Vec::new();
    for head in [
        "",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Content-Type: a/b\r\n",
    ] {
        cases.push(whole("RS-14", reply(format!("{head}\r\nhello")), 200, "hello").then(Then::Ends));
        cases.push(cut("RS-14", reply(format!("{head}\r\nhello"))).then(Then::Resets));
    }
    let old = "HTTP/1.0 200 OK\r\n\r\nhello";
    cases.push(whole("RS-14 HTTP/1.0", old, 200, "hello").then(Then::Ends));
    cases.push(cut("RS-14 HTTP/1.0", old).then(Then::Resets));
    cases.push(whole("RS-14 empty", reply("\r\n"), 200, "").then(Then::Ends));
    cases.push(
        whole("RS-14 to HTTP/1.0", reply("\r\nhello"), 200, "hello")
            .for_http10()
            .then(Then::Ends),
    );
    let like = "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    cases.push(whole("RS-14 like chunks", reply(format!("\r\n{like}")), 200, like).then(Then::Ends));
    check(cases).await;
}

#[tokio::test]
async fn bytes_behind_a_response_reach_nobody() {
    let second = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL";
    let informed = "HTTP/1.1 100 Continue\r\n\r\n";
    let kinds = [
        whole("RS-04", reply("Content-Length: 2\r\n\r\nok"), 200, "ok"),
        whole("RS-04 empty", reply("Content-Length: 0\r\n\r\n"), 200, ""),
        whole("RS-05 HEAD", reply("Content-Length: 4\r\n\r\n"), 200, "").to("HEAD"),
        whole("RS-04 chunks", chunked("2\r\nok\r\n0\r\n\r\n"), 200, "ok"),
        whole("RS-05 204", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        whole(
            "RS-05 304",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n",
            304,
            "",
        ),
    ];
    let mut cases = Vec::new();
    for kind in kinds {
        for behind in ["EVIL", "\r\n", "\0", "X", "0\r\n\r\n", second, informed] {
            cases.push(kind.clone().followed_by(behind).discarded());
        }
    }
    check(cases).await;
}

#[tokio::test]
async fn responses_without_a_body_keep_the_connection_in_step() {
    let length: &[u8] = b"4";
    check(vec![
        whole("RS-05 200", reply("Content-Length: 2\r\n\r\nok"), 200, "ok")
            .with("content-length", [b"2"])
            .reused(),
        whole("RS-05 chunks", chunked("2\r\nok\r\n0\r\n\r\n"), 200, "ok").reused(),
        whole("RS-05 HEAD", reply("Content-Length: 4\r\n\r\n"), 200, "")
            .to("HEAD")
            .with("content-length", [length])
            .reused(),
        whole(
            "RS-05 HEAD, chunked",
            reply("Transfer-Encoding: chunked\r\n\r\n"),
            200,
            "",
        )
        .to("HEAD")
        .reused(),
        whole("RS-05 HEAD, no framing", reply("\r\n"), 200, "")
            .to("HEAD")
            .reused(),
        whole(
            "RS-05 HEAD, 404",
            "HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\n",
            404,
            "",
        )
        .to("HEAD")
        .with("content-length", [length])
        .reused(),
        whole("RS-05 204", "HTTP/1.1 204 No Content\r\n\r\n", 204, "")
            .without(&["content-length", "transfer-encoding"])
            .reused(),
        whole(
            "RS-05 204, CL",
            "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
            204,
            "",
        )
        .without(&["content-length"]),
        whole(
            "RS-05 204, CL 4",
            "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n",
            204,
            "",
        )
        .without(&["content-length"]),
        whole(
            "RS-05 204, TE",
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
            204,
            "",
        )
        .without(&["transfer-encoding"])
        .or_502(),
        whole("RS-05 304", "HTTP/1.1 304 Not Modified\r\n\r\n", 304, "").reused(),
        whole(
            "RS-05 304, CL",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n",
            304,
            "",
        )
        .with("content-length", [length])
        .reused(),
        whole(
            "RS-05 304, TE",
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
            304,
            "",
        )
        .without(&["transfer-encoding"]),
    ])
    .await;
}

#[tokio::test]
async fn a_connection_serves_the_next_request_unless_it_says_close() {
    check(vec![
        whole(
            "RS-05 205",
            "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n",
            205,
            "",
        )
        .reused(),
        whole(
            "RS-05 a close",
            reply("Connection: close\r\nContent-Length: 2\r\n\r\nok"),
            200,
            "ok",
        )
        .discarded(),
        whole(
            "RS-05 a close in a list",
            reply("Connection: a, Close\r\nContent-Length: 2\r\n\r\nok"),
            200,
            "ok",
        )
        .discarded(),
        whole(
            "RS-05 HTTP/1.0",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            200,
            "ok",
        )
        .discarded(),
        whole("RS-05 to HTTP/1.0", chunked("2\r\nok\r\n0\r\n\r\n"), 200, "ok")
            .for_http10()
            .without(&["transfer-encoding"])
            .reused(),
    ])
    .await;
}

#[tokio::test]
async fn framings_that_cannot_be_trusted_are_a_502() {
    let mut cases = Vec::new();
    let lengths: [&[u8]; 21] = [
        b"2\r\nContent-Length: 3",
        b"3\r\nContent-Length: 2",
        b"2, 3",
        b"2,3",
        b"",
        b"\r\nContent-Length: 2",
        b"2\r\nContent-Length:",
        b"two",
        b"-2",
        b"+2",
        b"-0",
        b"0x2",
        b"2 2",
        b"2;",
        b"2.0",
        b"1e1",
        b"2\x0b",
        b"\"2\"",
        b"2\xa0",
        b"18446744073709551616",
        b"99999999999999999999999999",
    ];
    for length in lengths {
        let head = [b"Content-Length: ", length, b"\r\n\r\nok"].concat();
        cases.push(bad("RS-06 CL", reply(head)));
    }
    let codings: [&[u8]; 20] = [
        b"gzip",
        b"foo",
        b"identity",
        b"",
        b"chunked, gzip",
        b"gzip, chunked",
        b"identity, chunked",
        b"chunked, identity",
        b"chunked, chunked",
        b"chunked\r\nTransfer-Encoding: chunked",
        b"chunked\r\nTransfer-Encoding: gzip",
        b"gzip\r\nTransfer-Encoding: chunked",
        b"xchunked",
        b"chunked;x=1",
        b"\"chunked\"",
        b"chunked\x0b",
        b"\x0bchunked",
        b"\xa0chunked",
        b"chunked chunked",
        b"chunked\0",
    ];
    for coding in codings {
        let head = [b"Transfer-Encoding: ", coding, b"\r\n\r\n2\r\nok\r\n0\r\n\r\n"].concat();
        cases.push(bad("RS-06 TE", reply(head)));
    }
    cases.push(bad(
        "RS-06 HTTP/1.0 and TE",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ));
    cases.push(bad(
        "RS-06 unknown TE and CL",
        reply("Content-Length: 2\r\nTransfer-Encoding: gzip\r\n\r\nok"),
    ));
    cases.push(bad("RS-06 bad CL on HEAD", reply("Content-Length: x\r\n\r\n")).to("HEAD"));
    cases.push(bad(
        "RS-06 bad CL on 304",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ));
    check(cases).await;
}

#[tokio::test]
async fn framings_with_one_meaning_pass_with_one_framing() {
    let four = "4\r\nfour\r\n0\r\n\r\n";
    let both = |lines: &str| reply(format!("{lines}\r\n\r\n{four}"));
    let counted = |lengths: &str| reply(format!("Content-Length: {lengths}\r\n\r\nok"));
    check(vec![
        whole(
            "RS-06 CL and TE",
            both("Content-Length: 2\r\nTransfer-Encoding: chunked"),
            200,
            "four",
        )
        .without(&["content-length"])
        .or_502(),
        whole(
            "RS-06 TE and CL",
            both("Transfer-Encoding: chunked\r\nContent-Length: 2"),
            200,
            "four",
        )
        .without(&["content-length"])
        .or_502(),
        whole(
            "RS-06 TE in capitals",
            both("TRANSFER-ENCODING: CHUNKED"),
            200,
            "four",
        )
        .reused(),
        whole("RS-06 equal CL", counted("2\r\nContent-Length: 2"), 200, "ok")
            .with("content-length", [b"2"])
            .or_502(),
        whole("RS-06 an equal list", counted("2, 2"), 200, "ok")
            .with("content-length", [b"2"])
            .or_502(),
        whole("RS-06 zeros", counted("002"), 200, "ok")
            .with("content-length", [b"2"])
            .or_502(),
        whole("RS-06 blanks", counted(" \t2\t "), 200, "ok")
            .with("content-length", [b"2"])
            .reused(),
        whole(
            "RS-06 an extension",
            chunked("2;a=b;c=\"x\"\r\nok\r\n0;z\r\n\r\n"),
            200,
            "ok",
        )
        .reused(),
        whole(
            "RS-06 zeros in sizes",
            chunked("0002\r\nok\r\n000\r\n\r\n"),
            200,
            "ok",
        )
        .reused(),
        whole(
            "RS-06 capitals in sizes",
            chunked("A\r\n0123456789\r\n0\r\n\r\n"),
            200,
            "0123456789",
        )
        .reused(),
        whole(
            "RS-06 many chunks",
            chunked("1\r\no\r\n1\r\nk\r\n0\r\n\r\n"),
            200,
            "ok",
        )
        .reused(),
    ])
    .await;
}

#[tokio::test]
async fn malformed_chunks_of_a_response_are_a_cut() {
    let bodies = [
        "x\r\nok\r\n0\r\n\r\n",
        "0x2\r\nok\r\n0\r\n\r\n",
        "+2\r\nok\r\n0\r\n\r\n",
        "-2\r\nok\r\n0\r\n\r\n",
        " 2\r\nok\r\n0\r\n\r\n",
        "\r\nok\r\n0\r\n\r\n",
        "2_\r\nok\r\n0\r\n\r\n",
        "10000000000000002\r\nok\r\n0\r\n\r\n",
        "2\nok\r\n0\r\n\r\n",
        "2\r\nok\n0\r\n\r\n",
        "2\r\nok\r\n0\n\r\n",
        "2\r\nok0\r\n\r\n",
        "2\r\nokay\r\n0\r\n\r\n",
        "2\r\nok\r\r\n0\r\n\r\n",
        "2\rok\r\n0\r\n\r\n",
        "2;a\rb\r\nok\r\n0\r\n\r\n",
        "2\r\nok\r\n-0\r\n\r\n",
        "2\r\nok\r\nHTTP/1.1 200 OK\r\n\r\n",
        "2\r\nok\r\n0\r\nfoo\r\n\r\n",
        "2\r\nok\r\n0\r\nX : y\r\n\r\n",
        "2\r\nok\r\n0\r\nX: \0\r\n\r\n",
    ];
    let mut cases: Vec<Case> = bodies.iter().map(|body| cut("RS-16", chunked(body))).collect();
    cases.push(cut(
        "RS-16 LF in a trailer",
        chunked("2\r\nok\r\n0\r\nX: y\n\r\n\r\n"),
    ));
    check(cases).await;
}

#[tokio::test]
async fn malformed_heads_of_a_response_are_a_502() {
    let lines = [
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1 -20 OK",
        "HTTP/1.1 099 Odd",
        "HTTP/1.1 000 Odd",
        "HTTP/1.1 600 Odd",
        "HTTP/1.1 700 Odd",
        "HTTP/1.1 999 Odd",
        "HTTP/1.1  200 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1",
        "HTTP/1.1 ",
        "HTTP/1.1 OK",
        "HTTP/2.0 200 OK",
        "HTTP/0.9 200 OK",
        "http/1.1 200 OK",
        "HTTP/1.1x 200 OK",
        "HTTP/01.1 200 OK",
        "ICY 200 OK",
        "200 OK",
        "GET / HTTP/1.1",
        "<html>",
        "SSH-2.0-x",
        " HTTP/1.1 200 OK",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\rK",
        "HTTP/1.1 101 Switching Protocols",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket",
    ];
    let status = |line: &&str| bad("RS-08", format!("{line}\r\nContent-Length: 2\r\n\r\nok"));
    let mut cases: Vec<Case> = lines.iter().map(status).collect();
    let fields: [&[u8]; 10] = [
        b"foo",
        b": y",
        b"X: y\0z",
        b"X: y\rz",
        b"X: y\x01z",
        b"X(y): z",
        b"X\x85: z",
        b" X: y",
        b"X y: z",
        b"X: y\x7f",
    ];
    for field in fields {
        cases.push(bad(
            "RS-07",
            reply([field, b"\r\nContent-Length: 2\r\n\r\nok"].concat()),
        ));
    }
    cases.push(bad(
        "RS-15 a head beyond the limit",
        reply(format!(
            "X: {}\r\nContent-Length: 2\r\n\r\nok",
            "y".repeat(100 << 10)
        )),
    ));
    cases.push(bad(
        "RS-15 no end of the head",
        reply("X: yyyyyyyy\r\n".repeat(10 << 10)),
    ));
    cases.push(bad("RS-08 garbage", b"\x16\x03\x03\x00\x02\x02\x28\r\n\r\n"));
    check(cases).await;
}

#[tokio::test]
async fn odd_heads_of_a_response_pass_or_are_a_502() {
    let ok = |line: &str| format!("{line}\r\nContent-Length: 2\r\n\r\nok");
    check(vec![
        whole("RS-08 no reason", ok("HTTP/1.1 200 "), 200, "ok").reused(),
        whole("RS-08 no reason and no blank", ok("HTTP/1.1 200"), 200, "ok").or_502(),
        whole(
            "RS-08 a long reason",
            ok("HTTP/1.1 200 It is all right\t(really)"),
            200,
            "ok",
        )
        .reused(),
        whole("RS-08 a reason in Latin", ok("HTTP/1.1 200 \u{e9}"), 200, "ok").or_502(),
        whole("RS-08 599", ok("HTTP/1.1 599 Odd"), 599, "ok").reused(),
        whole("RS-08 418", ok("HTTP/1.1 418 Teapot"), 418, "ok").reused(),
        whole("RS-08 HTTP/1.2", ok("HTTP/1.2 200 OK"), 200, "ok").or_502(),
        whole(
            "RS-07 folded",
            reply("X: a\r\n b\r\nContent-Length: 2\r\n\r\nok"),
            200,
            "ok",
        )
        .or_502(),
        whole(
            "RS-07 space before a colon",
            reply("Content-Length : 2\r\n\r\nok"),
            200,
            "ok",
        )
        .or_502(),
        whole("RS-07 LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, "ok").or_502(),
        whole(
            "RS-07 an empty line first",
            format!("\r\n{}", ok("HTTP/1.1 200 OK")),
            200,
            "ok",
        )
        .or_502(),
        whole(
            "RS-15 48 KiB",
            ok(&format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(48 << 10))),
            200,
            "ok",
        )
        .reused(),
        whole(
            "RS-13",
            reply(b"X: \xff\xfe\r\nContent-Length: 2\r\n\r\nok"),
            200,
            "ok",
        )
        .with("x", [b"\xff\xfe"]),
        whole(
            "RS-13 lines",
            ok("HTTP/1.1 200 OK\r\nSet-Cookie: a=1, b\r\nSet-Cookie: c=2"),
            200,
            "ok",
        )
        .with("set-cookie", [b"a=1, b", b"c=2"]),
        whole("RS-13 empty", ok("HTTP/1.1 200 OK\r\nX:"), 200, "ok").with("x", [b""]),
    ])
    .await;
}

#[tokio::test]
async fn interim_responses_come_before_the_answer_or_not_at_all() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check(vec![
        whole("RS-09 103", format!("{hint}{ok}"), 200, "ok")
            .interim([103])
            .reused(),
        whole("RS-09 three", format!("{hint}{hint}{hint}{ok}"), 200, "ok")
            .interim([103, 103, 103])
            .reused(),
        whole(
            "RS-09 102",
            format!("HTTP/1.1 102 Processing\r\n\r\n{ok}"),
            200,
            "ok",
        )
        .interim([102])
        .reused(),
        whole("RS-09 199", format!("HTTP/1.1 199 Odd\r\n\r\n{ok}"), 200, "ok")
            .interim([199])
            .reused(),
        whole(
            "RS-09 an unasked 100",
            format!("HTTP/1.1 100 Continue\r\n\r\n{ok}"),
            200,
            "ok",
        )
        .reused(),
        whole(
            "RS-09 a length",
            format!("HTTP/1.1 103 x\r\nContent-Length: 5\r\n\r\n{ok}"),
            200,
            "ok",
        )
        .interim([103])
        .or_502(),
        whole("HH-20 to HTTP/1.0", format!("{hint}{ok}"), 200, "ok")
            .for_http10()
            .reused(),
        whole(
            "HH-20 a 100 to HTTP/1.0",
            format!("HTTP/1.1 100 Continue\r\n\r\n{ok}"),
            200,
            "ok",
        )
        .for_http10()
        .reused(),
        whole(
            "RS-09 to HEAD",
            format!("{hint}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
            200,
            "",
        )
        .to("HEAD")
        .interim([103])
        .reused(),
    ])
    .await;
}

#[tokio::test]
async fn trailers_of_a_response_pass_but_for_those_that_change_its_meaning() {
    let with = |lines: &str| chunked(format!("2\r\nok\r\n0\r\n{lines}\r\n"));
    let announced = |names: &str, lines: &str| {
        reply(format!(
            "Trailer: {names}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n{lines}\r\n"
        ))
    };
    let one = announced("X-Sum", "X-Sum: 1\r\n");
    let two = announced("X-A, X-B", "X-A: 1\r\nX-B: 2\r\n");
    let mut cases = vec![
        whole("RS-11", &one, 200, "ok").trailers(["x-sum: 1"]),
        whole("RS-11 two", two, 200, "ok").trailers(["x-a: 1", "x-b: 2"]),
        whole("RS-11 unannounced", with("X-Sum: 1\r\n"), 200, "ok").trailers(["x-sum: 1"]),
        whole("RS-11 to HTTP/1.0", with("X-Sum: 1\r\n"), 200, "ok").for_http10(),
        whole("RS-11 and the next", one, 200, "ok")
            .trailers(["x-sum: 1"])
            .reused(),
    ];
    for line in [
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Content-Encoding: gzip",
        "Set-Cookie: a=b",
        "Location: /x",
        "Connection: close",
        "Trailer: x",
        "Content-Type: a/b",
        "Cache-Control: no-store",
        "WWW-Authenticate: Basic",
        "Host: b",
        "Keep-Alive: 1",
        "Upgrade: x",
    ] {
        let name = line.split(':').next().unwrap_or_default();
        cases.push(whole(
            "RS-11 forbidden",
            announced(name, &format!("{line}\r\n")),
            200,
            "ok",
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn fields_of_the_hop_to_the_upstream_stay_behind() {
    let dropped: [(&str, &[&'static str]); 6] = [
        ("Connection: X-A\r\nX-A: 1", &["x-a"]),
        ("Connection: keep-alive, X-A\r\nX-A: 1\r\nX-A: 2", &["x-a"]),
        ("Connection: a\r\nX-A: 1\r\nConnection: x-A", &["x-a"]),
        ("Keep-Alive: timeout=5\r\nProxy-Connection: close", &[]),
        ("Upgrade: h2c", &[]),
        ("Proxy-Authenticate: Basic", &["proxy-authenticate"]),
    ];
    let mut cases = Vec::new();
    for (lines, names) in dropped {
        let bytes = reply(format!("{lines}\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\nok"));
        cases.push(
            whole("RS-12", bytes, 200, "ok")
                .without(names)
                .with("x-kept", [b"1"])
                .reused(),
        );
    }
    for named in ["Content-Length", "Transfer-Encoding"] {
        let counted = reply(format!("Connection: {named}\r\nContent-Length: 2\r\n\r\nok"));
        cases.push(whole("RS-12 of a counted body", counted, 200, "ok").reused());
        let coded = reply(format!(
            "Connection: {named}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        ));
        cases.push(whole("RS-12 of chunks", coded, 200, "ok").reused());
    }
    check(cases).await;
}
