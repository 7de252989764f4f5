//! Filters that need timers, sockets or files, beside those of the route language's own crate.
//!
//! What outlives the table of routes that a filter is in, such as a queue and who waits in it, belongs to the registry,
//! which is made once for a process.

mod admission;
mod audit;
mod auth;
mod bodies;
mod cache;
mod compress;
#[cfg(test)]
mod counting;
mod delays;
mod files;
mod logs;
mod outside;
mod queues;
mod tee;
mod tokens;
#[cfg(test)]
mod trial;
mod usage;
mod watched;
#[cfg(test)]
mod witness;

use std::sync::Arc;

use eskip::filters::Filters;

pub(crate) use self::outside::Outside;
pub(crate) use self::tee::{TeeLoopback, copy};
use crate::auth::Verifier;
use crate::tasks::Tasks;

/// What filters need besides requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means {
    /// Runs what a request does not wait for.
    pub(crate) tasks: Tasks,
    /// Compares passwords.
    pub(crate) passwords: Arc<Verifier>,
    /// Asks other servers.
    pub(crate) outside: Arc<Outside>,
}

/// One for each file of filters: adds what is in it.
type Family = fn(&mut Filters, &Means);

const FAMILIES: &[Family] = &[
    admission::add,
    audit::add,
    auth::add,
    cache::add,
    compress::add,
    delays::add,
    files::add,
    logs::add,
    queues::add,
    tee::add,
    tokens::add,
    usage::add,
];

/// All kinds of filters.
pub(crate) fn registry(means: &Means) -> Filters {
    let mut all = Filters::default();
    add(&mut all, means);
    all
}

/// Adds the kinds of this crate to others.
pub(crate) fn add(all: &mut Filters, means: &Means) {
    FAMILIES.iter().for_each(|add| add(all, means));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filter_has_a_text_in_the_manual_and_an_example_that_is_a_call_of_it() {
        let all = registry(&Means::default());
        for (name, about) in all.all() {
            assert!(!about.does.is_empty(), "{name}");
            let calls = eskip::parse_filters(about.example).unwrap();
            assert!(calls.iter().any(|call| call.name == name), "{name}");
        }
    }
}
