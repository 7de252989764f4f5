//! What must hold for a request to be a route's.

pub(crate) mod baggage;
pub(crate) mod claims;
mod client;
mod fields;
mod forwarded;
mod host;
mod simple;
mod time;
mod traffic;

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::tz::TimeZone;

use super::Asked;
use crate::{Arg, Call};

/// Something that holds for a request or does not.
pub trait Predicate: fmt::Debug + Send + Sync {
    /// Whether it holds.
    fn holds(&self, asked: &Asked<'_>) -> bool;

    /// The hosts that it can hold for, if they are few, each in lower case without port and trailing dot: a table finds
    /// the route by them then.
    fn hosts(&self) -> Option<Vec<String>> {
        None
    }
}

/// A kind of predicate.
pub trait PredicateSpec: Send + Sync {
    /// Its name in routes.
    fn name(&self) -> &'static str;

    /// A predicate with these arguments.
    ///
    /// # Errors
    ///
    /// Arguments that say nothing.
    fn create(&self, args: &[Arg]) -> Result<Box<dyn Predicate>, ArgsError>;

    /// What the manual says of it.
    fn about(&self) -> About {
        About::default()
    }
}

/// What a manual says of a predicate or of a filter.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct About {
    /// When it holds, or what it does, in a few words.
    pub does: &'static str,
    /// A call that is valid.
    pub example: &'static str,
}

/// Why arguments are refused: a sentence without a full stop, such as `expected one method`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgsError(pub String);

/// The kinds of predicates that routes may name.
///
/// `Default` has all of [`Predicates::NAMES`], with UTC for `Cron`.
#[derive(Clone)]
pub struct Predicates {
    specs: BTreeMap<&'static str, Arc<dyn PredicateSpec>>,
}

/// Makes a predicate of a function.
struct Spec<F>(&'static str, About, F);

/// What tables know by themselves: name, when it holds, example.
const OF_TABLES: &[(&str, &str, &str)] = &[
    ("*", "always; a route without predicates is written so", "*"),
    ("Any", "deprecated: always, as `*`", "Any()"),
    (
        "Path",
        "the path is this one; `:name` is any segment, `*name` at the end any rest",
        r#"Path("/users/:id")"#,
    ),
    (
        "PathSubtree",
        "the path is this one or below it",
        r#"PathSubtree("/api")"#,
    ),
    (
        "Weight",
        "always; of routes with the same path the one of greater weight comes first",
        "Weight(10)",
    ),
];

// === impl Predicates ===

impl Predicates {
    /// The predicates that are there by themselves, beside `*`, `Any`, `Path`, `PathSubtree` and `Weight`, which tables
    /// know.
    pub const NAMES: &[&str] = &[
        "After",
        "Before",
        "Between",
        "ClientIP",
        "ContentLengthBetween",
        "Cookie",
        "Cron",
        "False",
        "ForwardedHost",
        "ForwardedProtocol",
        "Header",
        "HeaderRegexp",
        "HeaderSHA256",
        "Host",
        "HostAny",
        "JWTPayloadAllKV",
        "JWTPayloadAllKVRegexp",
        "JWTPayloadAnyKV",
        "JWTPayloadAnyKVRegexp",
        "Method",
        "Methods",
        "OTelBaggage",
        "PathRegexp",
        "QueryParam",
        "Shutdown",
        "Source",
        "SourceFromLast",
        "Tee",
        "Traffic",
        "TrafficSegment",
        "True",
    ];

    /// All of [`Predicates::NAMES`]. `Cron` tells the time as in `zone`.
    pub fn new(zone: TimeZone) -> Self {
        let mut all = Self {
            specs: BTreeMap::new(),
        };
        simple::add(&mut all);
        host::add(&mut all);
        fields::add(&mut all);
        client::add(&mut all);
        time::add(&mut all, zone);
        traffic::add(&mut all);
        forwarded::add(&mut all);
        claims::add(&mut all);
        baggage::add(&mut all);
        all
    }

    /// Adds a kind, in place of one that had its name.
    pub fn register(&mut self, spec: impl PredicateSpec + 'static) {
        self.specs.insert(spec.name(), Arc::new(spec));
    }

    /// The names of all kinds, in their order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.specs.keys().copied()
    }

    /// What the manual says of each kind, and of what tables know by themselves, by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, About)> {
        let of_tables = OF_TABLES
            .iter()
            .map(|(name, does, example)| (*name, About { does, example }));
        let others = self.specs.iter().map(|(name, spec)| (*name, spec.about()));
        let all: BTreeMap<_, _> = of_tables.chain(others).collect();
        all.into_iter()
    }

    /// The predicate of a call; `None` if there is no such kind.
    pub(crate) fn create(&self, call: &Call) -> Option<Result<Box<dyn Predicate>, ArgsError>> {
        Some(self.specs.get(call.name.as_str())?.create(&call.args))
    }

    /// Adds a kind by a function that makes one, with what the manual says of it.
    fn add<P: Predicate + 'static>(
        &mut self,
        name: &'static str,
        (does, example): (&'static str, &'static str),
        create: impl Fn(&[Arg]) -> Result<P, ArgsError> + Send + Sync + 'static,
    ) {
        self.register(Spec(
            name,
            About { does, example },
            move |args: &[Arg]| -> Result<Box<dyn Predicate>, ArgsError> { Ok(Box::new(create(args)?)) },
        ));
    }
}

impl Default for Predicates {
    fn default() -> Self {
        Self::new(TimeZone::UTC)
    }
}

impl fmt::Debug for Predicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl<F> PredicateSpec for Spec<F>
where
    F: Fn(&[Arg]) -> Result<Box<dyn Predicate>, ArgsError> + Send + Sync,
{
    fn name(&self) -> &'static str {
        self.0
    }

    fn create(&self, args: &[Arg]) -> Result<Box<dyn Predicate>, ArgsError> {
        self.2(args)
    }

    fn about(&self) -> About {
        self.1
    }
}

// === arguments ===

/// Other arguments were expected.
fn wanted<T>(what: &str) -> Result<T, ArgsError> {
    Err(expected(what))
}

fn expected(what: &str) -> ArgsError {
    ArgsError(format!("expected {what}"))
}

/// Exactly `N` texts.
fn texts<'a, const N: usize>(args: &'a [Arg], what: &str) -> Result<[&'a str; N], ArgsError> {
    let all = all_texts(args, what)?;
    all.try_into().or_else(|_| wanted(what))
}

/// Any number of texts.
fn all_texts<'a>(args: &'a [Arg], what: &str) -> Result<Vec<&'a str>, ArgsError> {
    let texts: Option<Vec<&str>> = args.iter().map(Arg::as_text).collect();
    texts.map_or_else(|| wanted(what), Ok)
}

/// One text or more.
fn some_texts<'a>(args: &'a [Arg], what: &str) -> Result<Vec<&'a str>, ArgsError> {
    let all = all_texts(args, what)?;
    if all.is_empty() { wanted(what) } else { Ok(all) }
}

/// Regular expressions that take more memory than this are refused.
const MOST_REGEXP: usize = 1 << 20;

fn regexp(text: &str) -> Result<regex::Regex, ArgsError> {
    let built = regex::RegexBuilder::new(text).size_limit(MOST_REGEXP).build();
    built.map_err(|error| ArgsError(format!("not a regular expression: {error}")))
}

fn field_name(text: &str) -> Result<http::HeaderName, ArgsError> {
    text.parse()
        .map_err(|_| ArgsError(format!("{text:?} is no name of a header field")))
}
