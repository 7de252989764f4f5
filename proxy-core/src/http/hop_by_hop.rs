//! Fields that concern one connection only, in both directions (RFC 9110, section 7.6.1).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::marks::Marks;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    KEEP_ALIVE,
    PROXY_CONNECTION,
];

/// Fields that a Connection field must not remove: without them the message changes its meaning, and
/// RFC 9110 forbids senders to list them.
const NEVER_NOMINATED: [HeaderName; 4] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::COOKIE,
    header::AUTHORIZATION,
];

/// Removes what must not be forwarded from a request's fields. `te: trailers` stays, as it says something
/// about the client itself; the transport adds its own `Connection`.
pub(crate) fn strip_request(headers: &mut HeaderMap, marks: Marks) {
    const ANY: Marks = Marks::CONNECTION
        .and(Marks::TE)
        .and(Marks::UPGRADE)
        .and(Marks::HOP_BY_HOP);
    if !marks.any(ANY) || look(headers).is_done_by_one_removal(headers) {
        return;
    }
    let wants_trailers = headers.get_all(header::TE).iter().any(lists_trailers);
    remove(headers);
    headers.remove(header::PROXY_AUTHORIZATION);
    if wants_trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Removes what the client's Connection field names, and the names from that: fields that are set afterwards are the
/// proxy's own, and no client takes them away by naming them. What [`strip_request`] knows by itself stays for it.
pub(crate) fn strip_nominated(headers: &mut HeaderMap) {
    let nominated: Vec<HeaderName> = nominated(headers)
        .filter(|name| !HOP_BY_HOP.contains(name))
        .collect();
    if nominated.is_empty() {
        return;
    }
    let is_kept = |token: &&[u8]| {
        let name = HeaderName::from_bytes(token);
        name.is_ok_and(|name| !nominated.contains(&name))
    };
    let kept: Vec<&[u8]> = tokens(headers).filter(is_kept).collect();
    let kept = HeaderValue::from_bytes(&kept.join(&b", "[..]));
    for name in nominated {
        headers.remove(name);
    }
    match kept {
        Ok(kept) if !kept.is_empty() => {
            headers.insert(header::CONNECTION, kept);
        }
        _ => {
            headers.remove(header::CONNECTION);
        }
    }
}

/// Removes what must not be forwarded from a response's fields.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    let found = look(headers);
    if found == Found::Nothing || found.is_done_by_one_removal(headers) {
        return;
    }
    remove(headers);
    headers.remove(header::PROXY_AUTHENTICATE);
}

/// What there is to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// A Connection field that names no other, as most messages have it.
    OnlyConnection,
    More,
}

/// One look at all fields costs less than a search for each that is not there.
fn look(headers: &HeaderMap) -> Found {
    let mut found = Found::Nothing;
    for (name, value) in headers {
        match *name {
            header::CONNECTION => {
                let value = value.as_bytes();
                if !value.eq_ignore_ascii_case(b"keep-alive") && !value.eq_ignore_ascii_case(b"close") {
                    return Found::More;
                }
                found = Found::OnlyConnection;
            }
            header::TE | header::TRANSFER_ENCODING | header::UPGRADE => return Found::More,
            header::PROXY_AUTHENTICATE | header::PROXY_AUTHORIZATION => return Found::More,
            // The last is a name that a Connection field may give, if only by accident.
            _ if matches!(name.as_str(), "keep-alive" | "proxy-connection" | "close") => return Found::More,
            _ => {}
        }
    }
    found
}

