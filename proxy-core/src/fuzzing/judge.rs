//! What both ends of a proxy saw, against a strict reader of the other end's bytes.

use super::reference::{self, End, Read, Request};
use super::{Input, Played};

/// A request that a client or an upstream sees in some bytes.
#[derive(Debug)]
struct Seen {
    head: Request,
    content: Content,
}

/// A body, as far as it came.
#[derive(Debug, Default)]
struct Content {
    data: Vec<u8>,
    trailers: Vec<(String, Vec<u8>)>,
    whole: bool,
}

/// An answer that a client sees.
#[derive(Debug)]
struct Answer {
    status: u16,
    content: Content,
}

/// What the proxy itself says to an upstream.
const OWN: [&str; 11] = [
    "connection",
    "content-length",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-added",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// What a Connection field may not take away.
const KEPT: [&str; 4] = ["authorization", "content-length", "cookie", "host"];

/// How long the bytes of an upstream may be beside those of the client: what the proxy adds to a request.
const ADDED: usize = 1024;

pub(super) fn judge(input: &Input<'_>, played: &Played) {
    let asked = requests(input.client, false);
    let mut conns: Vec<_> = played
        .upstreams
        .iter()
        .map(|upstream| requests(&upstream.bytes, true).into_iter().zip(0..))
        .collect();
    let mut answered: Vec<Option<(usize, usize)>> = vec![None; asked.len()];
    let mut at = 0;
    for conn in &played.order {
        // Behind an upgrade, the bytes are another protocol's.
        let Some((seen, number)) = conns[*conn].next() else {
            continue;
        };
        let may_be = |index: &usize| match answered[*index] {
            None => true,
            Some((_, 0)) => false,
            // It went over a kept connection that was not answered.
            Some((before, place)) => {
                let silent = answer(input, before, place).is_empty() || played.hung_up;
                silent && number == 0 && may_repeat(&asked[*index])
            }
        };
        let index = (at..asked.len())
            .filter(may_be)
            .find(|index| is_forwarded(&asked[*index], &seen))
            .unwrap_or_else(|| panic!("{seen:?} is none of {asked:?}"));
        check_fields(&asked[index], &seen);
        check_site(&seen, played.upstreams[*conn].port);
        at = index;
        answered[index] = Some((*conn, number));
    }
    let bytes: usize = played.upstreams.iter().map(|upstream| upstream.bytes.len()).sum();
    let most = 2 * (input.client.len() + ADDED * (asked.len() + 1));
    assert!(bytes <= most, "{bytes} bytes go up");
    let answers = answers(&played.answers, &asked, played.cut);
    for (answer, (request, way)) in answers.iter().zip(asked.iter().zip(answered)) {
        let Some((conn, number)) = way else { continue };
        // Whoever hung up may have done so before its answer; and what comes behind an answer while nobody looks
        // is taken for the next one.
        let exact = (0..number).all(|before| is_exact(self::answer(input, conn, before)));
        if exact && !played.hung_up {
            let last = number + 1 >= input.upstreams[conn].len();
            let part = self::answer(input, conn, number);
            check_answer(answer, &request.head.method, part, last);
        }
    }
}

/// What an upstream says to the request with this number on this connection.
fn answer<'d>(input: &Input<'d>, conn: usize, number: usize) -> &'d [u8] {
    let answers = input.upstreams.get(conn);
    answers
        .and_then(|answers| answers.get(number))
        .copied()
        .unwrap_or_default()
}

/// Whether these bytes are one answer and nothing else.
fn is_exact(part: &[u8]) -> bool {
    let Read::Whole(head, length) = reference::response(part, "GET") else {
        return false;
    };
    let body = reference::body(&part[length..], head.end, true);
    matches!(body, Read::Whole(_, more) if length + more == part.len()) && head.status >= 200
}

// === requests ===

/// The requests in `bytes`. Those that a proxy sent are all good, but for the last one, which may be cut.
fn requests(bytes: &[u8], sent: bool) -> Vec<Seen> {
    let (mut rest, mut all) = (bytes, Vec::new());
    loop {
        let (head, length) = match reference::request(rest) {
            Read::Whole(head, length) => (head, length),
            Read::Part => return all,
            Read::Wrong => {
                assert!(!sent, "an upstream sees {}", rest.escape_ascii());
                return all;
            }
        };
        let behind = &rest[length..];
        let upgrade = sent && head.fields.iter().any(|field| field.0 == "upgrade");
        let (goes_on, end) = (sent || head.keep_alive, head.end);
        match reference::body(behind, end, false) {
            Read::Whole(body, length) => {
                all.push(Seen {
                    head,
                    content: Content::whole(body),
                });
                rest = &behind[length..];
            }
            wrong => {
                assert!(
                    !sent || wrong == Read::Part,
                    "an upstream sees {}",
                    bytes.escape_ascii()
                );
                let content = Content::cut(behind, end);
                all.push(Seen { head, content });
                return all;
            }
        }
        if !goes_on || upgrade {
            return all;
        }
    }
}

