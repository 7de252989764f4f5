//! What of Caddy's configuration is supported, name by name: the one table that the readers, the proxy and the
//! manual use.

mod directives;
mod global;
mod log;
mod matchers;
mod proxy;
mod servers;
mod tls;
mod transport;

/// One name, and what Doorway does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Where the name stands.
    pub area: Area,
    /// The name as the Caddyfile has it; where it chooses among several things, with its argument, such as
    /// `lb_policy first`.
    pub name: &'static str,
    /// What Doorway does with it.
    pub state: SupportState,
    /// What there is to know: the difference to Caddy, why it is ignored, or the way out.
    pub note: &'static str,
}

/// Where a name stands in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Area {
    /// A directive of a site.
    Directive,
    /// A matcher in a named matcher.
    Matcher,
    /// A global option.
    GlobalOption,
    /// An option of `servers`.
    ServerOption,
    /// An option of `reverse_proxy`.
    ReverseProxy,
    /// An option of `transport http`.
    Transport,
    /// An option of `tls`.
    Tls,
    /// An option of `log`.
    Log,
}

/// What Doorway does with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SupportState {
    /// It does what it says.
    Active,
    /// It is read and printed; running it is possible too, with a warning that it changes nothing. The service is
    /// then not as good, but neither wrong nor less secure.
    Accepted,
    /// It is read and printed; running it is an error, since without it requests would go wrong.
    Pending,
    /// It is an error, with the way out.
    Refused,
}

/// Directives of Caddy that Doorway may come to support.
pub(crate) const LATER: [&str; 5] = ["fs", "intercept", "log_append", "timeouts", "tracing"];

/// The table, sorted by area; names in the order of the manual.
pub fn support() -> impl Iterator<Item = &'static Support> {
    areas().into_iter().flatten()
}

/// The row of a name, if there is one.
#[must_use]
pub fn support_of(area: Area, name: &str) -> Option<&'static Support> {
    support().find(|row| row.area == area && row.name == name)
}

/// Why a name is an error and what to do instead, if it is one of Caddy's that Doorway will not have.
pub(crate) fn refused(area: Area, name: &str) -> Option<&'static str> {
    support_of(area, name)
        .filter(|row| row.state == SupportState::Refused)
        .map(|row| row.note)
}

fn areas() -> [&'static [Support]; 8] {
    [
        directives::ROWS,
        matchers::ROWS,
        global::ROWS,
        servers::ROWS,
        proxy::ROWS,
        transport::ROWS,
        tls::ROWS,
        log::ROWS,
    ]
}

/// The names of an area that are read, for messages.
pub(crate) fn readable(area: Area) -> impl Iterator<Item = &'static str> {
    let rows = support().filter(move |row| row.area == area);
    // A name with an argument is about the argument.
    rows.filter(|row| row.state != SupportState::Refused && !row.name.contains(' '))
        .map(|row| row.name)
}

const fn row(area: Area, name: &'static str, state: SupportState, note: &'static str) -> Support {
    Support {
        area,
        name,
        state,
        note,
    }
}

// === impl Support ===

impl Support {
    /// The name in a sentence, such as "option `to` of `reverse_proxy`".
    #[must_use]
    pub fn named(&self) -> String {
        self.area.named(self.name)
    }
}

// === impl Area ===

impl Area {
    /// The area in words, for headings.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Directive => "Directives",
            Self::Matcher => "Matchers",
            Self::GlobalOption => "Global options",
            Self::ServerOption => "Options of `servers`",
            Self::ReverseProxy => "Options of `reverse_proxy`",
            Self::Transport => "Options of `transport http`",
            Self::Tls => "Options of `tls`",
            Self::Log => "Options of `log`",
        }
    }

    /// A name of the area, as messages have it.
    pub(crate) fn named(self, name: &str) -> String {
        match self {
            Self::Directive => format!("directive `{name}`"),
            Self::Matcher => format!("matcher `{name}`"),
            Self::GlobalOption => format!("global option `{name}`"),
            Self::ServerOption => format!("option `{name}` of `servers`"),
            Self::ReverseProxy => format!("option `{name}` of `reverse_proxy`"),
            Self::Transport => format!("option `{name}` of `transport http`"),
            Self::Tls => format!("option `{name}` of `tls`"),
            Self::Log => format!("option `{name}` of `log`"),
        }
    }
}

// === impl SupportState ===

impl SupportState {
    /// The state in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Accepted => "accepted",
            Self::Pending => "pending",
            Self::Refused => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{SupportState, support, support_of};

    #[test]
    fn a_name_stands_once_in_an_area() {
        let mut seen = BTreeSet::new();
        for row in support() {
            assert!(seen.insert((row.area, row.name)), "{row:?}");
            assert_eq!(support_of(row.area, row.name), Some(row));
        }
    }

    #[test]
    fn whatever_does_not_simply_work_says_why() {
        for row in support().filter(|row| row.state != SupportState::Active) {
            assert!(!row.note.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn areas_follow_one_another() {
        let areas: Vec<_> = support().map(|row| row.area).collect();
        assert!(areas.is_sorted(), "{areas:?}");
    }
}
