//! Scenes: expectations that wait for a 100, ends in the middle, bytes on idle connections, silence.

use super::scene::Step::{
    Client, ClientEnd, ClientEnds, ClientGets, ClientQuiet, ClientResets, ClientStatus, Upstream,
    UpstreamAgain, UpstreamEnd, UpstreamEnds, UpstreamGets, UpstreamHead, UpstreamIdle, UpstreamResets,
};
use super::scene::{Scene, Step, check, scene};

const GET: Step = Client("GET / HTTP/1.1\r\n<H>\r\n");
const CLOSING: Step = Client("GET / HTTP/1.1\r\n<H>Connection: close\r\n\r\n");
const EXPECTING: Step = Client("POST / HTTP/1.1\r\n<H>Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
const CONTINUE: Step = Upstream("HTTP/1.1 100 Continue\r\n\r\n");
const OK: Step = Upstream("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");

const WAITING: &[Scene] = &[
    scene(
        "HH-17 counted",
        &[
            EXPECTING,
            UpstreamHead,
            ClientQuiet,
            CONTINUE,
            ClientStatus(100),
            Client("body"),
            UpstreamGets("body"),
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "HH-17 chunked",
        &[
            Client("POST / HTTP/1.1\r\n<H>Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"),
            UpstreamHead,
            ClientQuiet,
            CONTINUE,
            ClientStatus(100),
            Client("4\r\nbody\r\n0\r\n\r\n"),
            UpstreamGets("4\r\nbody\r\n0\r\n\r\n"),
            OK,
            ClientStatus(200),
        ],
    ),
    scene(
        "HH-17 two from the upstream",
        &[
            EXPECTING,
            UpstreamHead,
            CONTINUE,
            CONTINUE,
            ClientStatus(100),
            Client("body"),
            UpstreamGets("body"),
            OK,
            ClientStatus(200),
        ],
    ),
    scene(
        "HH-17 and the next request",
        &[
            EXPECTING,
            UpstreamHead,
            CONTINUE,
            ClientStatus(100),
            Client("body"),
            UpstreamGets("body"),
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "HH-18 a 401",
        &[
            EXPECTING,
            UpstreamHead,
            Upstream("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"),
            ClientStatus(401),
        ],
    ),
    scene(
        "HH-18 a 413 and a close",
        &[
            EXPECTING,
            UpstreamHead,
            Upstream("HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"),
            UpstreamEnds,
            ClientStatus(413),
            ClientGets("no"),
        ],
    ),
    scene(
        "HH-18 no answer",
        &[EXPECTING, UpstreamHead, UpstreamResets, ClientStatus(502)],
    ),
    scene(
        "HH-19 silence",
        &[
            EXPECTING,
            UpstreamHead,
            ClientStatus(100),
            Client("body"),
            UpstreamGets("body"),
            OK,
            ClientStatus(200),
        ],
    ),
    scene(
        "HH-20 HTTP/1.0",
        &[
            Client("POST / HTTP/1.0\r\n<H>Expect: 100-continue\r\nContent-Length: 4\r\n\r\nbody"),
            UpstreamHead,
            CONTINUE,
            UpstreamGets("body"),
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientEnd,
        ],
    ),
    scene(
        "HH-17 a client that leaves",
        &[EXPECTING, UpstreamHead, ClientResets, UpstreamEnd],
    ),
];

const ENDING: &[Scene] = &[
    scene(
        "TO-08 half-close",
        &[
            CLOSING,
            ClientEnds,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientEnd,
        ],
    ),
    scene(
        "TO-08 half-close of HTTP/1.0",
        &[
            Client("GET / HTTP/1.0\r\n<H>\r\n"),
            ClientEnds,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientEnd,
        ],
    ),
    scene(
        "TO-08 half-close behind a body",
        &[
            Client("POST / HTTP/1.1\r\n<H>Connection: close\r\nContent-Length: 4\r\n\r\nbody"),
            ClientEnds,
            UpstreamHead,
            UpstreamGets("body"),
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientEnd,
        ],
    ),
    scene("TO-08 FIN", &[GET, UpstreamHead, ClientEnds, UpstreamEnd]),
    scene("TO-08 RST", &[GET, UpstreamHead, ClientResets, UpstreamEnd]),
    scene(
        "TO-08 RST of a closing client",
        &[CLOSING, UpstreamHead, ClientResets, UpstreamEnd],
    ),
    scene(
        "TO-08 RST behind an empty line",
        &[
            Client("GET / HTTP/1.1\r\n<H>\r\n\r\n"),
            UpstreamHead,
            ClientResets,
            UpstreamEnd,
        ],
    ),
    scene(
        "TO-08 RST behind a second request",
        &[
            Client("GET / HTTP/1.1\r\n<H>\r\nGET / HTTP/1.1\r\n<H>\r\n"),
            UpstreamHead,
            ClientResets,
            UpstreamEnd,
        ],
    ),
    scene(
        "TO-08 FIN behind a body",
        &[
            Client("POST / HTTP/1.1\r\n<H>Content-Length: 4\r\n\r\nbody"),
            UpstreamHead,
            UpstreamGets("body"),
            ClientEnds,
            UpstreamEnd,
        ],
    ),
    scene(
        "TO-08 RST in the answer",
        &[
            GET,
            UpstreamHead,
            Upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"),
            ClientStatus(200),
            ClientResets,
            UpstreamEnd,
        ],
    ),
    scene(
        "FR-40 FIN in a counted body",
        &[
            Client("POST / HTTP/1.1\r\n<H>Content-Length: 10\r\n\r\nhalf"),
            UpstreamHead,
            UpstreamGets("half"),
            ClientEnds,
            UpstreamEnd,
        ],
    ),
    scene(
        "FR-40 FIN in chunks",
        &[
            Client("POST / HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
            UpstreamHead,
            UpstreamGets("4\r\nhalf\r\n"),
            ClientEnds,
            UpstreamEnd,
        ],
    ),
    scene("TO-02 FIN at once", &[ClientEnds, ClientEnd, UpstreamIdle]),
    scene(
        "TO-02 RST in a head",
        &[Client("GET / HTTP/1.1\r\n<H>"), ClientResets, UpstreamIdle],
    ),
    scene(
        "TO-07 FIN between requests",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientEnds,
            ClientEnd,
        ],
    ),
];

const IDLE: &[Scene] = &[
    scene(
        "RS-05 the client goes on behind 204",
        &[
            GET,
            UpstreamHead,
            Upstream("HTTP/1.1 204 No Content\r\n\r\n"),
            ClientStatus(204),
            ClientQuiet,
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-05 the client goes on behind 304",
        &[
            GET,
            UpstreamHead,
            Upstream("HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n"),
            ClientStatus(304),
            ClientQuiet,
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-05 the client goes on behind HEAD",
        &[
            Client("HEAD / HTTP/1.1\r\n<H>\r\n"),
            UpstreamHead,
            Upstream("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"),
            ClientStatus(200),
            ClientQuiet,
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-04 a response",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            Upstream("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"),
            UpstreamEnd,
            GET,
            UpstreamAgain,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientQuiet,
        ],
    ),
    scene(
        "RS-04 one byte",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            Upstream("H"),
            UpstreamEnd,
            GET,
            UpstreamAgain,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-04 a line end",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            Upstream("\r\n"),
            UpstreamEnd,
            GET,
            UpstreamAgain,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-04 a farewell",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            Upstream("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"),
            UpstreamEnds,
            UpstreamEnd,
            GET,
            UpstreamAgain,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-04 FIN",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            UpstreamEnds,
            UpstreamEnd,
            GET,
            UpstreamAgain,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-04 RST",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            UpstreamResets,
            GET,
            UpstreamAgain,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
        ],
    ),
    scene(
        "RS-04 before the request is sent",
        &[Client("GET "), GET, ClientStatus(400)],
    ),
];

const UPLOAD: Step = Client("POST / HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n");
const EARLY: &[Scene] = &[
    scene(
        "HD-17 chunks for a kept HTTP/1.0",
        &[
            Client("GET / HTTP/1.0\r\n<H>Connection: keep-alive\r\n\r\n"),
            UpstreamHead,
            Upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"),
            ClientStatus(200),
            ClientGets("abcd"),
            ClientEnd,
        ],
    ),
    scene(
        "RS-10 both ways",
        &[
            UPLOAD,
            UpstreamHead,
            Upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            ClientStatus(200),
            Client("2\r\nab\r\n"),
            UpstreamGets("2\r\nab\r\n"),
            Upstream("2\r\nab\r\n"),
            ClientGets("2\r\nab\r\n"),
            Client("2\r\ncd\r\n0\r\n\r\n"),
            UpstreamGets("2\r\ncd\r\n0\r\n\r\n"),
            Upstream("0\r\n\r\n"),
            ClientGets("0\r\n\r\n"),
        ],
    ),
    scene(
        "RS-10 a fault in the upload",
        &[
            UPLOAD,
            UpstreamHead,
            Upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            ClientStatus(200),
            Client("x\r\n"),
            ClientEnd,
            UpstreamEnd,
        ],
    ),
    scene(
        "RS-10 refused in the middle",
        &[
            UPLOAD,
            UpstreamHead,
            Client("2\r\nab\r\n"),
            UpstreamGets("2\r\nab\r\n"),
            Upstream("HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"),
            ClientStatus(413),
            ClientGets("no"),
            ClientEnd,
        ],
    ),
];

const SILENT: &[Scene] = &[
    scene("TO-02 nothing", &[ClientEnd, UpstreamIdle]).limit("read_header 300ms"),
    scene(
        "TO-02 half a preface",
        &[Client("PRI * HTTP/2.0\r\n"), ClientEnd, UpstreamIdle],
    )
    .limit("read_header 300ms"),
    scene(
        "TO-07 idle",
        &[
            GET,
            UpstreamHead,
            OK,
            ClientStatus(200),
            ClientGets("ok"),
            ClientEnd,
        ],
    )
    .limit("idle 300ms"),
    scene(
        "FR-40 half a body",
        &[
            Client("POST / HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            UpstreamHead,
            UpstreamGets("5\r\nhello\r\n"),
            UpstreamEnd,
        ],
    )
    .limit("read_body 300ms"),
];

#[tokio::test]
async fn a_client_that_waits_for_a_100_gets_one_or_the_answer() {
    check(WAITING).await;
}

#[tokio::test]
async fn the_end_of_a_client_is_a_half_close_or_a_farewell() {
    check(ENDING).await;
}

#[tokio::test]
async fn bytes_on_an_idle_connection_never_reach_another_request() {
    check(IDLE).await;
}

#[tokio::test]
async fn an_early_answer_comes_while_the_upload_goes_on() {
    check(EARLY).await;
}

#[tokio::test]
async fn a_client_that_says_too_little_is_closed() {
    check(SILENT).await;
}
