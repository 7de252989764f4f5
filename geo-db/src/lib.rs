//! Which country an address belongs to: a prefix table, its archive, and its updates.
//!
//! ```
//! use geo_db::{CountryCode, Database, Table};
//!
//! let de: CountryCode = "de".parse()?;
//! let at: CountryCode = "AT".parse()?;
//! let table = Table::new([
//!     ("192.0.2.0/24".parse()?, de),
//!     ("192.0.2.128/25".parse()?, at), // the longest prefix decides
//!     ("2001:db8::/32".parse()?, de),
//! ])?;
//! assert_eq!(table.lookup("192.0.2.1".parse()?), Some(de));
//! assert_eq!(table.lookup("::ffff:192.0.2.200".parse()?), Some(at));
//! assert_eq!(table.lookup("198.51.100.1".parse()?), None);
//!
//! // What a server asks: a handle that never waits, on a table that is replaced whole.
//! let database = Database::default();
//! assert!(!database.has_data());
//! database.replace(table, "example", std::time::UNIX_EPOCH);
//! assert_eq!(database.lookup("2001:db8::1".parse()?), Some(de));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate promises
//!
//! - A look-up neither allocates nor waits nor panics, and sees one whole table: IPv4 and IPv6 are never of two ages.
//! - [`archive::read`] takes what a stranger may have changed: everything in it is bounded, nothing is written anywhere,
//!   and one bad line refuses the whole, so that no table is half an archive.
//! - Without the feature `updater` nothing here needs a runtime, a clock or the environment.

#![cfg_attr(
    not(any(test, fuzzing)),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

pub mod archive;
mod country;
mod db;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod ipverse;
mod table;
#[cfg(feature = "updater")]
pub mod updater;

pub use country::{CountryCode, CountryCodeError};
pub use db::{Database, Loaded, Status};
pub use table::{Counts, MAX_COUNTRIES, MAX_IPV6_PREFIX, Table, TableError};

/// The README's snippets are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
