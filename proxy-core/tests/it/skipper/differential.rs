//! Skipper's routes in Doorway beside real Skipper: the same requests to the same routes get the same answers, and the
//! backends see the same.
//!
//! `tests/skipper` holds the documents, each with its routes and the requests for them, and the differences that are
//! meant (`on_purpose.txt`), each with its reason and what both do; one that is none any more is a fault as well.
//! Without Skipper there is a line that says so: `cargo xtask skipper` builds it.
//!
//! With the environment variable `DIFFERENTIAL_ONLY=NAME` one document is looked at.

mod document;
mod process;

use std::env;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::differential::answers::Answers;
use crate::differential::asking::ask_all;
use crate::differential::on_purpose::Differences;
use crate::support::origin::{Recorded, Recorder, Reply};

use self::document::Document;
use self::process::Skipper;

/// Lines of both that are about the connection, or about how a body is sent, or that Go's library adds.
const UNCOMPARED: [&str; 9] = [
    "connection: ",
    "content-length: ",
    "transfer-encoding: ",
    "upstream accept-encoding: gzip",
    "upstream connection: ",
    "upstream content-length: ",
    "upstream transfer-encoding: ",
    "upstream user-agent: ",
    "trailer ",
];

/// A body that is worth compressing.
const LONG: &str = "all work and no play makes a dull body. ";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skipper")
}

/// The documents, by name.
fn documents() -> Vec<String> {
    let only = env::var("DIFFERENTIAL_ONLY").ok();
    let entries = fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "routes"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| only.as_ref().is_none_or(|only| only == name))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

#[tokio::test]
async fn doorway_answers_as_skipper_does() {
    let program = match process::program() {
        Ok(program) => program,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let text = fs::read_to_string(directory().join("on_purpose.txt")).unwrap();
    let mut differences = Differences::parse(&text);
    let mut faults = Vec::new();
    let mut asked = 0;
    for name in documents() {
        let path = directory().join(&name).with_extension("routes");
        let document = Document::parse(&fs::read_to_string(path).unwrap());
        let skipper = by_skipper(&program, &document).await;
        let doorway = by_doorway(&document).await;
        asked += skipper.names().len();
        faults.extend(differences.between(&name, &skipper, &doorway));
    }
    if env::var("DIFFERENTIAL_ONLY").is_err() {
        faults.extend(differences.unused());
        assert!(asked > 400, "only {asked} requests were asked");
    }
    assert!(
        faults.is_empty(),
        "{} differences in {asked} requests (- Skipper, + Doorway):\n{}",
        faults.len(),
        faults.join("\n")
    );
}

async fn by_skipper(program: &Path, document: &Document) -> Answers {
    let origin = origin().await;
    let skipper = Skipper::start(program, &document.routes(origin.addr()), &document.flags).await;
    let answers = ask_all(&document.requests, skipper.addr(), &origin).await;
    compared(document, &answers, skipper.addr().port())
}

async fn by_doorway(document: &Document) -> Answers {
    let origin = origin().await;
    let rig = super::rig_with(&document.lines, &document.routes(origin.addr()));
    let answers = ask_all(&document.requests, rig.addr(), &origin).await;
    let port = rig.addr().port();
    rig.stop().await;
    compared(document, &answers, port)
}

/// What of these answers is compared, with names for what is otherwise each time.
fn compared(document: &Document, answers: &Answers, port: u16) -> Answers {
    let mut compared = Answers::default();
    for name in answers.names() {
        let lines = answers.lines(name).iter();
        let lines = lines
            .filter(|line| !UNCOMPARED.iter().any(|start| line.starts_with(start)))
            .map(|line| in_minutes(document.named(line).replace(&format!(":{port}"), ":PORT")));
        compared.push(name, lines.collect());
    }
    compared
}

/// A time to come again in minutes: a second may have gone since it began.
fn in_minutes(line: String) -> String {
    let seconds = line.strip_prefix("retry-after: ").map(str::parse::<u64>);
    match seconds {
        Some(Ok(seconds)) => format!("retry-after: up to {} minutes", seconds.div_ceil(60)),
        _ => line,
    }
}

/// The backend: what it answers depends on the path.
async fn origin() -> Recorder {
    Recorder::start(Ipv4Addr::LOCALHOST, |request| Reply::Keep(answer(request))).await
}

fn answer(request: &Recorded) -> Vec<u8> {
    let target = request.head.target();
    let (status, body) = match target.split_once("/status/") {
        Some((_, code)) => (code.get(..3).unwrap_or("500"), "the backend says so".to_owned()),
        None if target.ends_with("/long") => ("200", LONG.repeat(50)),
        None => ("200", "a line of the backend\n".to_owned()),
    };
    let sent = if request.head.method() == "HEAD" {
        ""
    } else {
        &body
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status} So\r\nContent-Type: text/plain\r\nX-Multi: a\r\nX-Multi: b\r\nSet-Cookie: s=1\r\n\
         Set-Cookie: t=2; Path=/\r\nContent-Length: {length}\r\n\r\n{sent}"
    )
    .into_bytes()
}
