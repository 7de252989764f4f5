//! What the head of an answer says of a file, and what part of it is wanted (RFC 9110, sections 13 and 14).

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use http::header::{
    ACCEPT_RANGES, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};

/// Types of files by the endings of their names.
const KINDS: [(&str, &str); 30] = [
    ("avif", "image/avif"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("gif", "image/gif"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xml", "text/xml; charset=utf-8"),
    ("zip", "application/zip"),
];

/// What is known of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) length: u64,
    pub(super) modified: Option<SystemTime>,
}

/// Some of the bytes of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) from: u64,
    pub(super) length: u64,
}

/// What the field Range comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Range {
    /// All of the file.
    All,
    One(Part),
    /// None of the file's bytes.
    Outside,
}

/// The fields of a request that say under which conditions it wants what.
pub(super) fn conditions(headers: &HeaderMap) -> HeaderMap {
    const NAMES: [HeaderName; 6] = [
        IF_MATCH,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        IF_RANGE,
        IF_UNMODIFIED_SINCE,
        RANGE,
    ];
    let mut conditions = HeaderMap::new();
    for name in NAMES {
        for value in headers.get_all(&name) {
            conditions.append(name.clone(), value.clone());
        }
    }
    conditions
}

/// The head of the answer, and the part of the file that is its body, if it has one.
pub(super) fn answer(found: &Found, request: &HeaderMap) -> (StatusCode, HeaderMap, Option<Part>) {
    let mut headers = HeaderMap::new();
    let tag = found.tag();
    if let Some(tag) = &tag {
        headers.insert(ETAG, tag.clone());
    }
    if let Some(date) = found.date() {
        headers.insert(LAST_MODIFIED, date);
    }
    if !found.may_be_given(request) {
        return (StatusCode::PRECONDITION_FAILED, headers, None);
    }
    if found.is_known(request) {
        return (StatusCode::NOT_MODIFIED, headers, None);
    }
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let all = Part {
        from: 0,
        length: found.length,
    };
    match found.range(request) {
        Range::All => (StatusCode::OK, headers, Some(all)),
        Range::One(part) => {
            let last = part.from + part.length - 1;
            let range = format!("bytes {}-{last}/{}", part.from, found.length);
            headers.extend(HeaderValue::try_from(range).map(|range| (CONTENT_RANGE, range)));
            (StatusCode::PARTIAL_CONTENT, headers, Some(part))
        }
        Range::Outside => {
            let range = format!("bytes */{}", found.length);
            headers.extend(HeaderValue::try_from(range).map(|range| (CONTENT_RANGE, range)));
            (StatusCode::RANGE_NOT_SATISFIABLE, headers, None)
        }
    }
}

/// The type of a file.
pub(super) fn kind(path: &Path) -> &'static str {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let known = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending));
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

// === impl Found ===

impl Found {
    /// Tells this state of the file from others.
    fn tag(&self) -> Option<HeaderValue> {
        let since = self.modified?.duration_since(UNIX_EPOCH).unwrap_or_default();
        HeaderValue::try_from(format!("\"{:x}-{:x}\"", since.as_nanos(), self.length)).ok()
    }

    fn date(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(httpdate::fmt_http_date(self.seconds()?)).ok()
    }

    /// When it was changed, to the second.
    fn seconds(&self) -> Option<SystemTime> {
        let since = self.modified?.duration_since(UNIX_EPOCH).ok()?;
        // Dates have four digits for the year.
        (since.as_secs() < 253_402_300_800).then(|| UNIX_EPOCH + Duration::from_secs(since.as_secs()))
    }

    /// Whether the client wants it in this state.
    fn may_be_given(&self, request: &HeaderMap) -> bool {
        if request.contains_key(IF_MATCH) {
            return self
                .tag()
                .is_some_and(|tag| lists(request, &IF_MATCH, &tag, false));
        }
        match (date(request, &IF_UNMODIFIED_SINCE), self.seconds()) {
            (Some(since), Some(changed)) => changed <= since,
            _ => true,
        }
    }

    /// Whether the client has it.
    fn is_known(&self, request: &HeaderMap) -> bool {
        if request.contains_key(IF_NONE_MATCH) {
            return self
                .tag()
                .is_some_and(|tag| lists(request, &IF_NONE_MATCH, &tag, true));
        }
        match (date(request, &IF_MODIFIED_SINCE), self.seconds()) {
            (Some(since), Some(changed)) => changed <= since,
            _ => false,
        }
    }

    /// What is wanted of it. Several ranges, and what is none, are taken for all of it.
    fn range(&self, request: &HeaderMap) -> Range {
        if let Some(condition) = request.get(IF_RANGE) {
            let is_same = self.tag().as_ref() == Some(condition) || self.date().as_ref() == Some(condition);
            if !is_same {
                return Range::All;
            }
        }
        let mut ranges = request.get_all(RANGE).iter();
        let range = ranges.next().and_then(|range| range.to_str().ok());
        if ranges.next().is_some() {
            return Range::All;
        }
        range
            .and_then(|range| parse(range, self.length))
            .unwrap_or(Range::All)
    }
}

/// Whether a list of entity tags has one. Weak ones are as good as strong ones if `weakly`.
fn lists(request: &HeaderMap, name: &HeaderName, tag: &HeaderValue, weakly: bool) -> bool {
    let values = request.get_all(name).iter();
    let mut tags = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    tags.any(|listed| {
        let listed = listed.trim_ascii();
        let strong = listed.strip_prefix(b"W/").filter(|_| weakly).unwrap_or(listed);
        listed == b"*" || strong == tag.as_bytes()
    })
}

fn date(request: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(request.get(name)?.to_str().ok()?).ok()
}

/// Such as `bytes=0-99`, `bytes=100-` and `bytes=-100`.
fn parse(range: &str, length: u64) -> Option<Range> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (first, last) = match (first, last) {
        ("", last) => (length.saturating_sub(number(last)?), u64::MAX),
        (first, "") => (number(first)?, u64::MAX),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            (first, last)
        }
    };
    if first >= length {
        return Some(Range::Outside);
    }
    let end = last.saturating_add(1).min(length);
    Some(Range::One(Part {
        from: first,
        length: end - first,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        let one = |from, length| Some(Range::One(Part { from, length }));
        for (range, expected) in [
            ("bytes=0-0", one(0, 1)),
            ("bytes=2-4", one(2, 3)),
            ("bytes=7-", one(7, 3)),
            ("bytes=-3", one(7, 3)),
            ("bytes=-30", one(0, 10)),
            ("bytes=0-99999999999999999999999", one(0, 10)),
            ("bytes=10-", Some(Range::Outside)),
            ("bytes=-0", Some(Range::Outside)),
            ("bytes=4-2", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("bytes=0-1,3-4", None),
            ("lines=0-1", None),
        ] {
            assert_eq!(parse(range, 10), expected, "{range}");
        }
        assert_eq!(parse("bytes=-1", 0), Some(Range::Outside));
    }

    #[test]
    fn types_go_by_the_endings_of_names() {
        assert!(KINDS.is_sorted());
        assert_eq!(kind(Path::new("a/b.HTML")), "text/html; charset=utf-8");
        assert_eq!(kind(Path::new("a.tar.zip")), "application/zip");
        assert_eq!(kind(Path::new("a.b/c")), "application/octet-stream");
    }
}
