//! Routes -> text.

use std::{
    collections::HashSet,
    fmt::{self, Write as _},
};

use crate::ast::{Arg, Backend, Balanced, Call, Endpoint, Route};

/// How routes are laid out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Layout<'a> {
    /// One route a line.
    #[default]
    Plain,
    /// Each filter, and the backend, on a line of its own behind this indent, which should be blanks; an empty line
    /// between routes.
    Pretty(&'a str),
}

// === impl Layout ===

impl Layout<'_> {
    /// With two blanks, as is usual.
    pub const PRETTY: Self = Self::Pretty("  ");
}

/// Prints a document that [`parse`](crate::parse) reads as the same routes, up to the order of predicates. It ends
/// without a line feed.
///
/// The predicates that every parser knows come first: `Path`, `Host`, `PathRegexp`, `Method`, then `Header` and
/// `HeaderRegexp`, sorted; then the others as they came. One route without an id is printed as it is, without a `;`.
/// Among several routes, those without an id get one: `route1`, `route2` and so on, as far as these are free.
///
/// ```
/// use eskip::{Layout, parse, print};
///
/// let routes = parse("r: Cookie(`a`, /b/) && Path(\"/\") -> status(204) -> <shunt>")?;
/// assert_eq!(print(&routes, Layout::Plain), r#"r: Path("/") && Cookie("a", "b") -> status(204) -> <shunt>;"#);
/// assert_eq!(
///     print(&routes, Layout::PRETTY),
///     "r: Path(\"/\") && Cookie(\"a\", \"b\")\n  -> status(204)\n  -> <shunt>;"
/// );
/// # Ok::<(), eskip::ParseErrors>(())
/// ```
#[must_use]
pub fn print(routes: &[Route], layout: Layout<'_>) -> String {
    let mut out = String::new();
    if let [Route { id: None, .. }] = routes {
        routes
            .iter()
            .for_each(|route| expression(&mut out, route, layout));
        return out;
    }
    let between = if layout == Layout::Plain { "\n" } else { "\n\n" };
    let mut free = FreeIds::new(routes);
    for (index, route) in routes.iter().enumerate() {
        if index > 0 {
            out.push_str(between);
        }
        match &route.id {
            Some(id) => out.push_str(id),
            None => out.push_str(&free.next()),
        }
        out.push_str(": ");
        expression(&mut out, route, layout);
        out.push(';');
    }
    out
}

/// Ids for routes that have none.
struct FreeIds<'r> {
    taken: HashSet<&'r str>,
    last: usize,
}

// === impl FreeIds ===

impl<'r> FreeIds<'r> {
    fn new(routes: &'r [Route]) -> Self {
        let unnamed = routes.iter().any(|route| route.id.is_none());
        let ids = routes.iter().filter_map(|route| route.id.as_deref());
        let taken = if unnamed { ids.collect() } else { HashSet::new() };
        Self { taken, last: 0 }
    }

    fn next(&mut self) -> String {
        loop {
            self.last = self.last.saturating_add(1);
            let id = format!("route{}", self.last);
            if !self.taken.contains(id.as_str()) {
                return id;
            }
        }
    }
}

// === impl Display ===

/// The route on one line, without its id.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        expression(&mut out, self, Layout::Plain);
        f.write_str(&out)
    }
}

/// With every string in double quotes.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        call(&mut out, self);
        f.write_str(&out)
    }
}

/// As it stands in a route.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        backend(&mut out, self);
        f.write_str(&out)
    }
}

fn expression(out: &mut String, route: &Route, layout: Layout<'_>) {
    predicates(out, &route.predicates);
    for filter in &route.filters {
        arrow(out, layout);
        call(out, filter);
    }
    arrow(out, layout);
    backend(out, &route.backend);
}

fn arrow(out: &mut String, layout: Layout<'_>) {
    match layout {
        Layout::Plain => out.push_str(" -> "),
        Layout::Pretty(indent) => {
            out.push('\n');
            out.push_str(indent);
            out.push_str("-> ");
        }
    }
}

/// The names that come first, how many strings they have, and whether they are sorted.
const FIRST: [(&str, usize, bool); 6] = [
    ("Path", 1, false),
    ("Host", 1, false),
    ("PathRegexp", 1, false),
    ("Method", 1, false),
    ("Header", 2, true),
    ("HeaderRegexp", 2, true),
];

