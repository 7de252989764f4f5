//! Routes as JSON, as programs exchange them.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use crate::{
    ast::{Arg, Backend, Balanced, Call, Endpoint, Name, Route},
    place::Place,
    print::EVERY_INTEGER,
};

/// A text that is no JSON form of routes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// It is no JSON, or has other fields than routes have. The message says where.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// A route means nothing.
    #[error("route {}: {reason}", .index.saturating_add(1))]
    Route {
        /// Its place in the list, from 0. The message counts from 1.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Prints routes as a JSON array on one line: what is empty is left out, predicates are sorted by name, and `<`, `>`
/// and `&` are printed as they are.
///
/// ```
/// let routes = eskip::parse("r: Path(\"/\") && Method(\"GET\") -> status(204) -> <shunt>")?;
/// let json = eskip::to_json(&routes);
/// assert_eq!(
///     json,
///     r#"[{"id":"r","backend":{"type":"shunt"},"predicates":[{"name":"Method","args":["GET"]},"#.to_owned()
///         + r#"{"name":"Path","args":["/"]}],"filters":[{"name":"status","args":[204]}]}]"#
/// );
/// assert!(eskip::are_equivalent(&eskip::from_json(&json)?, &routes));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn to_json(routes: &[Route]) -> String {
    // Only maps with keys that are no strings, and values that refuse, cannot be printed.
    serde_json::to_string(routes).unwrap_or_default()
}

/// As [`to_json`], over several lines.
#[must_use]
pub fn to_json_pretty(routes: &[Route]) -> String {
    serde_json::to_string_pretty(routes).unwrap_or_default()
}

/// Reads what [`to_json`] prints: an array of routes, or one route. A backend without a type is a server; names and
/// predicates are checked as [`parse`](crate::parse) does.
///
/// # Errors
///
/// The first thing that is wrong. That may be a field that is not known.
pub fn from_json(text: &str) -> Result<Vec<Route>, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let routes: Vec<RouteIn> = if text.trim_start().starts_with('{') {
        vec![serde_json::from_str(text)?]
    } else {
        serde_json::from_str(text)?
    };
    let routes = routes.into_iter().enumerate();
    routes
        .map(|(index, route)| checked(route).map_err(|reason| JsonError::Route { index, reason }))
        .collect()
}

// === impl JsonError ===

impl JsonError {
    /// The mistake for whoever wrote `text`: with file, line and column and its line with a mark, as far as they are
    /// known.
    ///
    /// ```
    /// let text = "[\n  {\"id\": 1}\n]";
    /// let error = eskip::from_json(text).unwrap_err();
    /// assert_eq!(
    ///     error.report("routes.json", text),
    ///     "routes.json:2:10: invalid type: integer `1`, expected a string\n  2 |   {\"id\": 1}\n    |          ^"
    /// );
    /// ```
    #[must_use]
    pub fn report(&self, file: &str, text: &str) -> String {
        let Self::Syntax(error) = self else {
            return format!("{file}: {self}");
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let start = before.map(str::len).sum::<usize>();
        let mut at = start
            .saturating_add(error.column())
            .saturating_sub(1)
            .min(text.len());
        while !text.is_char_boundary(at) {
            at = at.saturating_sub(1);
        }
        let place = Place::of(text, at..at);
        let said = error.to_string();
        let message = said
            .rsplit_once(" at line ")
            .map_or(said.as_str(), |(message, _)| message);
        format!("{file}:{}:{}: {message}\n{place}", place.line(), place.column())
    }
}

#[derive(Serialize)]
struct RouteOut<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<BackendOut<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    predicates: Vec<CallOut<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<CallOut<'r>>,
}

#[derive(Default, Serialize)]
struct BackendOut<'r> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    endpoints: Vec<String>,
}

#[derive(Serialize)]
struct CallOut<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "<[Arg]>::is_empty")]
    args: &'r [Arg],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteIn {
    #[serde(default)]
    id: String,
    backend: Option<BackendIn>,
    predicates: Option<Vec<CallIn>>,
    filters: Option<Vec<CallIn>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BackendIn {
    r#type: String,
    address: String,
    algorithm: String,
    endpoints: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallIn {
    name: String,
    args: Option<Vec<Arg>>,
}

// === impl Serialize ===

impl Serialize for Route {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut predicates: Vec<CallOut<'_>> = self.predicates.iter().map(call_out).collect();
        predicates.sort_by_key(|call| call.name);
        let route = RouteOut {
            id: self.id.as_deref(),
            backend: backend_out(&self.backend),
            predicates,
            filters: self.filters.iter().map(call_out).collect(),
        };
        route.serialize(serializer)
    }
}

