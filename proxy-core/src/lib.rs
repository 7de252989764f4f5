//! The running proxy of Doorway: listeners, TLS, routing, upstreams, forwarding.
//!
#![doc = include_str!("../README.md")]

mod admin;
mod auth;
mod body;
mod clock;
mod config;
mod control;
mod encode;
mod environment;
mod error;
pub mod explain;
mod facts;
mod failure_log;
mod filters;
mod forward;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod geo;
mod http;
mod ip_set;
mod keepalive;
mod listener;
mod log;

pub mod manual;
#[cfg(any(test, fuzzing))]
mod memory;
mod metrics;
mod percent;
mod proxy;
mod request;
mod response_matcher;
mod routing;
mod skipper;
mod snapshot;
mod stats;
mod tasks;
mod thread;
mod tls;
mod unix_socket;
mod upstream;

pub use admin::{Admin, AdminError, AdminOptions, LoadError, Source};
pub use auth::{HashError, HashPasswordError, PasswordAlgorithm, hash_password};
pub use body::{Body, BoxError};
pub use config::{BuildError, BuildErrors};
pub use control::{
    Applied, Authority, BreakerState, Commit, Control, GeoState, Part, PodState, RouteListing, UpstreamState,
};
pub use environment::Environment;
pub use forward::pipeline::{Aborted, Handler};
pub use http::connection::Connection;
pub use log::{Compression, Destination, DirMode, FileSettings, LogFiles, LogWriter, Rolling};
pub use proxy::{Options, Proxy, Report};
pub use skipper::supply::{Loading, RouteSource};
pub use stats::Stats;

/// The project's own README: its snippets compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ProjectReadme;
