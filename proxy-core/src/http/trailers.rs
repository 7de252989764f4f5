//! Which fields may follow a body (RFC 9110, section 6.5).

use http::header::{self, HeaderMap, HeaderName};

/// Which way a body goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To an upstream, which may merge trailers into the fields that it trusts: only those go that are made to
    /// trail and mean nothing else.
    Up,
    /// To a client, for which the metadata of gRPC may have any name: all go but those that could change framing,
    /// credentials or how the content is read.
    Down,
}

/// Fields about the content that was just sent: checksums, signatures and times.
const UP: [&str; 8] = [
    "content-digest",
    "digest",
    "repr-digest",
    "server-timing",
    "signature",
    "signature-input",
    "upload-checksum",
    "x-amz-trailer-signature",
];

/// What such fields of an application or of a vendor begin with.
const UP_BEGINNINGS: [&str; 3] = ["grpc-", "x-amz-checksum-", "x-checksum-"];

const NOT_DOWN: [HeaderName; 27] = [
    header::AGE,
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::EXPECT,
    header::EXPIRES,
    header::HOST,
    header::LOCATION,
    header::MAX_FORWARDS,
    header::PRAGMA,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::RETRY_AFTER,
    header::SET_COOKIE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::VARY,
    header::WWW_AUTHENTICATE,
];

// === impl Way ===

impl Way {
    /// Removes the trailers that may not go this way.
    pub(crate) fn strip(self, trailers: &mut HeaderMap) {
        let forbidden: Vec<HeaderName> = trailers
            .keys()
            .filter(|name| !self.may_trail(name))
            .cloned()
            .collect();
        for name in forbidden {
            trailers.remove(name);
        }
    }

    fn may_trail(self, name: &HeaderName) -> bool {
        let text = name.as_str();
        match self {
            Self::Up => {
                let listed = UP.contains(&text);
                let vendors = UP_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
                // Applications that know fields as variables take either for a hyphen.
                (listed || vendors) && !text.contains(['_', '.'])
            }
            Self::Down => {
                let forwarding =
                    text == "forwarded" || text == "x-real-ip" || text.starts_with("x-forwarded-");
                let hop = text == "keep-alive" || text == "proxy-connection";
                !forwarding && !hop && !NOT_DOWN.contains(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(way: Way, names: &[&'static str]) -> Vec<String> {
        let mut trailers = HeaderMap::new();
        for name in names {
            trailers.insert(*name, http::HeaderValue::from_static("1"));
        }
        way.strip(&mut trailers);
        trailers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn what_could_change_framing_or_credentials_trails_in_no_direction() {
        let names = [
            "content-length",
            "host",
            "authorization",
            "x-forwarded-for",
            "keep-alive",
        ];
        for way in [Way::Up, Way::Down] {
            assert_eq!(left(way, &names), [""; 0], "{way:?}");
        }
    }

    #[test]
    fn only_what_is_made_to_trail_does_so_in_a_request() {
        let names = [
            "grpc-status",
            "x-amz-checksum-crc32",
            "x-checksum-sha256",
            "content-digest",
        ];
        assert_eq!(left(Way::Up, &names), names);
        let names = [
            "x-any",
            "x-checksums",
            "content_digest",
            "grpc-a_b",
            "grpc-a.b",
            "x_checksum-a",
        ];
        assert_eq!(left(Way::Up, &names), [""; 0]);
    }

    #[test]
    fn metadata_of_any_name_trails_in_an_answer() {
        let names = ["grpc-status", "my_metadata", "my.metadata-bin"];
        assert_eq!(left(Way::Down, &names), names);
    }
}