fn remove(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        let nominated: Vec<HeaderName> = nominated(headers).collect();
        for name in nominated {
            headers.remove(name);
        }
        headers.remove(header::CONNECTION);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

impl Found {
    /// Removes a Connection field that stands alone; `false` if there is more to do.
    fn is_done_by_one_removal(self, headers: &mut HeaderMap) -> bool {
        if self == Self::OnlyConnection {
            headers.remove(header::CONNECTION);
        }
        self == Self::OnlyConnection
    }
}

/// The fields that a Connection field may remove.
fn nominated(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    tokens(headers)
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        .filter(|name| !NEVER_NOMINATED.contains(name))
}

fn tokens(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

fn lists_trailers(value: &HeaderValue) -> bool {
    value.as_bytes().split(|byte| *byte == b',').any(|item| {
        let coding = item.split(|byte| *byte == b';').next().unwrap_or_default();
        coding.trim_ascii().eq_ignore_ascii_case(b"trailers")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &[u8])]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value).unwrap(),
            );
        }
        map
    }

    fn strip(headers: &mut HeaderMap) {
        strip_request(headers, Marks::of(headers));
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        headers.keys().map(HeaderName::as_str).collect()
    }

    #[test]
    fn fields_named_by_connection_go_with_it() {
        let mut map = headers(&[
            ("connection", b"close, X-Hop ,"),
            ("x-hop", b"1"),
            ("x-end", b"2"),
        ]);
        strip(&mut map);
        assert_eq!(names(&map), ["x-end"]);
    }

    #[test]
    fn what_a_connection_field_names_goes_at_once_and_the_rest_stays_for_later() {
        let mut map = headers(&[
            ("connection", b"Upgrade, X-User, te"),
            ("connection", b"x-other, host"),
            ("x-user", b"forged"),
            ("upgrade", b"websocket"),
            ("te", b"trailers"),
            ("host", b"a.test"),
        ]);
        strip_nominated(&mut map);
        assert_eq!(map.get("connection").unwrap(), "Upgrade, te, host");
        assert!(!map.contains_key("x-user"));
        assert_eq!(map.len(), 4);
        let mut map = headers(&[("connection", b"x-user"), ("x-user", b"forged")]);
        strip_nominated(&mut map);
        assert!(map.is_empty());
        let mut map = headers(&[("connection", b"keep-alive"), ("x-user", b"a")]);
        strip_nominated(&mut map);
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn a_connection_field_that_names_no_other_goes_alone() {
        for value in ["keep-alive", "Close", "Keep-Alive"] {
            let fields: &[(&str, &[u8])] = &[("connection", value.as_bytes()), ("x-end", b"2")];
            let (mut request, mut response) = (headers(fields), headers(fields));
            strip(&mut request);
            strip_response(&mut response);
            assert_eq!(
                (names(&request), names(&response)),
                (vec!["x-end"], vec!["x-end"])
            );
        }
        let twice: &[(&str, &[u8])] = &[("connection", b"close"), ("connection", b"x-a"), ("x-a", b"1")];
        let mut map = headers(twice);
        strip_response(&mut map);
        assert!(map.is_empty(), "the second one names a field");
        let mut map = headers(&[("connection", b"close"), ("close", b"1")]);
        strip_response(&mut map);
        assert!(map.is_empty(), "a field of that name is named, too");
    }

    #[test]
    fn connection_cannot_remove_what_gives_the_message_its_meaning() {
        let mut map = headers(&[
            ("connection", b"host, content-length, cookie, authorization"),
            ("host", b"a"),
            ("content-length", b"1"),
            ("cookie", b"a=b"),
            ("authorization", b"x"),
        ]);
        strip(&mut map);
        let mut left = names(&map);
        left.sort_unstable();
        assert_eq!(left, ["authorization", "content-length", "cookie", "host"]);
    }

    #[test]
    fn a_connection_value_that_is_no_text_is_no_fault() {
        let mut map = headers(&[("connection", b"\xff, \xfe"), ("x", b"1")]);
        strip(&mut map);
        assert_eq!(names(&map), ["x"]);
    }

    #[test]
    fn only_trailers_of_te_is_passed_on() {
        for (te, passed) in [
            ("trailers, gzip", true),
            ("gzip", false),
            ("trailers;q=0.5", true),
            ("\tTrailers", true),
        ] {
            let mut map = headers(&[("te", te.trim().as_bytes())]);
            strip(&mut map);
            assert_eq!(
                map.get("te").is_some_and(|value| value == "trailers"),
                passed,
                "{te}"
            );
        }
    }

    #[test]
    fn responses_lose_their_hop_by_hop_fields_too() {
        let mut map = headers(&[
            ("connection", b"upgrade, x-a"),
            ("x-a", b"1"),
            ("keep-alive", b"timeout=5"),
            ("proxy-authenticate", b"Basic"),
            ("transfer-encoding", b"chunked"),
            ("set-cookie", b"a=1"),
            ("set-cookie", b"b=2"),
        ]);
        strip_response(&mut map);
        assert_eq!(map.get_all("set-cookie").iter().count(), 2);
        assert_eq!(names(&map), ["set-cookie"]);
    }
}
