//! `/eskip/routes`: the routes that run, as Skipper's `/routes` tells them.

use std::time::{SystemTime, UNIX_EPOCH};

use eskip::Layout;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Uri};
use serde_json::json;

use super::reply::Reply;
use crate::control::RouteListing;

/// How many routes are told at once, unless the request says otherwise.
const LIMIT: usize = 1024;

const COUNT: HeaderName = HeaderName::from_static("x-count");
const TIMESTAMP: HeaderName = HeaderName::from_static("x-timestamp");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    limit: usize,
    offset: usize,
    /// The table that an earlier page was of.
    timestamp: Option<u64>,
    invalid: bool,
    pretty: bool,
    json: bool,
}

/// The answer to a GET.
pub(super) fn routes(listing: &RouteListing, uri: &Uri, fields: &HeaderMap) -> Reply {
    let asked = match Asked::of(uri, fields) {
        Ok(asked) => asked,
        Err(what) => return Reply::error(StatusCode::BAD_REQUEST, &what),
    };
    let made = seconds(listing.made);
    if asked.timestamp.is_some_and(|wanted| wanted != made) {
        let error = "the routes have changed since the first page; begin again";
        return Reply::error(StatusCode::BAD_REQUEST, error);
    }
    let (count, reply) = if asked.invalid {
        (listing.invalid.len(), invalid(listing, &asked))
    } else {
        (listing.routes.len(), valid(listing, &asked))
    };
    reply.with(COUNT, count.into()).with(TIMESTAMP, made.into())
}

fn valid(listing: &RouteListing, asked: &Asked) -> Reply {
    let page = asked.page(&listing.routes);
    if asked.json {
        let text = if asked.pretty {
            eskip::to_json_pretty(page)
        } else {
            eskip::to_json(page)
        };
        return Reply::json(text + "\n");
    }
    let layout = if asked.pretty {
        Layout::PRETTY
    } else {
        Layout::Plain
    };
    let text = eskip::print(page, layout);
    Reply::of_type(TEXT, if text.is_empty() { text } else { text + "\n" })
}

fn invalid(listing: &RouteListing, asked: &Asked) -> Reply {
    let page = asked.page(&listing.invalid);
    let each = page.iter().map(|(id, error)| json!({"id": id, "error": error}));
    Reply::value(&each.collect())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

// === impl Asked ===

impl Asked {
    fn of(uri: &Uri, fields: &HeaderMap) -> Result<Self, String> {
        let accept = fields.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let mut asked = Self {
            limit: LIMIT,
            offset: 0,
            timestamp: None,
            invalid: false,
            pretty: true,
            json: accept.is_some_and(|accept| accept.contains("application/json")),
        };
        let pairs = uri.query().unwrap_or_default().split('&');
        for (key, value) in pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            let wrong = || format!("{key}: expected a number, not {value:?}");
            match key {
                "limit" => asked.limit = value.parse().map_err(|_| wrong())?,
                "offset" => asked.offset = value.parse().map_err(|_| wrong())?,
                "timestamp" => asked.timestamp = Some(value.parse().map_err(|_| wrong())?),
                "invalid" => asked.invalid = value == "true",
                "nopretty" => asked.pretty = false,
                _ => {}
            }
        }
        Ok(asked)
    }

    fn page<'l, T>(&self, list: &'l [T]) -> &'l [T] {
        let from = list.get(self.offset..).unwrap_or_default();
        from.get(..self.limit).unwrap_or(from)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ask(query: &str, accept: &str) -> (StatusCode, HeaderMap, String) {
        let listing = RouteListing {
            routes: eskip::parse(
                "a: * -> <shunt>; b: Path(\"/b\") -> status(404) -> <shunt>; c: * -> \"http://c\";",
            )
            .unwrap(),
            invalid: vec![(
                "d".to_owned(),
                "unknown_filter: filter \"x\" not found".to_owned(),
            )],
            made: UNIX_EPOCH + Duration::from_secs(7),
        };
        let mut fields = HeaderMap::new();
        fields.insert(header::ACCEPT, accept.parse().unwrap());
        let uri = format!("/eskip/routes{query}").parse().unwrap();
        let reply = routes(&listing, &uri, &fields);
        (
            reply.status,
            reply.fields,
            String::from_utf8(reply.body.to_vec()).unwrap(),
        )
    }

    #[test]
    fn routes_are_told_page_by_page() {
        let (status, fields, text) = ask("?limit=1&offset=1&timestamp=7&nopretty", "*/*");
        assert_eq!(
            (status.as_u16(), text.as_str()),
            (200, "b: Path(\"/b\") -> status(404) -> <shunt>;\n")
        );
        assert_eq!(
            (&fields[COUNT], &fields[TIMESTAMP]),
            (&HeaderValue::from(3), &HeaderValue::from(7))
        );
        assert_eq!(ask("?offset=9", "*/*").2, "");
        assert!(
            ask("", "*/*")
                .2
                .contains("b: Path(\"/b\")\n  -> status(404)\n  -> <shunt>;")
        );
    }

    #[test]
    fn routes_are_told_in_json_and_invalid_ones_with_what_is_wrong() {
        let (_, fields, text) = ask("?limit=1&nopretty", "application/json");
        assert_eq!(fields[header::CONTENT_TYPE], "application/json");
        assert_eq!(eskip::from_json(&text).unwrap().len(), 1);
        let (_, fields, text) = ask("?invalid=true", "*/*");
        assert_eq!(fields[COUNT], "1");
        assert_eq!(
            text,
            "[{\"error\":\"unknown_filter: filter \\\"x\\\" not found\",\"id\":\"d\"}]\n"
        );
    }

    #[test]
    fn a_page_of_other_routes_is_refused() {
        assert_eq!(ask("?timestamp=6", "*/*").0, StatusCode::BAD_REQUEST);
        assert_eq!(ask("?limit=x", "*/*").0, StatusCode::BAD_REQUEST);
    }
}
