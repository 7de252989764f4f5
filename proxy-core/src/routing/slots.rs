//! Variables of a request: their names become places when the routes are compiled, so that no request looks a name
//! up.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use caddy_config::Placeholder;
use serde_json::Number;

use super::map::Map;
use crate::environment::Environment;
use crate::geo::{Asking, Source};

/// What the routes of a server say of values: the names of variables and their places, and which values are asked for
/// at all. Names are those of placeholders, such as `http.vars.x`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    places: HashMap<String, Slot>,
    asked: Asked,
    environment: Environment,
    countries: Asking,
}

/// Values that cost something to have, and that few ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// When the request came.
    pub(crate) time: bool,
    /// What is known of the connection beside the peer.
    pub(crate) connection: bool,
    /// What became of the request at upstreams.
    pub(crate) upstream: bool,
}

/// The place of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

/// The variables of one request. Takes no memory until one of them is set.
#[derive(Debug, Default)]
pub(crate) struct Values(Vec<Value>);

/// The value of a variable.
#[derive(Clone, Debug, Default)]
pub(crate) enum Value {
    /// Never set.
    #[default]
    Unset,
    /// Set to nothing.
    Null,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    List(Arc<[String]>),
    /// What a `map` gives for its destination of this number; found out each time it is read, as what the map
    /// looks at may change.
    Mapped(Arc<Map>, usize),
}

/// The variables that the access log looks at; those that nothing sets have no place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogSlots {
    skip: Option<Slot>,
    loggers: Option<Slot>,
    user: Option<Slot>,
}

/// The name that a user is known by.
pub(crate) const USER: &str = "http.auth.user.id";

/// The prefix of the names that `vars` sets.
pub(crate) const VARS: &str = "http.vars.";

// === impl Slots ===

impl Slots {
    pub(crate) fn new(environment: Environment, countries: Asking) -> Self {
        Self {
            environment,
            countries,
            ..Self::default()
        }
    }

    /// The place of `name`, which gets one if it has none.
    pub(crate) fn of(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.places.get(name) {
            return *slot;
        }
        let slot = Slot(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        self.places.insert(name.to_owned(), slot);
        slot
    }

    /// The place of `name`, if anything mentions it.
    pub(crate) fn find(&self, name: &str) -> Option<Slot> {
        self.places.get(name).copied()
    }

    /// A variable of the environment.
    pub(crate) fn environment(&self, name: &str) -> Option<String> {
        self.environment.get(name)
    }

    /// Who knows the countries of clients, from now on asked for them.
    pub(crate) fn countries(&self) -> Option<Arc<Source>> {
        self.countries.ask()
    }

    /// Something asks for the value of `placeholder`.
    pub(crate) fn note(&mut self, placeholder: &Placeholder) {
        match placeholder {
            Placeholder::Duration | Placeholder::DurationMs => self.asked.time = true,
            Placeholder::Tls(_)
            | Placeholder::Local(_)
            | Placeholder::ShuttingDown
            | Placeholder::TimeUntilShutdown => self.asked.connection = true,
            Placeholder::Upstream(_) | Placeholder::Proxy(_) => self.asked.upstream = true,
            _ => {}
        }
    }

    /// What anything asks for.
    pub(crate) fn asked(&self) -> Asked {
        self.asked
    }
}

impl Asked {
    /// Whether there is anything to note for a request.
    pub(crate) fn any(self) -> bool {
        self.time || self.connection || self.upstream
    }
}

// === impl LogSlots ===

impl LogSlots {
    pub(crate) fn of(slots: &Slots) -> Self {
        Self {
            skip: slots.find("http.vars.log_skip"),
            loggers: slots.find("http.vars.access_logger_names"),
            user: slots.find(USER),
        }
    }

    /// Whether the request is kept out of the log.
    pub(crate) fn skips(&self, vars: &Values) -> bool {
        self.skip
            .is_some_and(|slot| matches!(vars.get(slot), Value::Bool(true)))
    }

    /// The logs that the request goes to instead of those of its host.
    pub(crate) fn loggers<'v>(&self, vars: &'v Values) -> Option<&'v [String]> {
        match vars.get(self.loggers?) {
            Value::List(names) => Some(names),
            _ => None,
        }
    }

    /// Who the request authenticated as.
    pub(crate) fn user(&self, vars: &Values) -> Option<Arc<str>> {
        match vars.get(self.user?) {
            Value::Text(user) => Some(Arc::clone(user)),
            _ => None,
        }
    }
}

// === impl Values ===

impl Values {
    pub(crate) fn get(&self, slot: Slot) -> &Value {
        self.0.get(slot.0 as usize).unwrap_or(&Value::Unset)
    }

    pub(crate) fn set(&mut self, slot: Slot, value: Value) {
        let place = slot.0 as usize;
        if self.0.len() <= place {
            self.0.resize(place.saturating_add(1), Value::Unset);
        }
        if let Some(place) = self.0.get_mut(place) {
            *place = value;
        }
    }
}

// === impl Value ===

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn is_set(&self) -> bool {
        !matches!(self, Self::Unset)
    }
}

/// As it stands in text. What a map gives is not known here: see [`super::template::Template`].
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset | Self::Null | Self::Mapped(..) => Ok(()),
            Self::Bool(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
            Self::List(values) => write!(f, "[{}]", values.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_place() {
        let mut slots = Slots::default();
        let (a, b) = (slots.of("a"), slots.of("b"));
        assert_ne!(a, b);
        assert_eq!(
            (slots.of("a"), slots.find("b"), slots.find("c")),
            (a, Some(b), None)
        );
    }

    #[test]
    fn what_was_never_set_takes_no_memory() {
        let mut slots = Slots::default();
        let (first, last) = (slots.of("a"), slots.of("b"));
        let mut values = Values::default();
        assert!(!values.get(last).is_set());
        assert_eq!(values.0.capacity(), 0);
        values.set(last, Value::text("x"));
        assert_eq!(
            (values.get(last).to_string(), values.get(first).is_set()),
            ("x".to_owned(), false)
        );
    }
}
