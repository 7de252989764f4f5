//! The variables of the environment, as far as whoever runs the proxy shows them.

use std::fmt;
use std::sync::Arc;

/// A look-up of variables, for the placeholders `{env.NAME}`. The default has none.
#[derive(Clone)]
pub struct Environment(Arc<LookUp>);

type LookUp = dyn Fn(&str) -> Option<String> + Send + Sync;

// === impl Environment ===

impl Environment {
    /// Asks `look_up` when a configuration is compiled, once for each place that names a variable.
    pub fn new(look_up: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look_up))
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// Two are the same if they are copies of one.
impl PartialEq for Environment {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Environment {}
