//! The route language of Skipper: which requests a route is for, what filters do with them, where they go.
//!
//! ```text
//! // ids are names; `;` stands between routes
//! pages: Path("/users/:id") && Header("Accept", "text/html")
//!   -> modPath(/^\/users/, "/pages")
//!   -> "https://pages.example.org";
//! api: PathSubtree("/api") && Method("GET") -> <roundRobin, "http://10.0.0.1:8080", "http://10.0.0.2:8080">;
//! rest: * -> status(404) -> <shunt>;
//! ```
//!
//! [`parse`] reads a document into [`Route`]s, [`print()`] writes them back, [`to_json`] and [`from_json`] do so as
//! JSON, and [`are_equivalent`] says whether two lists mean the same:
//!
//! ```
//! use eskip::{Backend, Layout};
//!
//! let text = r#"api: Path("/users/:id") -> setRequestHeader("X-User", "${id}") -> "http://app:8080";"#;
//! let routes = eskip::parse(text)?;
//!
//! assert_eq!(routes[0].predicates[0].name, "Path");
//! assert_eq!(routes[0].filters[0].args[1].as_text(), Some("${id}"));
//! assert_eq!(routes[0].backend, Backend::Network("http://app:8080".to_owned()));
//! assert_eq!(eskip::print(&routes, Layout::Plain), text);
//! # Ok::<(), eskip::ParseErrors>(())
//! ```
//!
//! # Mistakes
//!
//! All mistakes of a text come at once. Each has a line for logs, worded and counted as Skipper does, and a form for
//! whoever wrote the text, with line and column, a mark, and a way out:
//!
//! ```
//! let errors = eskip::parse("a: * -> status(404,) -> <shunt>;\nb: * -> #").unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     "parse failed after token ), last route id: a, position 20: syntax error\n\
//!      parse failed after token ->, last route id: b, position 41: syntax error"
//! );
//! assert!(errors.report("routes.eskip").starts_with(
//!     "routes.eskip:1:20: expected an argument: a number, a string or a regular expression, found `)`\n  \
//!      1 | a: * -> status(404,) -> <shunt>;\n    |                    ^\n  \
//!      help: no comma stands behind the last argument\n"
//! ));
//! ```
//!
//! # The language
//!
//! | word | how it is written |
//! | --- | --- |
//! | name | an ASCII letter or `_`, then letters, digits, `_` |
//! | number | `3`, `-3`, `0.3`, `.3`: no exponent, no `+`, no point at the end |
//! | string | `"..."` or backquotes, over several lines if need be; `\a \b \f \n \r \t \v \\` and a backslash with the string's own quote are escapes, any other backslash stays |
//! | regular expression | `/.../`: `\/` is a slash and `\\` a backslash, any other backslash stays; a slash inside of `[...]` does not end it |
//! | comment | `//` to the end of the line; so an empty regular expression is written `""` |
//!
//! A route is `predicates -> filters -> backend`. Predicates are joined by `&&`, or are `*`. A filter is a name with
//! arguments in parentheses. A backend is an address, `<shunt>`, `<loopback>`, `<dynamic>`, `<forward>`, or several
//! addresses, `<algorithm, "http://a", "http://b">`. A document is one route without an id, or any number of routes
//! `id: route` with `;` between them.
//!
//! Only the arguments of `Path`, `Method`, `Host`, `PathRegexp`, `Header` and `HeaderRegexp` are checked, and that the
//! addresses of a balanced backend are some, with one scheme. Whether other predicates and filters exist is for
//! whoever runs them to know.
//!
//! # Where it knowingly differs from Skipper's own parser
//!
//! - All mistakes are told, not the first alone. Each that is about a route names it. What does not end is an
//!   "incomplete token" wherever it stands, and words longer than 80 characters are cut in messages.
//! - A number beyond what 64 bits of floating point hold is a mistake, not infinite.
//! - A byte order mark is passed over. U+0085 and U+00A0 are white space as characters; Skipper knows them as single
//!   bytes, which no UTF-8 has.
//! - `Host("*.example.org")` stays as it is written. What it means is for whoever builds a table of routes.
//! - The printer writes `<forward>`, numbers without an exponent, addresses with escapes, and regular expressions such
//!   that what is read back is what was printed: in double quotes, if they cannot stand between slashes.
//! - JSON is checked as texts are, and fields that routes do not have are mistakes.
//! - Values that are filled into a template are not looked through for placeholders.
//! - Predicates of one name have no order when routes are compared.
//!
//! # What it promises
//!
//! No text makes it panic, recurse, or take more than a few passes. Names and arguments take memory in proportion to
//! the text. It opens no file and needs no runtime.

#![cfg_attr(
    not(any(test, fuzzing)),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod ast;
mod canonical;
mod change;
mod check;
mod error;
#[cfg(feature = "filters")]
pub mod filters;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod json;
mod lexer;
mod parser;
mod place;
mod print;
mod rewrite;
#[cfg(feature = "routing")]
pub mod routing;
mod template;
mod token;

pub use self::{
    ast::{Arg, Backend, Balanced, Call, Endpoint, EndpointError, Name, NameError, Route},
    canonical::are_equivalent,
    change::{
        DefaultFilters, Edit, EditError, EditSyntaxError, clone_routes, delete, edit_routes, reset, upsert,
    },
    check::{Problem, RouteError},
    error::{ErrorKind, ParseError, ParseErrors},
    json::{JsonError, from_json, to_json, to_json_pretty},
    parser::{Located, parse, parse_filters, parse_located, parse_predicates},
    place::Place,
    print::{Layout, print},
    rewrite::{RewriteError, Rewritten, delete_text, reset_text, upsert_text},
    template::{Filled, Placeholder, Template},
};

/// The README's snippets are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
