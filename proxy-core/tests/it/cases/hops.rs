//! Fields of one hop, and fields that say who asks.

use super::request::{BAD, Case, check, forwarded};

fn field(lines: impl AsRef<[u8]>) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\n<H>", lines.as_ref(), b"\r\n\r\n"].concat()
}

#[tokio::test]
async fn fields_of_the_hop_and_those_it_nominates_stay_behind() {
    let dropped: [(&str, &str, &[&'static str]); 14] = [
        ("HH-01 nominated", "Connection: X-A\r\nX-A: 1", &["x-a"]),
        ("HH-01 in another case", "connection: x-A\r\nX-a: 1", &["x-a"]),
        (
            "HH-01 in a list",
            "Connection: a,X-A ,\t, X-B\r\nX-A: 1\r\nX-B: 2",
            &["x-a", "x-b"],
        ),
        (
            "HH-01 in a second line",
            "Connection: a\r\nX-A: 1\r\nConnection: X-A",
            &["x-a"],
        ),
        (
            "HH-01 all of its lines",
            "Connection: X-A\r\nX-A: 1\r\nX-A: 2",
            &["x-a"],
        ),
        (
            "HH-01 beside keep-alive",
            "Connection: keep-alive, X-A\r\nX-A: 1",
            &["x-a"],
        ),
        (
            "HH-02 unnominated",
            "Keep-Alive: timeout=5\r\nProxy-Connection: close",
            &["keep-alive"],
        ),
        (
            "HH-02 credentials for a proxy",
            "Proxy-Authorization: Basic eDp5",
            &["proxy-authorization"],
        ),
        ("HH-02 an upgrade unnominated", "Upgrade: websocket", &["upgrade"]),
        (
            "HH-02 an upgrade to h2c",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA",
            &["upgrade", "http2-settings"],
        ),
        ("HH-02 a coding to accept", "Connection: TE\r\nTE: gzip", &["te"]),
        ("HH-07 deflate", "TE: deflate;q=0.5", &["te"]),
        (
            "HH-12 alias",
            "X_Forwarded_For: 6.6.6.6\r\nX.Forwarded.For: 6.6.6.6",
            &["x_forwarded_for", "x.forwarded.for"],
        ),
        (
            "HH-12 another alias",
            "x_forwarded-proto: https\r\nX-Forwarded_Host: b",
            &["x_forwarded-proto", "x-forwarded_host"],
        ),
    ];
    let cases = dropped.iter().map(|(id, lines, names)| {
        forwarded(*id, field(format!("{lines}\r\nX-Kept: 1")))
            .without(names)
            .with("x-kept", [b"1"])
    });
    check(cases.collect()).await;
}

#[tokio::test]
async fn no_nomination_takes_what_the_message_needs() {
    let mut cases: Vec<Case> = [
        "Host",
        "host, Host",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "Via",
        "\"Host\"",
        ", ,",
        "close-not",
        "a b",
    ]
    .iter()
    .map(|named| {
        forwarded("HH-03", field(format!("Connection: {named}"))).with("x-forwarded-proto", [b"http"])
    })
    .collect();
    for named in [
        "Content-Length",
        "Transfer-Encoding",
        "Content-Length, Transfer-Encoding",
        "Content-Type",
    ] {
        let counted = format!("POST / HTTP/1.1\r\n<H>Connection: {named}\r\nContent-Length: 5\r\n\r\nhello");
        cases.push(forwarded("HH-03 of a counted body", counted).body("hello"));
        let coded = format!(
            "POST / HTTP/1.1\r\n<H>Connection: {named}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        );
        cases.push(forwarded("HH-03 of chunks", coded).body("hello"));
    }
    cases
        .push(forwarded("HH-03 Cookie", field("Connection: Cookie\r\nCookie: a=1")).with("cookie", [b"a=1"]));
    let credentials = field("Connection: Authorization\r\nAuthorization: z");
    cases.push(forwarded("HH-03 Authorization", credentials).with("authorization", [b"z"]));
    cases.push(forwarded("HH-05", field(b"Connection: \xff")).or(BAD));
    cases.push(
        forwarded("HH-05 in a list", field(b"Connection: a\xff, X-A\r\nX-A: 1"))
            .without(&["x-a"])
            .or(BAD),
    );
    check(cases).await;
}

#[tokio::test]
async fn te_passes_as_trailers_or_not_at_all() {
    let mut cases = Vec::new();
    for te in [
        " trailers, gzip",
        " Trailers",
        " gzip, trailers;q=0.5",
        "\ttrailers",
        " trailers\r\nTE: gzip",
        " TRAILERS ,",
    ] {
        let bytes = field(format!("TE:{te}\r\nConnection: TE"));
        cases.push(forwarded("HH-07", bytes).with("te", [b"trailers"]));
    }
    check(cases).await;
}

#[tokio::test]
async fn what_a_client_claims_of_itself_is_replaced() {
    let mut cases = Vec::new();
    let claims = [
        "6.6.6.6",
        "6.6.6.6, 7.7.7.7",
        "unknown",
        "[::1]:80",
        "\"",
        ",,,",
        "for=1.1.1.1",
        "127.0.0.1\r\nX-Forwarded-For: 6.6.6.6",
    ];
    for claim in claims {
        cases.push(forwarded("HH-10", field(format!("X-Forwarded-For: {claim}"))));
    }
    cases.push(forwarded(
        "HH-10 ten thousand",
        field(format!("X-Forwarded-For: {}", "1.1.1.1,".repeat(5000))),
    ));
    for claim in [
        "for=6.6.6.6",
        "for=\"[2001:db8::1]:80\"",
        "for=_hidden;proto=https",
        "for=\"\\\"",
        ";;,,",
        "for=unknown",
    ] {
        cases.push(forwarded("HH-11", field(format!("Forwarded: {claim}"))).without(&["forwarded"]));
    }
    let claims = "X-Forwarded-Proto: https\r\nX-Forwarded-Host: b.test\r\nX-Real-IP: 6.6.6.6";
    let case = forwarded("HH-10 others", field(claims)).with("x-forwarded-proto", [b"http"]);
    cases.push(
        case.with("x-forwarded-host", [b"app.test"])
            .without(&["x-real-ip"]),
    );
    check(cases).await;
}
