//! Rules about single values of the reverse proxy.

use super::ValueError;
use crate::model::{ActiveChecks, HostPort};

/// How many upstreams one of which is taken.
pub(crate) fn choose(choose: u32) -> Result<u32, &'static str> {
    if choose >= 2 {
        Ok(choose)
    } else {
        Err("fewer than two leave no choice")
    }
}

/// The most requests in flight at one upstream, in percent of the average.
pub(crate) fn bound(percent: u32) -> Result<u32, &'static str> {
    if percent >= 100 {
        Ok(percent)
    } else {
        Err("expected a percentage of at least 100")
    }
}

/// A part of the upstreams.
pub(crate) fn percent(percent: u32) -> Result<u32, &'static str> {
    if percent <= 100 {
        Ok(percent)
    } else {
        Err("expected a percentage from 0 to 100")
    }
}

/// The weights of upstreams: some of them must be above zero.
pub(crate) fn weights(weights: &[u32]) -> Result<(), &'static str> {
    if weights.iter().any(|weight| *weight > 0) {
        Ok(())
    } else {
        Err("no weight is above zero, so no upstream could be chosen")
    }
}

/// The name of a cookie: a word of HTTP.
pub(crate) fn cookie_name(name: &str) -> Result<(), &'static str> {
    super::field_name(name).map_err(|_| "this is not the name of a cookie")
}

/// A number of which none makes no sense.
pub(crate) fn at_least_one(number: u64) -> Result<u32, &'static str> {
    match u32::try_from(number) {
        Ok(0) | Err(_) => Err("expected a whole number from 1 to 4294967295"),
        Ok(number) => Ok(number),
    }
}

/// The requests that a circuit breaker looks back on: at least as many as may fail, at most as many as are remembered.
pub(crate) fn breaker_window(failures: u32, window: u32) -> Result<u32, &'static str> {
    if window < failures {
        Err("fewer requests than failures: it would never open")
    } else if window > 65_536 {
        Err("expected at most 65536")
    } else {
        Ok(window)
    }
}

/// Where health is asked for: a host and a port, either of which may be a placeholder.
pub(crate) fn health_upstream(text: &str) -> Result<(), &'static str> {
    let filled_in = super::no_placeholder(text).is_err() && text.contains(':');
    if filled_in || text.parse::<HostPort>().is_ok_and(|address| address.port() != 0) {
        Ok(())
    } else {
        Err("expected host:port")
    }
}

/// A field value of a check, which may name the upstream that is checked.
pub(crate) fn health_value(text: &str) -> Result<(), ValueError> {
    // As long as before, so that errors have their places.
    let named = "x".repeat(ActiveChecks::TARGET.len());
    super::field_value(&text.replace(ActiveChecks::TARGET, &named))
}

/// Whether a number is a status, or the digit of a class.
pub(crate) const fn is_status_or_class(number: u16) -> bool {
    matches!(number, 1..=5 | 100..=999)
}

/// A port, as text.
pub(crate) fn port_text(text: &str) -> Result<(), &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|port| digits && *port != 0);
    port.map(drop).ok_or("expected a port from 1 to 65535")
}

/// The address of another proxy.
pub(crate) fn proxy_url(url: &str) -> Result<(), &'static str> {
    let known = ["http://", "https://", "socks5://", "socks5h://"];
    if known.iter().any(|scheme| url.starts_with(scheme)) || super::no_placeholder(url).is_err() {
        Ok(())
    } else {
        Err("expected a URL such as http://proxy:3128")
    }
}
