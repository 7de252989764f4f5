//! Which route a request is for.

mod arguments;
mod paths;
mod predicates;
mod table;

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use eskip::routing::{Asked, Clock, Dice, InvalidRoute, Predicates, RouteTable, TableOptions};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// A request to be built up.
struct Request {
    method: Method,
    host: &'static str,
    target: &'static str,
    headers: HeaderMap,
    peer: Option<IpAddr>,
    length: Option<u64>,
    stopping: bool,
    tee: Option<&'static str>,
    chance: f64,
    dice: f64,
    time: SystemTime,
}

impl Request {
    fn get(target: &'static str) -> Self {
        Self {
            method: Method::GET,
            host: "www.example.org",
            target,
            headers: HeaderMap::new(),
            peer: "192.0.2.1".parse().ok(),
            length: None,
            stopping: false,
            tee: None,
            chance: 0.0,
            dice: 0.0,
            time: SystemTime::UNIX_EPOCH,
        }
    }

    fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers
            .append(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    fn host(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    fn at(self, seconds: u64) -> Self {
        Self {
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            ..self
        }
    }

    fn asked<R>(&self, ask: impl FnOnce(&Asked<'_>) -> R) -> R {
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        ask(&Asked {
            host: self.host,
            path,
            query,
            peer: self.peer,
            content_length: self.length,
            is_shutting_down: self.stopping,
            tee: self.tee,
            chance: self.chance,
            clock: Clock(&|| self.time),
            dice: Dice(&|| self.dice),
            ..Asked::new(&self.method, &self.headers)
        })
    }

    /// The id of its route.
    fn route(&self, table: &RouteTable<()>) -> String {
        self.asked(|asked| {
            table
                .find(asked)
                .map_or_else(|| "none".to_owned(), |found| found.id().to_owned())
        })
    }
}

fn built(text: &str) -> (RouteTable<()>, Vec<InvalidRoute>) {
    built_with(text, TableOptions::default())
}

fn built_with(text: &str, options: TableOptions) -> (RouteTable<()>, Vec<InvalidRoute>) {
    let routes = eskip::parse(text).unwrap_or_else(|errors| panic!("{}", errors.report(text)));
    RouteTable::build(
        routes.iter().map(|route| (route, ())),
        &Predicates::default(),
        options,
    )
}

/// A table whose routes are all valid.
#[track_caller]
fn table(text: &str) -> RouteTable<()> {
    let (table, invalid) = built(text);
    assert_eq!(invalid, [], "{text}");
    table
}
