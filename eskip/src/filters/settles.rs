//! Filters that have no phase: all they do is say what holds for their route.

use std::fmt;

use super::filter::{Filter, Wants};
use super::settings::RouteSettings;

/// Says one thing of its route.
#[derive(Debug)]
pub(super) struct Settles<T> {
    value: T,
    say: fn(&mut RouteSettings, &T),
}

// === impl Settles ===

impl<T> Settles<T> {
    /// Says `value` with `say`.
    pub(super) fn new(value: T, say: fn(&mut RouteSettings, &T)) -> Self {
        Self { value, say }
    }
}

impl<T: fmt::Debug + Send + Sync> Filter for Settles<T> {
    fn wants(&self) -> Wants {
        Wants::NONE
    }

    fn settle(&self, route: &mut RouteSettings) {
        (self.say)(route, &self.value);
    }
}
