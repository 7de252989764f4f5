//! Desired routes as a JSON document, checked as a whole.

mod check;
mod raw;

use std::collections::BTreeMap;
use std::fmt;

use self::check::Check;
use self::raw::{RawDesired, RawOwn};
use crate::admin_address::AdminAddress;
use crate::desired::Desired;
use crate::text::line;

/// The most characters of what is said about text of another kind, in which a part of the text may be repeated.
const LONGEST_MESSAGE: usize = 300;

const ADMIN: &str = "admin";
const AGENT: &str = "agent";
const DASHBOARD: &str = "dashboard";

/// A document of desired routes, read but not checked: `admin`, `apps`, `agent` and `dashboard`.
///
/// Several may be put together, so that each application has a file of its own.
///
/// ```
/// use shipwick_routes::{Document, RenderOptions, render};
///
/// let text = r#"{"apps": [{"name": "web", "domain": "web.example.com", "port": 8080,
///     "replicas": [{"name": "web_1"}, {"name": "web_2", "health": "starting"}]}]}"#;
/// let mut document = Document::parse(text)?;
/// document.set_admin("unix//run/caddy/admin.sock");
/// let rendered = render(&document.check()?, &RenderOptions::default());
/// assert_eq!(rendered.routes(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Document {
    raw: RawDesired,
    /// Where `admin`, `agent`, `dashboard` and each application are written.
    places: Places,
}

/// Where the parts of a document are written, each with the name of its file before it if it has one.
#[derive(Clone, Debug)]
struct Places {
    admin: String,
    agent: String,
    dashboard: String,
    apps: Vec<String>,
}

/// A document that is no JSON, or JSON of another kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Everything that is wrong with a document. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as in `apps[0].replicas[1].port`.
    pub field: String,
    /// What.
    pub message: String,
}

/// The JSON schema of a document.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RawDesired).to_value()
}

// === impl Document ===

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Text that is no JSON; a field that is unknown, missing or of another type.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let read = serde_json::from_str::<RawDesired>(text);
        let document = read.map(|raw| Self {
            places: Places::new(&raw),
            raw,
        });
        document.map_err(|error| {
            let (at, column) = (error.line(), error.column());
            let message = error.to_string();
            let place = format!(" at line {at} column {column}");
            let message = message.strip_suffix(&place).unwrap_or(&message);
            SyntaxError {
                line: at.max(1),
                column: column.max(1),
                message: line(message, LONGEST_MESSAGE),
            }
        })
    }

    /// Has what is wrong with it be told with the name of its file.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        for place in self.places.all() {
            *place = format!("{name}: {place}");
        }
        self
    }

    /// Whether it says where the admin API is.
    pub fn has_admin(&self) -> bool {
        self.raw.admin.is_some()
    }

    /// Says where the admin API is, whatever the document says.
    pub fn set_admin(&mut self, address: &str) {
        self.raw.admin = Some(address.to_owned());
        self.places.admin = ADMIN.to_owned();
    }

    /// Adds the routes of `other`.
    ///
    /// # Errors
    ///
    /// The name of a field that both have and that there can be only one of. Nothing is added then.
    pub fn add(&mut self, other: Self) -> Result<(), &'static str> {
        let (mine, theirs) = (&mut self.raw, other.raw);
        let places = other.places;
        for (field, both) in [
            (ADMIN, mine.admin.is_some() && theirs.admin.is_some()),
            (AGENT, mine.agent.is_some() && theirs.agent.is_some()),
            (DASHBOARD, mine.dashboard.is_some() && theirs.dashboard.is_some()),
        ] {
            if both {
                return Err(field);
            }
        }
        if theirs.admin.is_some() {
            (mine.admin, self.places.admin) = (theirs.admin, places.admin);
        }
        if theirs.agent.is_some() {
            (mine.agent, self.places.agent) = (theirs.agent, places.agent);
        }
        if theirs.dashboard.is_some() {
            (mine.dashboard, self.places.dashboard) = (theirs.dashboard, places.dashboard);
        }
        mine.apps.extend(theirs.apps);
        self.places.apps.extend(places.apps);
        Ok(())
    }

    /// The routes, if everything about them is right.
    ///
    /// # Errors
    ///
    /// All that is wrong, also a domain that is claimed twice.
    pub fn check(&self) -> Result<Desired, Problems> {
        let (raw, places) = (&self.raw, &self.places);
        let mut check = Check::default();
        let admin = match &raw.admin {
            Some(admin) => check.parsed::<AdminAddress>(&places.admin, admin),
            None => check.missing(&places.admin, "is required: where the proxy's admin API is"),
        };
        let mut apps = BTreeMap::new();
        let mut by_name = BTreeMap::new();
        for (app, place) in raw.apps.iter().zip(&places.apps) {
            let checked = check.app(place, app);
            if apps.insert(app.name.clone(), checked).is_some() {
                check.problem(
                    format!("{place}.name"),
                    "is the name of another application".to_owned(),
                );
            }
            by_name.insert(app.name.as_str(), place.as_str());
        }
        let own = |check: &mut Check, own: &Option<RawOwn>, place| {
            own.as_ref().and_then(|own| check.own(place, own))
        };
        let agent = own(&mut check, &raw.agent, &places.agent);
        let dashboard = own(&mut check, &raw.dashboard, &places.dashboard);
        let Some(admin) = admin else {
            return Err(Problems(check.problems));
        };
        let desired = Desired {
            admin,
            apps,
            agent,
            dashboard,
        };
        for conflict in desired.conflicts() {
            let place = by_name.get(conflict.app.as_str()).copied();
            check.conflict(place, &places.dashboard, &conflict);
        }
        if check.problems.is_empty() {
            Ok(desired)
        } else {
            Err(Problems(check.problems))
        }
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("apps", &self.raw.apps.len())
            .finish_non_exhaustive()
    }
}

// === impl Places ===

impl Default for Places {
    fn default() -> Self {
        Self {
            admin: ADMIN.to_owned(),
            agent: AGENT.to_owned(),
            dashboard: DASHBOARD.to_owned(),
            apps: Vec::new(),
        }
    }
}

impl Places {
    fn new(raw: &RawDesired) -> Self {
        Self {
            apps: (0..raw.apps.len()).map(|at| format!("apps[{at}]")).collect(),
            ..Self::default()
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.admin, &mut self.agent, &mut self.dashboard]
            .into_iter()
            .chain(&mut self.apps)
    }
}

// === impl Problems ===

impl Problems {
    /// One after the other: those of the applications, of the agent and the dashboard, then domains that are claimed
    /// twice.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl std::error::Error for Problems {}

/// A line for each field, and below it what is wrong with it.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { "\n" };
            write!(f, "{space}{}:\n  {}", problem.field, problem.message)?;
        }
        Ok(())
    }
}
