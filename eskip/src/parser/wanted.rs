//! What is said about a word that does not fit.

use crate::token::Kind;

/// What would have been right instead of the current word.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) what: &'static str,
    /// Whether the text could end here.
    pub(super) end: bool,
}

pub(super) const ARROW: Wanted = wanted("`&&` or `->`");
pub(super) const ARROW_BEHIND_FILTER: Wanted = wanted("`->`");
pub(super) const ARGUMENT: Wanted = wanted("an argument: a number, a string or a regular expression");
pub(super) const BACKEND: Wanted = wanted("a filter or a backend");
pub(super) const BALANCED: Wanted = wanted("an algorithm or an address");
pub(super) const COLON: Wanted = wanted("`:`");
pub(super) const COLON_OR_PAREN: Wanted = wanted("`:` behind an id, or `(` behind a predicate");
pub(super) const COMMA: Wanted = wanted("`,` and an address");
pub(super) const COMMA_OR_ANGLE: Wanted = wanted("`,` or `>`");
pub(super) const COMMA_OR_PAREN: Wanted = wanted("`,` or `)`");
pub(super) const ENDPOINT: Wanted = wanted("an address");
pub(super) const FILTER: Wanted = wanted("a filter");
pub(super) const PAREN: Wanted = wanted("`(`");
pub(super) const PREDICATE: Wanted = wanted("a predicate or `*`");
pub(super) const END: Wanted = at_end("the end of the text");
pub(super) const FIRST_FILTER: Wanted = at_end("a filter");
pub(super) const FIRST_PREDICATE: Wanted = at_end("a predicate or `*`");
pub(super) const FIRST_ROUTE: Wanted = at_end("a route");
pub(super) const LATER_ROUTE: Wanted = at_end("the id of a route");
pub(super) const MORE_FILTERS: Wanted = at_end("`->` or the end");
pub(super) const MORE_PREDICATES: Wanted = at_end("`&&` or the end");
pub(super) const SEMICOLON: Wanted = at_end("`;` or the end");

const fn wanted(what: &'static str) -> Wanted {
    Wanted { what, end: false }
}

const fn at_end(what: &'static str) -> Wanted {
    Wanted { what, end: true }
}

/// A way out, where one can be told.
pub(super) fn help(wanted: Wanted, found: &Kind<'_>, before: &Kind<'_>) -> Option<&'static str> {
    Some(match (wanted.what, found, before) {
        (what, Kind::CloseParen, Kind::Comma) if what == ARGUMENT.what => {
            "no comma stands behind the last argument"
        }
        (what, Kind::Symbol(_), Kind::Number(_)) if what == COMMA_OR_PAREN.what => {
            "numbers have no exponent and no unit: write digits, or a string such as \"100ms\""
        }
        (what, Kind::Symbol(_), _) if what == ARGUMENT.what => "put quotes around strings",
        (what, Kind::CloseAngle, _) if what == COMMA.what || what == BALANCED.what => {
            "name at least one address, in quotes; <shunt>, <loopback>, <dynamic> and <forward> have no blanks inside"
        }
        (what, Kind::Symbol(_), _) if what == SEMICOLON.what => "put a `;` between routes",
        (what, Kind::Semicolon, _) if what == END.what => {
            "a route without an id stands alone: drop the `;`, or give the route an id, as in `id: ...`"
        }
        (what, ..) if what == END.what || what == COLON.what || what == LATER_ROUTE.what => {
            "where there are several routes, each has an id, as in `id: ...`, and `;` stands between them"
        }
        (what, ..) if what == ARROW.what => "a route is `predicates -> filters -> backend`",
        (what, ..) if what == PAREN.what => "predicates and filters have parentheses, even without arguments",
        (what, Kind::Regexp(_), _) if what == BACKEND.what => "put quotes around the address",
        (what, Kind::End | Kind::Semicolon, _)
            if what == BACKEND.what || what == ARROW_BEHIND_FILTER.what =>
        {
            "a route ends with its backend, such as `-> \"http://app:8080\"` or `-> <shunt>`"
        }
        _ => return None,
    })
}
