//! Which route a request is for: predicates, and tables of routes that find one quickly.
//!
//! ```
//! use eskip::routing::{Asked, Predicates, RouteTable, TableOptions};
//! use http::{HeaderMap, Method};
//!
//! let routes = eskip::parse(
//!     r#"user: Path("/users/:id") && Method("GET") -> "http://users:8080";
//!        rest: * -> <shunt>;"#,
//! )?;
//! let predicates = Predicates::default();
//! let (table, invalid) = RouteTable::build(
//!     routes.iter().map(|route| (route, &route.backend)),
//!     &predicates,
//!     TableOptions::default(),
//! );
//! assert!(invalid.is_empty());
//!
//! let headers = HeaderMap::new();
//! let asked = Asked { path: "/users/7", ..Asked::new(&Method::GET, &headers) };
//! let found = table.find(&asked).unwrap();
//! assert_eq!(found.id(), "user");
//! assert_eq!(found.params().collect::<Vec<_>>(), [("id", "7".into())]);
//! # Ok::<(), eskip::ParseErrors>(())
//! ```
//!
//! # The order
//!
//! Routes with `Path` or `PathSubtree` come before those without. Of those that match a path, the more specific comes
//! first, decided segment by segment from the left: a literal before `:name` before `*name`. Of routes with the same
//! pattern the one with the greater weight comes first, then the one whose id is the smaller text. A route whose other
//! predicates do not hold is passed over for the next one.
//!
//! The weight is that of `Weight(n)`, and one for every other predicate, of several `Header` and of several
//! `HeaderRegexp` with one name only one; `Path`, `PathSubtree`, `TrafficSegment` and `*` weigh nothing.
//!
//! # Paths
//!
//! Two slashes are not made one, and what is encoded is compared as what it stands for, except that an encoded slash
//! never separates segments. Whoever asks must have resolved dot segments before.
//!
//! # What it promises
//!
//! A look-up allocates nothing unless the path is percent-encoded or a predicate must decode something. It neither reads
//! a clock nor makes random numbers but those it is given. A route that is not valid is left out and named, and never the
//! reason that others are.

mod asked;
mod hosts;
mod pattern;
pub(crate) mod predicate;
mod table;
mod tree;
mod uri;

pub use self::{
    asked::{Asked, Clock, Dice},
    pattern::{PathPattern, PatternError},
    predicate::{About, ArgsError, Predicate, PredicateSpec, Predicates},
    table::{Found, InvalidReason, InvalidRoute, Refused, RouteTable, TableOptions, Verdict},
    tree::PathTree,
};
