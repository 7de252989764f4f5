//! Who listens to a walk through routes. A walk that nobody listens to pays nothing for it.

use super::routes::{Handler, Route};
use crate::error::Failure;
use crate::request::Context;

/// Is told of each step of a walk. What is not defined is not listened to.
pub(crate) trait Tracer<'v> {
    /// The request is none of a client's: somebody wants to know what would become of it, and nothing else may.
    const ONLY_ASKS: bool = true;

    /// Routes that the request's host cannot reach; they are not tried.
    fn elsewhere(&mut self, routes: &'v [Route]) {
        let _ = routes;
    }

    /// Another route of its group has run.
    fn excluded(&mut self, route: &'v Route) {
        let _ = route;
    }

    /// Its matchers do not match.
    fn refused(&mut self, route: &'v Route, cx: &mut Context) {
        let _ = (route, cx);
    }

    /// Its handlers run.
    fn entered(&mut self, route: &'v Route) {
        let _ = route;
    }

    /// A handler is about to run, `depth` lists of routes deep.
    fn runs(&mut self, handler: &'v Handler, depth: usize, cx: &Context) {
        let _ = (handler, depth, cx);
    }

    /// An error ends the routes so far; those for errors follow, if there are any.
    fn failed(&mut self, failure: &Failure) {
        let _ = failure;
    }
}

/// Listens to nothing.
impl Tracer<'_> for () {
    const ONLY_ASKS: bool = false;
}
