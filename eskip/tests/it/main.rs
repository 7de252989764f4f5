//! The integration tests, one binary.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop where it finds a fault"
)]

mod changes;
mod equality;
mod errors;
#[cfg(feature = "filters")]
mod filters;
mod hostile;
mod json;
mod language;
mod printing;
mod rewriting;
mod round_trip;
#[cfg(feature = "routing")]
mod routing;
mod templates;

use eskip::{Arg, Backend, Call, Route};

/// What a document means.
#[track_caller]
fn parsed(text: &str) -> Vec<Route> {
    eskip::parse(text).unwrap_or_else(|errors| panic!("{}", errors.report(text)))
}

/// The only route of a document.
#[track_caller]
fn route(text: &str) -> Route {
    let [route]: [Route; 1] = parsed(text).try_into().unwrap();
    route
}

fn call(name: &str, args: &[Arg]) -> Call {
    Call {
        name: name.parse().unwrap(),
        args: args.to_vec(),
    }
}

fn text(text: &str) -> Arg {
    Arg::from(text)
}

fn shunt(predicates: &[Call], filters: &[Call]) -> Route {
    Route {
        id: None,
        predicates: predicates.to_vec(),
        filters: filters.to_vec(),
        backend: Backend::Shunt,
    }
}
