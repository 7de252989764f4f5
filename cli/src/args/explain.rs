//! `doorway explain` as the user types it.

use std::net::IpAddr;

use clap::Args;
use http::header::{HeaderName, HeaderValue};
use http::{Method, Uri};

use super::ConfigArgs;

/// `doorway explain`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The request's method
    #[arg(value_name = "METHOD")]
    pub(crate) method: Method,
    /// An absolute URL: its scheme and port choose the listener, its host the site
    #[arg(value_name = "URL")]
    pub(crate) url: Uri,
    /// A field of the request. May be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The address that the request comes from
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) from: IpAddr,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  doorway explain GET https://example.com/api/users?page=2
  doorway explain POST http://localhost:8080/ -H 'Content-Type: text/plain' --from 192.0.2.7
  doorway explain --json GET https://example.com/ | jq .outcome
Nothing is sent. Where routes decide about an upstream's answer, a plain 200 is assumed.";

pub(super) fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("write `NAME: VALUE`, such as 'Accept: text/html'")?;
    let name = name
        .trim()
        .parse()
        .map_err(|_| format!("`{name}` is no name of a field"))?;
    let value = value
        .trim()
        .parse()
        .map_err(|_| "the value holds characters that no field may hold")?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_name_and_a_value() {
        let (name, value) = parse_header("X-A:  b: c ").unwrap();
        assert_eq!((name.as_str(), value.as_bytes()), ("x-a", &b"b: c"[..]));
        for wrong in ["X-A", "X A: b", ": b", "X-A: b\nc"] {
            assert!(parse_header(wrong).is_err(), "{wrong}");
        }
    }
}
