//! HTTP/1.1 as strict as the codec says that it is, in the simplest way: whole messages out of slices, and
//! everything read again from its beginning each time.

use http::Uri;
use http1_codec::is_valid_authority;

/// What the beginning of some bytes is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<T> {
    /// This, and how many bytes it has.
    Whole(T, usize),
    /// The beginning of something that may yet be valid.
    Part,
    /// Nothing valid, whatever follows.
    Wrong,
}

/// A head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub line: Vec<u8>,
    pub fields: Vec<(String, Vec<u8>)>,
}

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Length(u64),
    Chunked,
    Close,
}

/// A request's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub target: Vec<u8>,
    pub fields: Vec<(String, Vec<u8>)>,
    pub end: End,
    pub keep_alive: bool,
}

/// A response's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub fields: Vec<(String, Vec<u8>)>,
    pub end: End,
    pub keep_alive: bool,
}

/// A body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    pub data: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
}

const MAX_HEAD: usize = 64 * 1024;
const MAX_FIELDS: usize = 100;
const MAX_TARGET: usize = 8 * 1024;
const MAX_BESIDE_TARGET: usize = 128;
const MAX_EXTENSIONS: usize = 16 * 1024;
const MAX_TRAILERS: usize = 16 * 1024;
const MAX_TRAILER_FIELDS: usize = 64;

/// Reads a request's head.
pub fn request(bytes: &[u8]) -> Read<Request> {
    let (head, length) = match head(bytes) {
        Read::Whole(head, length) => (head, length),
        Read::Part => return Read::Part,
        Read::Wrong => return Read::Wrong,
    };
    match check_request(head) {
        Some(request) => Read::Whole(request, length),
        None => Read::Wrong,
    }
}

/// Reads a response's head, which answers a request with this method.
pub fn response(bytes: &[u8], method: &str) -> Read<Response> {
    let (head, length) = match head(bytes) {
        Read::Whole(head, length) => (head, length),
        Read::Part => return Read::Part,
        Read::Wrong => return Read::Wrong,
    };
    match check_response(head, method) {
        Some(response) => Read::Whole(response, length),
        None => Read::Wrong,
    }
}

fn check_request(head: Head) -> Option<Request> {
    let words: Vec<&[u8]> = head.line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words[..] else {
        return None;
    };
    let old = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        _ => return None,
    };
    let method = is_token(method).then(|| String::from_utf8_lossy(method).into_owned())?;
    let long = target.len() > MAX_TARGET || head.line.len() > MAX_TARGET + MAX_BESIDE_TARGET;
    let target = encoded(target);
    if long || !is_target(&method, &target) {
        return None;
    }
    let hosts: Vec<&[u8]> = values(&head.fields, "host").collect();
    match hosts[..] {
        [] if old => {}
        [host] if is_valid_authority(host) => {}
        _ => return None,
    }
    let lengths: Vec<&[u8]> = values(&head.fields, "content-length").collect();
    let codings: Vec<&[u8]> = values(&head.fields, "transfer-encoding").collect();
    let end = match (&lengths[..], &codings[..]) {
        ([], []) => End::Length(0),
        ([length], []) => End::Length(number(length)?),
        ([], [coding]) if !old && coding.eq_ignore_ascii_case(b"chunked") => End::Chunked,
        _ => return None,
    };
    Some(Request {
        target,
        keep_alive: keeps_alive(&head.fields, old),
        method,
        fields: head.fields,
        end,
    })
}

