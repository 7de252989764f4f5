//! Names of keys.

/// The names of one store's keys.
#[derive(Clone, Debug)]
pub(super) struct Keys(String);

// === impl Keys ===

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self(format!("{{{prefix}}}:"))
    }

    pub(super) fn meta(&self) -> String {
        self.named("meta")
    }

    pub(super) fn order(&self) -> String {
        self.named("order")
    }

    pub(super) fn deleted(&self) -> String {
        self.named("deleted")
    }

    pub(super) fn routes(&self) -> String {
        self.named("routes")
    }

    pub(super) fn versions(&self, host: &str) -> String {
        self.named(&format!("versions:{host}"))
    }

    pub(super) fn history(&self, host: &str) -> String {
        self.named(&format!("history:{host}"))
    }

    pub(super) fn replicas(&self) -> String {
        self.named("replicas")
    }

    pub(super) fn replica(&self, id: &str) -> String {
        self.named(&format!("replica:{id}"))
    }

    pub(super) fn lease(&self, name: &str) -> String {
        self.named(&format!("lease:{name}"))
    }

    /// With the length of the space, as both may have colons.
    pub(super) fn value(&self, space: &str, key: &str) -> String {
        self.named(&format!("value:{}:{space}:{key}", space.len()))
    }

    pub(super) fn values(&self, space: &str) -> String {
        self.named(&format!("keys:{space}"))
    }

    pub(super) fn channel(&self) -> String {
        self.named("changed")
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.0)
    }
}
