//! Desired routes as Caddy JSON: always the same bytes, fingerprinted, pushed to an admin API and kept there.
//!
//! ```
//! use shipwick_routes::{App, Desired, RenderOptions, Replica, Upstream, render};
//!
//! let mut desired = Desired::new("unix//run/caddy/admin.sock".parse()?);
//! let web = App {
//!     domain: Some("web.example.com".parse()?),
//!     replicas: Some(vec![
//!         Replica::running(Upstream::new("shipwick_web_7_1", 8080)?),
//!         Replica::running(Upstream::new("shipwick_web_7_2", 8080)?),
//!     ]),
//!     ..App::default()
//! };
//! desired.apps.insert("web".to_owned(), web);
//! assert_eq!(desired.conflicts(), []);
//!
//! let rendered = render(&desired, &RenderOptions::default());
//! assert_eq!(rendered.routes(), 1);
//! assert!(rendered.bytes().starts_with(br#"{"admin":{"listen":"unix//run/caddy/admin.sock"},"apps":{"http":"#));
//! // The proxy that runs it can be asked for it: GET /id/shipwick-config-…
//! assert!(rendered.fingerprint().marker().starts_with("shipwick-config-"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate promises
//!
//! - The same routes give the same bytes, whatever the order in which they are given; they are those of Shipwick 0.1.0
//!   with [`RenderOptions::shipwick_0_1_0`].
//! - The configuration is built as data and serialized: no name can change its structure.
//! - A domain belongs to one application. [`Desired::conflicts`] and [`Desired::owner`] say whose it is.
//! - Without the feature `sync` nothing here needs a runtime, a clock or the environment.

mod admin_address;
mod desired;
mod document;
mod domain;
mod path;
mod render;
#[cfg(feature = "sync")]
pub mod sync;
mod text;
mod upstream;

pub use admin_address::{AdminAddress, AdminAddressError, AdminTarget};
pub use desired::{App, Conflict, Desired, Health, OwnRoute, Owner, Path, Replica, Rollout};
pub use document::{Document, Problem, Problems, SyntaxError, schema};
pub use domain::{Domain, DomainError};
pub use path::{PathPrefix, PathPrefixError};
pub use render::{Fingerprint, Protocol, ProtocolError, RenderOptions, Rendered, render};
pub use upstream::{Upstream, UpstreamError};

/// The README's snippets are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
