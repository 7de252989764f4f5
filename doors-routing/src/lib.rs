//! The routing decision for [Doors](https://github.com/doors-dev) apps: from a request's path and cookies to the pod
//! or the server that must answer it.
//!
//! A Doors app keeps live sessions in memory, so a rollout may not move them: the *system* requests of an open page
//! (`/~/<token>/…`) go to the very pod that its token names, even while that pod drains. Everything else is a *page*
//! request and goes to the fresh deployment of a server: of the server that the affinity cookie names, or of any.
//! [`GeoRedirects`] says which page requests are sent to the site of their visitor's country instead.
//!
//! ```
//! use doors_routing::{Decision, Router, UpstreamBlock};
//! use doors_token::TokenCipher;
//!
//! let cipher = TokenCipher::new("MDEyMzQ1Njc4OWFiY2RlZg==")?;
//! let router = Router::try_new(
//!     cipher.clone(),
//!     Some("upstream".to_owned()),
//!     vec![
//!         UpstreamBlock { pod_cidr: "10.0.0.0/24".parse()?, host: "svc-1.ns.svc.cluster.local".to_owned(), port: 8080 },
//!         UpstreamBlock { pod_cidr: "10.0.1.0/24".parse()?, host: "svc-2.ns.svc.cluster.local".to_owned(), port: 8080 },
//!     ],
//! )?;
//!
//! let token = cipher.encode("10.0.1.7".parse()?);
//! let cookie = format!("theme=dark; upstream={token}");
//!
//! assert_eq!(router.decide("/", []), Decision::Any);
//! assert_eq!(router.decide("/", [cookie.as_bytes()]), Decision::Server(1));
//! assert_eq!(
//!     router.decide(&format!("/~/{token}/s/3kT9"), []),
//!     Decision::Pod { addr: "10.0.1.7:8080".parse()?, server: 1 },
//! );
//! assert!(matches!(router.decide("/~/no-token/s/3kT9", []), Decision::Gone(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(any(test, fuzzing)),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod cookie;
mod decision;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod geo;
mod path;
mod router;
mod upstreams;

pub use decision::{Decision, GoneReason};
pub use error::{ConfigError, ConfigErrors, GeoError, UpstreamError, Warning};
pub use geo::{
    COUNTRY_CODES, Country, GeoDecision, GeoRedirects, GeoRequest, Located, PassReason, Redirect,
    RedirectScheme, country_place,
};
pub use path::is_system_path;
pub use router::{MAX_COOKIE_TRIES, Router};
pub use upstreams::{Server, UpstreamBlock};

/// The README's snippet is a test, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