impl Serialize for Arg {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => match whole(*number) {
                Some(whole) => serializer.serialize_i64(whole),
                None => serializer.serialize_f64(*number),
            },
        }
    }
}

/// A number that is printed without a point: one that a 64-bit floating-point number cannot miss.
fn whole(number: f64) -> Option<i64> {
    let exact = number.fract() == 0.0 && number.abs() <= EVERY_INTEGER;
    exact.then(|| number.to_string().parse().ok()).flatten()
}

fn call_out(call: &Call) -> CallOut<'_> {
    CallOut {
        name: &call.name,
        args: &call.args,
    }
}

fn backend_out(backend: &Backend) -> Option<BackendOut<'_>> {
    let of_type = |r#type| BackendOut {
        r#type,
        ..BackendOut::default()
    };
    Some(match backend {
        Backend::Network(address) if address.is_empty() => return None,
        Backend::Network(address) => BackendOut {
            address: Some(address),
            ..of_type("network")
        },
        Backend::Shunt => of_type("shunt"),
        Backend::Loopback => of_type("loopback"),
        Backend::Dynamic => of_type("dynamic"),
        Backend::Forward => of_type("forward"),
        Backend::Balanced(balanced) => BackendOut {
            algorithm: balanced.algorithm.as_deref(),
            endpoints: balanced.endpoints.iter().map(Endpoint::to_string).collect(),
            ..of_type("lb")
        },
    })
}

// === impl Deserialize ===

impl<'de> Deserialize<'de> for Arg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgVisitor)
    }
}

struct ArgVisitor;

impl Visitor<'_> for ArgVisitor {
    type Value = Arg;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a string")
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Arg, E> {
        Ok(Arg::Number(number))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of the language have 64-bit floating point"
    )]
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Arg, E> {
        Ok(Arg::Number(number as f64))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of the language have 64-bit floating point"
    )]
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Arg, E> {
        Ok(Arg::Number(number as f64))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Arg, E> {
        Ok(Arg::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Arg, E> {
        Ok(Arg::Text(text))
    }
}

fn checked(route: RouteIn) -> Result<Route, String> {
    let RouteIn {
        id,
        backend,
        predicates,
        filters,
    } = route;
    let mut predicates = calls_in(predicates)?;
    predicates.retain(|call| call.name != "Any");
    let route = Route {
        id: optional(&id)?,
        predicates,
        filters: calls_in(filters)?,
        backend: backend_in(backend.unwrap_or_default())?,
    };
    route.check().map_err(|error| error.to_string())?;
    Ok(route)
}

fn optional(name: &str) -> Result<Option<Name>, String> {
    if name.is_empty() {
        return Ok(None);
    }
    Name::new(name).map(Some).map_err(|error| error.to_string())
}

fn calls_in(calls: Option<Vec<CallIn>>) -> Result<Vec<Call>, String> {
    let mut read = Vec::new();
    for CallIn { name, args } in calls.unwrap_or_default() {
        // The sign for every request, as Skipper also takes it.
        if name == "*" {
            continue;
        }
        read.push(Call {
            name: Name::new(&name).map_err(|error| error.to_string())?,
            args: args.unwrap_or_default(),
        });
    }
    Ok(read)
}

fn backend_in(backend: BackendIn) -> Result<Backend, String> {
    let BackendIn {
        r#type,
        address,
        algorithm,
        endpoints,
    } = backend;
    let network = matches!(r#type.as_str(), "" | "network");
    let balanced = r#type == "lb";
    if !network && !address.is_empty() {
        return Err(format!("a backend of type {type:?} has no address"));
    }
    let of_balanced = !algorithm.is_empty() || !endpoints.is_empty();
    if of_balanced && !balanced {
        return Err(format!(
            "a backend of type {type:?} has neither an algorithm nor endpoints"
        ));
    }
    Ok(match r#type.as_str() {
        "" | "network" => Backend::Network(address),
        "shunt" => Backend::Shunt,
        "loopback" => Backend::Loopback,
        "dynamic" => Backend::Dynamic,
        "forward" => Backend::Forward,
        "lb" => Backend::Balanced(Balanced {
            algorithm: optional(&algorithm)?,
            endpoints: endpoints
                .iter()
                .map(|endpoint| {
                    endpoint
                        .parse()
                        .map_err(|error: crate::EndpointError| error.to_string())
                })
                .collect::<Result<_, _>>()?,
        }),
        other => return Err(format!("unsupported backend type: {other}")),
    })
}