fn check_response(head: Head, method: &str) -> Option<Response> {
    let line = &head.line;
    let old = match line.get(..9)? {
        b"HTTP/1.1 " => false,
        b"HTTP/1.0 " => true,
        _ => return None,
    };
    let digits = line.get(9..12)?;
    let status: u16 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let is_number = digits.iter().all(u8::is_ascii_digit);
    let reason = match line.get(12..)? {
        [] => &[][..],
        [b' ', reason @ ..] => reason,
        _ => return None,
    };
    if !is_number || !(100..600).contains(&status) || !reason.iter().all(|byte| is_text(*byte)) {
        return None;
    }
    let lengths: Vec<&[u8]> = values(&head.fields, "content-length").collect();
    let codings: Vec<&[u8]> = values(&head.fields, "transfer-encoding").collect();
    let chunked = match codings[..] {
        [] => false,
        [coding] if !old && coding.eq_ignore_ascii_case(b"chunked") => true,
        _ => return None,
    };
    let mut numbers = lengths.iter().map(|length| number(length));
    let length = match numbers.next() {
        None => None,
        Some(first) => {
            let first = first?;
            numbers.all(|other| other == Some(first)).then_some(())?;
            Some(first)
        }
    };
    let bodiless = method == "HEAD" || status < 200 || status == 204 || status == 304;
    let end = match length {
        _ if bodiless => End::Length(0),
        _ if chunked => End::Chunked,
        Some(length) => End::Length(length),
        None => End::Close,
    };
    let both = chunked && length.is_some();
    Some(Response {
        keep_alive: keeps_alive(&head.fields, old) && end != End::Close && !both,
        status,
        fields: head.fields,
        end,
    })
}

/// Reads a body. One that ends with its connection is all that is there.
pub fn body(bytes: &[u8], end: End, padded: bool) -> Read<Body> {
    match end {
        End::Length(length) => match usize::try_from(length)
            .ok()
            .and_then(|length| bytes.get(..length))
        {
            Some(data) => Read::Whole(with(data.to_vec()), data.len()),
            None => Read::Part,
        },
        End::Close => Read::Whole(with(bytes.to_vec()), bytes.len()),
        End::Chunked => chunks(bytes, padded),
    }
}

fn with(data: Vec<u8>) -> Body {
    Body {
        data,
        trailers: Vec::new(),
    }
}

fn chunks(bytes: &[u8], padded: bool) -> Read<Body> {
    let (mut body, mut at, mut extensions) = (Body::default(), 0, 0);
    loop {
        let rest = &bytes[at..];
        let (size, length) = match chunk_size(rest, padded, &mut extensions) {
            Read::Whole(size, length) => (size, length),
            Read::Part => return Read::Part,
            Read::Wrong => return Read::Wrong,
        };
        at += length;
        if size == 0 {
            return match fields(&bytes[at..], MAX_TRAILERS, MAX_TRAILER_FIELDS) {
                Read::Whole(trailers, length) => {
                    body.trailers = trailers;
                    Read::Whole(body, at + length)
                }
                Read::Part => Read::Part,
                Read::Wrong => Read::Wrong,
            };
        }
        let Some(data) = usize::try_from(size)
            .ok()
            .and_then(|size| bytes[at..].get(..size))
        else {
            return Read::Part;
        };
        body.data.extend_from_slice(data);
        at += data.len();
        match &bytes[at..] {
            [b'\r', b'\n', ..] => at += 2,
            [] | [b'\r'] => return Read::Part,
            _ => return Read::Wrong,
        }
    }
}

fn chunk_size(bytes: &[u8], padded: bool, extensions: &mut usize) -> Read<u64> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits > 16 || (digits == 0 && !bytes.is_empty()) {
        return Read::Wrong;
    }
    let text = std::str::from_utf8(&bytes[..digits]).unwrap_or_default();
    let size = u64::from_str_radix(text, 16).unwrap_or_default();
    let mut at = digits;
    let mut extension = false;
    loop {
        match bytes.get(at) {
            None => return Read::Part,
            Some(b'\r') => break,
            Some(b';') if !extension => extension = true,
            Some(b' ' | b'\t') if padded && !extension => *extensions += 1,
            Some(byte) if extension && is_text(*byte) => *extensions += 1,
            Some(_) => return Read::Wrong,
        }
        if *extensions > MAX_EXTENSIONS {
            return Read::Wrong;
        }
        at += 1;
    }
    match bytes.get(at + 1) {
        None => Read::Part,
        Some(b'\n') => Read::Whole(size, at + 2),
        Some(_) => Read::Wrong,
    }
}

