//! What is said about a word that does not fit.

use crate::token::Kind;

/// What would have been right instead of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wanted {
    /// Behind a predicate.
    Arrow,
    /// Behind a filter.
    ArrowBehindFilter,
    Argument,
    Backend,
    /// Behind `<`.
    Balanced,
    /// Behind the id of a route.
    Colon,
    /// Behind the first word, which may be an id or a predicate.
    ColonOrParen,
    /// Behind an algorithm.
    Comma,
    /// Behind an address of several.
    CommaOrAngle,
    /// Behind an argument.
    CommaOrParen,
    /// Behind a route without an id.
    End,
    Endpoint,
    Filter,
    /// As all of the text, or none.
    FirstFilter,
    FirstPredicate,
    FirstRoute,
    /// Behind `;`.
    LaterRoute,
    MoreFilters,
    MorePredicates,
    Paren,
    Predicate,
    /// Behind a route.
    Semicolon,
}

/// A way out behind a word that goes over several lines.
pub(super) const OVER_LINES: &str =
    "what stands before this goes over several lines: is a quote or slash missing where it begins?";

// === impl Wanted ===

impl Wanted {
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Arrow => "`&&` or `->`",
            Self::ArrowBehindFilter => "`->`",
            Self::Argument => "an argument: a number, a string or a regular expression",
            Self::Backend => "a filter or a backend",
            Self::Balanced => "an algorithm or an address",
            Self::Colon => "`:`",
            Self::ColonOrParen => "`:` behind an id, or `(` behind a predicate",
            Self::Comma => "`,` and an address",
            Self::CommaOrAngle => "`,` or `>`",
            Self::CommaOrParen => "`,` or `)`",
            Self::End => "the end of the text",
            Self::Endpoint => "an address",
            Self::Filter | Self::FirstFilter => "a filter",
            Self::FirstPredicate | Self::Predicate => "a predicate or `*`",
            Self::FirstRoute => "a route",
            Self::LaterRoute => "the id of a route",
            Self::MoreFilters => "`->` or the end",
            Self::MorePredicates => "`&&` or the end",
            Self::Paren => "`(`",
            Self::Semicolon => "`;` or the end",
        }
    }

    /// Whether the text could end here.
    pub(super) const fn may_end(self) -> bool {
        matches!(
            self,
            Self::End
                | Self::FirstFilter
                | Self::FirstPredicate
                | Self::FirstRoute
                | Self::LaterRoute
                | Self::MoreFilters
                | Self::MorePredicates
                | Self::Semicolon
        )
    }

    /// A way out, where one can be told.
    pub(super) const fn help(self, found: &Kind<'_>, before: &Kind<'_>) -> Option<&'static str> {
        Some(match (self, found, before) {
            (Self::Argument, Kind::CloseParen, Kind::Comma) => "no comma stands behind the last argument",
            (Self::Argument, Kind::Symbol(_), _) => "put quotes around strings",
            (Self::CommaOrParen, Kind::Symbol(_), Kind::Number(_)) => {
                "numbers have no exponent and no unit: write digits, or a string such as \"100ms\""
            }
            (Self::Comma | Self::Balanced, Kind::CloseAngle, _) => {
                "name at least one address, in quotes; <shunt>, <loopback>, <dynamic> and <forward> have no blanks inside"
            }
            (Self::Semicolon, Kind::Symbol(_), _) => "put a `;` between routes",
            (Self::End, Kind::Semicolon, _) => {
                "a route without an id stands alone: drop the `;`, or give the route an id, as in `id: ...`"
            }
            (Self::End | Self::Colon | Self::LaterRoute, ..) => {
                "where there are several routes, each has an id, as in `id: ...`, and `;` stands between them"
            }
            (Self::Arrow, ..) => "a route is `predicates -> filters -> backend`",
            (Self::Paren, ..) => "predicates and filters have parentheses, even without arguments",
            (Self::Backend, Kind::Regexp(_), _) => "put quotes around the address",
            (Self::Backend | Self::ArrowBehindFilter, Kind::End | Kind::Semicolon, _) => {
                "a route ends with its backend, such as `-> \"http://app:8080\"` or `-> <shunt>`"
            }
            _ => return None,
        })
    }
}
