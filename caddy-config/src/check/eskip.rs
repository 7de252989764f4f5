//! Rules about routes in Skipper's language, and what stands beside them.

use std::time::Duration;

use serde_json::Number;

/// A time that is not zero.
pub(crate) fn not_zero(duration: Duration) -> Result<Duration, &'static str> {
    if duration.is_zero() {
        Err("expected more than zero")
    } else {
        Ok(duration)
    }
}

/// The regular expression of `/regular expression/replacement/`, whatever character comes first.
pub(crate) fn edit(text: &str) -> Result<&str, &'static str> {
    const FORM: &str =
        "expected `/regular expression/replacement/`, with any character in place of the slash";
    let mut rest = text.chars();
    let separator = rest.next().ok_or(FORM)?;
    let mut parts = rest.as_str().split(separator);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(pattern), Some(_), Some(""), None) => Ok(pattern),
        _ => Err(FORM),
    }
}

/// How often requests may be looped back; zero is the default.
pub(crate) fn max_loopbacks(text: &str) -> Result<Option<i32>, &'static str> {
    match text.parse::<i32>() {
        Ok(0) => Ok(None),
        Ok(most) if most >= -1 => Ok(Some(most)),
        _ => Err("expected a whole number, or -1 for none"),
    }
}

/// The status of requests without a route.
pub(crate) fn default_status(text: &str) -> Result<u16, &'static str> {
    let status = text.parse().ok();
    status
        .filter(|status| (100..=511).contains(status))
        .ok_or("expected a status from 100 to 511")
}

/// A backend by its address: a scheme, a host, and a port if need be.
pub(crate) fn forward_backend(text: &str) -> Result<(), &'static str> {
    let rest = ["http://", "https://", "h2c://"]
        .into_iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match rest {
        Some(host) if eskip_host(host).is_ok() => Ok(()),
        _ => Err("expected an address such as http://10.0.0.1:9090"),
    }
}

/// The host of a backend, with its port if need be.
pub(crate) fn eskip_host(text: &str) -> Result<(), &'static str> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.contains(':') && super::host(host).is_ok(),
    };
    if is_host && port.is_none_or(|port| super::port_text(port).is_ok()) {
        Ok(())
    } else {
        Err("this is not a host, or a host and a port")
    }
}

/// The name of a filter.
pub(crate) fn filter_name(name: &str) -> Result<(), &'static str> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let digit_first = name.starts_with(|c: char| c.is_ascii_digit());
    if !name.is_empty() && !digit_first && name.bytes().all(is_name) {
        Ok(())
    } else {
        Err("this is not the name of a filter")
    }
}

/// The name of a source of routes.
pub(crate) fn routes_source(name: &str) -> Result<(), &'static str> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_name) {
        Ok(())
    } else {
        Err("this is not the name of a source: letters, digits, and `_`, `-`, `.`")
    }
}

/// What a probability is.
pub(crate) const PROBABILITY: &str = "expected a number from 0 to 1";

/// A probability, or a part of a whole.
pub(crate) fn probability(number: &Number) -> Result<(), &'static str> {
    let fits = |number: f64| (0.0..=1.0).contains(&number);
    if number.as_f64().is_some_and(fits) {
        Ok(())
    } else {
        Err(PROBABILITY)
    }
}

/// The least and the largest probability that a request is kept from an endpoint.
pub(crate) fn drop_probabilities(least: &Number, most: &Number) -> Result<(), &'static str> {
    if least.as_f64() <= most.as_f64() {
        Ok(())
    } else {
        Err("more than the maximum")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        default_status, edit, eskip_host, filter_name, forward_backend, max_loopbacks, routes_source,
    };

    #[test]
    fn an_edit_has_two_parts_between_any_character() {
        assert_eq!(edit("/Source[(](.*)[)]/ClientIP($1)/"), Ok("Source[(](.*)[)]"));
        assert_eq!(edit("#/a#/b#"), Ok("/a"));
        assert_eq!(edit("\u{e9}a\u{e9}\u{e9}"), Ok("a"));
        for text in ["", "/", "/a", "/a/", "/a/b", "/a/b/c", "/a/b/c/", "a"] {
            assert!(edit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loopbacks_are_counted_or_forbidden() {
        assert_eq!(max_loopbacks("0"), Ok(None));
        assert_eq!(max_loopbacks("12"), Ok(Some(12)));
        assert_eq!(max_loopbacks("-1"), Ok(Some(-1)));
        for text in ["", "-2", "1.5", "2147483648"] {
            assert!(max_loopbacks(text).is_err(), "{text}");
        }
    }

    #[test]
    fn statuses_of_no_route_are_those_of_http() {
        let taken = (0..=999).filter(|status| default_status(&status.to_string()).is_ok());
        assert!(taken.eq(100..=511));
    }

    #[test]
    fn hosts_and_backends_have_no_path() {
        for host in ["a", "a.test:8080", "10.0.0.1", "[::1]", "[::1]:80"] {
            assert!(eskip_host(host).is_ok(), "{host}");
            assert!(forward_backend(&format!("http://{host}")).is_ok(), "{host}");
        }
        for host in ["", ":80", "a:", "a:0", "a/b", "::1", "[a]:80", "a b"] {
            assert!(eskip_host(host).is_err(), "{host}");
        }
        for backend in ["a.test", "ftp://a.test", "http://", "https://a/b"] {
            assert!(forward_backend(backend).is_err(), "{backend}");
        }
    }

    #[test]
    fn filters_have_the_names_of_the_language() {
        assert!(filter_name("setPath").is_ok() && filter_name("_a1").is_ok());
        for name in ["", "1a", "a-b", "a()", "\u{e9}"] {
            assert!(filter_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn sources_have_plain_names() {
        assert!(routes_source("kube-1.routes_a").is_ok());
        for name in ["", "a b", "{env.A}", "a/b", "\u{e9}"] {
            assert!(routes_source(name).is_err(), "{name}");
        }
    }
}