/// Whether the upstream saw this request of the client, or the beginning of it.
fn is_forwarded(asked: &Seen, seen: &Seen) -> bool {
    asked.head.method == seen.head.method
        && target(&asked.head).1 == seen.head.target
        && host(asked) == host(seen)
        && asked.content.data.starts_with(&seen.content.data)
        && (!seen.content.whole || (asked.content.whole && asked.content.data == seen.content.data))
}

fn may_repeat(asked: &Seen) -> bool {
    let is_safe = ["GET", "HEAD", "OPTIONS", "TRACE"].contains(&asked.head.method.as_str());
    is_safe && asked.content.data.is_empty()
}

/// The site's upstream is the one that saw it.
fn check_site(seen: &Seen, port: u16) {
    let host = values(&seen.head.fields, "host").next().unwrap_or_default();
    let name = String::from_utf8_lossy(host).to_ascii_lowercase();
    let name = name.split(':').next().unwrap_or_default();
    let wanted = match name.strip_suffix('.').unwrap_or(name) {
        "a.test" => 9001,
        "b.test" => 9002,
        other => panic!("{other} is no site"),
    };
    assert_eq!(port, wanted, "{name}");
}

/// The host that a client asks.
fn host(asked: &Seen) -> Option<&[u8]> {
    let line = values(&asked.head.fields, "host").next();
    target(&asked.head).0.or(line)
}

fn check_fields(asked: &Seen, seen: &Seen) {
    let fields = &seen.head.fields;
    let count = |name: &'static str| values(fields, name).count();
    assert!(
        count("content-length") + count("transfer-encoding") <= 1,
        "{seen:?}"
    );
    for name in ["keep-alive", "proxy-connection", "proxy-authorization"] {
        assert_eq!(count(name), 0, "{name}: {seen:?}");
    }
    let from: Vec<_> = values(fields, "x-forwarded-for").collect();
    assert_eq!(from, [b"192.0.2.1"], "{seen:?}");
    for option in options(fields) {
        assert!(["te", "upgrade"].contains(&option.as_str()), "{seen:?}");
    }
    for option in options(&asked.head.fields) {
        let name = option.as_str();
        let ours = OWN.contains(&name) || KEPT.contains(&name);
        assert!(
            ours || values(fields, name).next().is_none(),
            "{name} is nominated: {seen:?}"
        );
    }
    for field in fields {
        let known = OWN.contains(&field.0.as_str()) || asked.head.fields.contains(field);
        assert!(known || field.0 == "cookie", "{field:?} comes from nowhere");
    }
    for trailer in &seen.content.trailers {
        assert!(asked.content.trailers.contains(trailer), "{trailer:?}");
        assert!(!trailer.0.contains(['_', '.']), "{trailer:?}");
        assert!(!OWN.contains(&trailer.0.as_str()), "{trailer:?}");
    }
}

/// The members of the Connection fields.
fn options(fields: &[(String, Vec<u8>)]) -> Vec<String> {
    let members = values(fields, "connection").flat_map(|value| value.split(|byte| *byte == b','));
    members
        .map(|member| String::from_utf8_lossy(member.trim_ascii()).to_ascii_lowercase())
        .filter(|member| !member.is_empty())
        .collect()
}

fn values<'f>(fields: &'f [(String, Vec<u8>)], name: &str) -> impl Iterator<Item = &'f [u8]> {
    let named = fields.iter().filter(move |field| field.0 == name);
    named.map(|field| field.1.as_slice())
}

/// The authority in a target, and what of it goes on: a path without dot segments, and the query.
fn target(head: &Request) -> (Option<&[u8]>, Vec<u8>) {
    let text = head.target.as_slice();
    let colon = text.windows(3).position(|window| window == b"://");
    let (authority, path) = match colon {
        Some(at) if !text.starts_with(b"/") => {
            let rest = &text[at + 3..];
            let end = rest.iter().position(|byte| b"/?".contains(byte));
            let (authority, path) = rest.split_at(end.unwrap_or(rest.len()));
            (Some(authority), path)
        }
        _ => (None, text),
    };
    let end = path.iter().position(|byte| *byte == b'?').unwrap_or(path.len());
    let (path, query) = path.split_at(end);
    let mut resolved = without_dots(path);
    resolved.extend_from_slice(query);
    (authority, resolved)
}

