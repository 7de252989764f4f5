//! What is known of a request when its route is looked for.

use std::{fmt, net::IpAddr, time::SystemTime};

use http::{HeaderMap, HeaderName, Method};

/// A request, as predicates see it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'r> {
    /// The method.
    pub method: &'r Method,
    /// The host as the client gave it, with its port.
    pub host: &'r str,
    /// The path as it came, percent-encoded, its dot segments resolved.
    pub path: &'r str,
    /// The query, without its `?`.
    pub query: &'r str,
    /// The header fields.
    pub headers: &'r HeaderMap,
    /// The address of who is connected; `None` if there is none, as with a unix socket.
    pub peer: Option<IpAddr>,
    /// The length of the body, if it is known.
    pub content_length: Option<u64>,
    /// Whether the process is told to stop.
    pub is_shutting_down: bool,
    /// The label under which the request was doubled, if it was.
    pub tee: Option<&'r str>,
    /// The number from 0 to below 1 that the whole request has, for `TrafficSegment`.
    pub chance: f64,
    /// Tells the time.
    pub clock: Clock<'r>,
    /// Makes random numbers, for `Traffic`.
    pub dice: Dice<'r>,
}

/// Tells the time, when it is asked.
#[derive(Clone, Copy)]
pub struct Clock<'r>(pub &'r dyn Fn() -> SystemTime);

/// Makes a random number from 0 to below 1.
#[derive(Clone, Copy)]
pub struct Dice<'r>(pub &'r dyn Fn() -> f64);

// === impl Asked ===

impl<'r> Asked<'r> {
    /// A request for `/` of nobody, in 1970, with a chance of 0.
    pub fn new(method: &'r Method, headers: &'r HeaderMap) -> Self {
        Self {
            method,
            host: "",
            path: "/",
            query: "",
            headers,
            peer: None,
            content_length: None,
            is_shutting_down: false,
            tee: None,
            chance: 0.0,
            clock: Clock(&|| SystemTime::UNIX_EPOCH),
            dice: Dice(&|| 0.0),
        }
    }

    /// The values of a field that are text.
    pub(crate) fn values(&self, name: &HeaderName) -> impl Iterator<Item = &'r str> + use<'r> {
        self.headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
    }

    /// The values of all cookies of that name, in their order.
    pub(crate) fn cookies<'s>(&self, name: &'s str) -> impl Iterator<Item = &'r str> + use<'r, 's> {
        let lines = self.values(&http::header::COOKIE);
        let pairs = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .filter(move |(given, _)| given.trim() == name)
            .map(|(_, value)| value.trim().trim_matches('"'))
    }
}

impl fmt::Debug for Clock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl fmt::Debug for Dice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dice")
    }
}