fn head(bytes: &[u8]) -> Read<Head> {
    let mut start = 0;
    for _ in 0..2 {
        if bytes[start..].starts_with(b"\r\n") {
            start += 2;
        }
    }
    let rest = &bytes[start..];
    let (line, length) = match line(rest) {
        Read::Whole(line, length) => (line, length),
        Read::Part => return Read::Part,
        Read::Wrong => return Read::Wrong,
    };
    if line.is_empty() {
        return Read::Wrong;
    }
    match fields(&rest[length..], MAX_HEAD - length.min(MAX_HEAD), MAX_FIELDS) {
        Read::Whole(fields, more) => Read::Whole(
            Head {
                line: line.to_vec(),
                fields,
            },
            start + length + more,
        ),
        Read::Part => Read::Part,
        Read::Wrong => Read::Wrong,
    }
}

/// A line without its end.
fn line(bytes: &[u8]) -> Read<&[u8]> {
    let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Read::Part;
    };
    match bytes[..at].strip_suffix(b"\r") {
        Some(line) if !line.contains(&b'\r') => Read::Whole(line, at + 1),
        _ => Read::Wrong,
    }
}

/// Fields up to an empty line.
fn fields(bytes: &[u8], size: usize, count: usize) -> Read<Vec<(String, Vec<u8>)>> {
    let (mut fields, mut at) = (Vec::new(), 0);
    loop {
        let (line, length) = match line(&bytes[at..]) {
            Read::Whole(line, length) => (line, length),
            Read::Part if bytes.len() > size => return Read::Wrong,
            Read::Part => return Read::Part,
            Read::Wrong => return Read::Wrong,
        };
        at += length;
        if line.is_empty() {
            return if at > size {
                Read::Wrong
            } else {
                Read::Whole(fields, at)
            };
        }
        match field(line) {
            Some(field) if fields.len() < count => fields.push(field),
            _ => return Read::Wrong,
        }
    }
}

fn field(line: &[u8]) -> Option<(String, Vec<u8>)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value
        .iter()
        .rposition(|byte| !blank(byte))
        .map_or(start, |at| at + 1);
    let valid = is_token(name) && value.iter().all(|byte| is_text(*byte));
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    valid.then(|| (name, value[start..end].to_vec()))
}

/// A target with those characters of its path and its query percent-encoded that are none of a URI and that are let pass.
fn encoded(target: &[u8]) -> Vec<u8> {
    let authority = match target.windows(3).position(|window| window == b"://") {
        _ if target.starts_with(b"/") => 0,
        Some(at) => at + 3,
        None => return target.to_vec(),
    };
    let (authority, rest) = target.split_at(authority);
    let path = rest.iter().position(|byte| b"/?".contains(byte));
    let (host, rest) = rest.split_at(path.unwrap_or(rest.len()));
    let query = rest.iter().position(|byte| *byte == b'?');
    let (path, query) = rest.split_at(query.unwrap_or(rest.len()));
    let mut all = [authority, host].concat();
    for (part, bare) in [(path, b"<>`"), (query, b"<>\"")] {
        for byte in part {
            match bare.contains(byte) {
                true => all.extend(format!("%{byte:02X}").bytes()),
                false => all.push(*byte),
            }
        }
    }
    all
}

fn is_target(method: &str, target: &[u8]) -> bool {
    if target.contains(&b'#') {
        return false;
    }
    let Ok(uri) = Uri::try_from(target) else {
        return false;
    };
    let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
    if !authority.is_none_or(is_valid_authority) {
        return false;
    }
    match (method, target) {
        ("CONNECT", _) => authority == Some(target),
        ("OPTIONS", b"*") => true,
        (_, [b'/', ..]) => true,
        _ => uri.scheme().is_some() && authority.is_some(),
    }
}

fn keeps_alive(fields: &[(String, Vec<u8>)], old: bool) -> bool {
    let says = |option: &[u8]| {
        values(fields, "connection").any(|value| {
            value
                .split(|byte| *byte == b',')
                .any(|item| item.trim_ascii().eq_ignore_ascii_case(option))
        })
    };
    !says(b"close") && (!old || says(b"keep-alive"))
}

fn values<'f>(fields: &'f [(String, Vec<u8>)], name: &str) -> impl Iterator<Item = &'f [u8]> {
    fields
        .iter()
        .filter(move |field| field.0 == name)
        .map(|field| field.1.as_slice())
}

fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn is_token(text: &[u8]) -> bool {
    let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_one)
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}