fn predicates(out: &mut String, calls: &[Call]) {
    let known = |call: &&Call, (name, count, _): &(&str, usize, bool)| {
        call.name == *name && call.args.len() == *count
    };
    let mut printed: Vec<String> = Vec::with_capacity(calls.len());
    for first in FIRST {
        let from = printed.len();
        printed.extend(calls.iter().filter(|call| known(call, &first)).map(predicate));
        if first.2 {
            printed.get_mut(from..).unwrap_or_default().sort();
        }
    }
    let others = calls
        .iter()
        .filter(|call| !FIRST.iter().any(|first| known(call, first)));
    printed.extend(others.map(predicate));
    if printed.is_empty() {
        out.push('*');
    }
    out.push_str(&printed.join(" && "));
}

/// A predicate, with a regular expression as such where it is known to be one.
fn predicate(call: &Call) -> String {
    let mut out = String::new();
    match (call.name.as_str(), call.args.as_slice()) {
        ("Host" | "PathRegexp", [Arg::Text(regexp)]) => {
            out.push_str(&call.name);
            out.push('(');
            regular(&mut out, regexp);
            out.push(')');
        }
        ("HeaderRegexp", [Arg::Text(header), Arg::Text(regexp)]) => {
            out.push_str("HeaderRegexp(");
            string(&mut out, header);
            out.push_str(", ");
            regular(&mut out, regexp);
            out.push(')');
        }
        _ => self::call(&mut out, call),
    }
    out
}

fn call(out: &mut String, call: &Call) {
    out.push_str(&call.name);
    out.push('(');
    for (index, arg) in call.args.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        match arg {
            Arg::Number(number) => self::number(out, *number),
            Arg::Text(text) => string(out, text),
        }
    }
    out.push(')');
}

fn backend(out: &mut String, backend: &Backend) {
    match backend {
        Backend::Network(address) => string(out, address),
        Backend::Shunt => out.push_str("<shunt>"),
        Backend::Loopback => out.push_str("<loopback>"),
        Backend::Dynamic => out.push_str("<dynamic>"),
        Backend::Forward => out.push_str("<forward>"),
        Backend::Balanced(balanced) => self::balanced(out, balanced),
    }
}

fn balanced(out: &mut String, balanced: &Balanced) {
    out.push('<');
    if let Some(algorithm) = &balanced.algorithm {
        out.push_str(algorithm);
        out.push_str(", ");
    }
    for (index, endpoint) in balanced.endpoints.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        string(out, &Endpoint::to_string(endpoint));
    }
    out.push('>');
}

/// Never with an exponent, which the language does not have; large numbers to the last digit.
fn number(out: &mut String, number: f64) {
    let written = if number.fract() == 0.0 && number.abs() > EVERY_INTEGER {
        write!(out, "{number:.0}")
    } else {
        write!(out, "{number}")
    };
    debug_assert!(written.is_ok(), "writing to a string");
}

/// Up to this, every integer is a number of its own.
pub(crate) const EVERY_INTEGER: f64 = 9_007_199_254_740_992.0;

/// In double quotes.
fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let Some(escape) = escape(byte) else {
            continue;
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        out.push_str(escape);
        plain = at.saturating_add(1);
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

const fn escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'\\' => "\\\\",
        b'"' => "\\\"",
        0x07 => "\\a",
        0x08 => "\\b",
        0x0c => "\\f",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x0b => "\\v",
        _ => return None,
    })
}

/// Between slashes, if it can be written so: a bracket that is never closed would hide the last slash, and a regular
/// expression has no escapes for what does not fit a line.
fn regular(out: &mut String, text: &str) {
    let fits = !text.is_empty() && !text.bytes().any(|byte| byte.is_ascii_control());
    let spellings = [every_backslash_doubled, backslashes_as_needed];
    let mut literals = spellings.iter().map(|spelling| spelling(text));
    match literals.find(|literal| fits && closes(literal)) {
        Some(literal) => {
            out.push('/');
            out.push_str(&literal);
            out.push('/');
        }
        None => string(out, text),
    }
}

/// As Skipper prints them.
fn every_backslash_doubled(text: &str) -> String {
    text.replace('\\', "\\\\").replace('/', "\\/")
}

/// For `\[`: with its backslash doubled, the bracket would count as one that opens a class.
fn backslashes_as_needed(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('/', _) => out.push_str("\\/"),
            ('\\', None | Some('\\' | '/')) => out.push_str("\\\\"),
            ('\\', Some(_)) => {
                out.push('\\');
                out.extend(chars.next());
            }
            (other, _) => out.push(other),
        }
    }
    out
}

/// Whether a slash behind `literal` would end it.
fn closes(literal: &str) -> bool {
    let mut in_class = false;
    let mut bytes = literal.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'[' => in_class = true,
            b']' => in_class = false,
            _ => {}
        }
    }
    !in_class
}