fn without_dots(path: &[u8]) -> Vec<u8> {
    let plain = |segment: &[u8]| {
        let text = String::from_utf8_lossy(segment).to_ascii_lowercase();
        text.replace("%2e", ".")
    };
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut segments = path.split(|byte| *byte == b'/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match plain(segment).as_str() {
            "." => {}
            ".." => drop(kept.pop()),
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if segments.peek().is_none() {
            kept.push(b"");
        }
    }
    [b"/".as_slice(), &kept.join(&b'/')].concat()
}

// === answers ===

/// The final answers that the client sees, at most one for each request and one for what is none.
fn answers(bytes: &[u8], asked: &[Seen], cut: bool) -> Vec<Answer> {
    let (mut rest, mut all) = (bytes, Vec::new());
    let mut methods = asked.iter().map(|seen| seen.head.method.as_str());
    let mut method = methods.next();
    while !rest.is_empty() {
        let (head, length) = match reference::response(rest, method.unwrap_or("GET")) {
            Read::Whole(head, length) => (head, length),
            Read::Part => break,
            Read::Wrong => panic!("a client sees {}", bytes.escape_ascii()),
        };
        assert!(
            all.len() <= asked.len(),
            "one answer too many: {}",
            bytes.escape_ascii()
        );
        rest = &rest[length..];
        if head.status == 101 {
            break;
        }
        if head.status < 200 {
            continue;
        }
        method = methods.next();
        let Some((mut content, length)) = Content::of(rest, head.end) else {
            panic!("a client sees {}", bytes.escape_ascii());
        };
        content.whole &= head.end != End::Close || !cut;
        rest = &rest[length..];
        let whole = content.whole;
        all.push(Answer {
            status: head.status,
            content,
        });
        assert!(whole || rest.is_empty(), "a client sees {}", bytes.escape_ascii());
    }
    all
}

/// Whether a client that sees a whole answer sees the upstream's. `last` says that the connection ends behind it.
fn check_answer(answer: &Answer, method: &str, part: &[u8], last: bool) {
    if !answer.content.whole || answer.status >= 400 {
        return;
    }
    let mut rest = part;
    let head = loop {
        let Read::Whole(head, length) = reference::response(rest, method) else {
            panic!("{answer:?} is made of {}", part.escape_ascii());
        };
        rest = &rest[length..];
        if head.status >= 200 {
            break head;
        }
    };
    assert_eq!(answer.status, head.status);
    assert!(head.end != End::Close || last, "{answer:?} has no end");
    let Read::Whole(body, _) = reference::body(rest, head.end, true) else {
        panic!("{answer:?} is made of {}", part.escape_ascii());
    };
    assert_eq!(answer.content.data, body.data);
}

// === impl Content ===

impl Content {
    fn whole(body: reference::Body) -> Self {
        Self {
            data: body.data,
            trailers: body.trailers,
            whole: true,
        }
    }

    /// A whole body and its length, or what there is of a cut one; `None` for none at all.
    fn of(bytes: &[u8], end: End) -> Option<(Self, usize)> {
        match reference::body(bytes, end, false) {
            Read::Whole(body, length) => Some((Self::whole(body), length)),
            Read::Part => Some((Self::cut(bytes, end), bytes.len())),
            Read::Wrong => None,
        }
    }

    /// At least all the data in front of the place where a body is cut or wrong.
    fn cut(bytes: &[u8], end: End) -> Self {
        let mut content = Self::default();
        if end != End::Chunked {
            content.data = bytes.to_vec();
            return content;
        }
        let mut rest = bytes;
        while let Some(at) = rest.windows(2).position(|window| window == b"\r\n") {
            let digits = rest[..at].split(|byte| *byte == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(digits)
                .ok()
                .and_then(|text| usize::from_str_radix(text, 16).ok());
            let Some(size) = size.filter(|size| *size > 0) else {
                break;
            };
            let behind = &rest[at + 2..];
            let data = &behind[..size.min(behind.len())];
            content.data.extend_from_slice(data);
            rest = behind.get(size.saturating_add(2)..).unwrap_or_default();
        }
        content
    }
}
