//! Desired routes as a JSON document, checked as a whole.

mod raw;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use self::raw::{Port, RawApp, RawDesired, RawOwn, RawReplica};
use crate::admin_address::AdminAddress;
use crate::desired::{App, Conflict, Desired, Health, OwnRoute, Owner, Path, Replica, Rollout};
use crate::domain::Domain;
use crate::text::{line, shown};
use crate::upstream::{Upstream, UpstreamError};

/// The longest name of an application.
const LONGEST_NAME: usize = 253;

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

/// The checks of one document.
#[derive(Debug, Default)]
struct Check {
    problems: Vec<Problem>,
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

// === impl Check ===

impl Check {
    fn problem(&mut self, field: String, message: String) {
        self.problems.push(Problem { field, message });
    }

    fn missing<T>(&mut self, field: impl Into<String>, message: &str) -> Option<T> {
        self.problem(field.into(), message.to_owned());
        None
    }

    fn parsed<T>(&mut self, field: impl Into<String>, text: &str) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        text.parse()
            .map_err(|error: T::Err| self.problem(field.into(), error.to_string()))
            .ok()
    }

    fn domain(&mut self, field: String, text: &str) -> Option<Domain> {
        text.parse()
            .map_err(|error| self.problem(field, format!("{error}; expected one such as api.example.com")))
            .ok()
    }

    fn app(&mut self, place: &str, raw: &RawApp) -> App {
        let name = &raw.name;
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
            self.problem(format!("{place}.name"), format!("invalid value {}", shown(name)));
        }
        let domain = raw.domain.as_ref();
        if domain.is_none() && !raw.aliases.is_empty() {
            self.problem(
                format!("{place}.domain"),
                "is required when aliases is set".to_owned(),
            );
        }
        if domain.is_none() && raw.path.is_some() {
            self.problem(
                format!("{place}.domain"),
                "is required when path is set".to_owned(),
            );
        }
        if raw.strip_prefix && raw.path.is_none() {
            self.problem(
                format!("{place}.path"),
                "is required when strip_prefix is set".to_owned(),
            );
        }
        let port = self.port(format!("{place}.port"), raw.port);
        let mut replicas = |list: &str, raw: &[RawReplica]| -> Vec<Replica> {
            let each = raw.iter().enumerate();
            each.filter_map(|(at, raw)| self.replica(&format!("{place}.{list}[{at}]"), raw, port))
                .collect()
        };
        let serving = raw.replicas.as_deref().map(|list| replicas("replicas", list));
        let moving = raw
            .rollout
            .as_ref()
            .map(|rollout| replicas("rollout.replicas", &rollout.replicas));
        let moved = raw.rollout.as_ref().and_then(|rollout| rollout.domain.as_ref());
        if domain.or(moved).is_some() && raw.port.is_none() && raw.lacks_port() {
            self.problem(
                format!("{place}.port"),
                "is required when domain is set".to_owned(),
            );
        }
        let moved = moved.and_then(|text| self.domain(format!("{place}.rollout.domain"), text));
        let aliases = raw.aliases.iter().enumerate();
        App {
            domain: domain.and_then(|text| self.domain(format!("{place}.domain"), text)),
            aliases: aliases
                .filter_map(|(at, text)| self.domain(format!("{place}.aliases[{at}]"), text))
                .collect(),
            path: raw.path.as_ref().and_then(|text| {
                let prefix = self.parsed(format!("{place}.path"), text)?;
                Some(Path {
                    prefix,
                    strip: raw.strip_prefix,
                })
            }),
            stopped: raw.stopped,
            replicas: serving,
            rollout: moving.map(|replicas| Rollout {
                domain: moved,
                replicas,
            }),
        }
    }

    fn port(&mut self, field: String, port: Option<Port>) -> Option<u16> {
        let port = port?;
        let number = port.number();
        if number.is_none() {
            self.problem(field, UpstreamError::Port.to_string());
        }
        number
    }

    /// `port` is that of the application.
    fn replica(&mut self, place: &str, raw: &RawReplica, port: Option<u16>) -> Option<Replica> {
        let own = self.port(format!("{place}.port"), raw.port);
        // A port that is wrong was reported, and one that is missing is reported for the whole application.
        let port = if raw.port.is_some() { own } else { port };
        // The name is checked either way.
        let upstream = Upstream::new(&raw.name, port.unwrap_or(1));
        let upstream = upstream.map_err(|error| self.problem(format!("{place}.name"), error.to_string()));
        Some(Replica {
            upstream: upstream.ok().filter(|_| port.is_some())?,
            running: raw.running,
            health: Health::from(raw.health),
        })
    }

    fn own(&mut self, place: &str, raw: &RawOwn) -> Option<OwnRoute> {
        let domain = self.domain(format!("{place}.domain"), &raw.domain);
        let upstream = self.parsed::<Upstream>(format!("{place}.upstream"), &raw.upstream);
        Some(OwnRoute {
            domain: domain?,
            upstream: upstream?,
        })
    }

    /// `place` is that of the application that claims what it may not; there is none if it is the dashboard.
    fn conflict(&mut self, place: Option<&str>, dashboard: &str, conflict: &Conflict) {
        let field = match place {
            Some(place) => format!("{place}.{}", conflict.field),
            None => format!("{dashboard}.domain"),
        };
        let message = match (&conflict.owner, conflict.app.is_empty()) {
            (Owner::Shipwick, true) => "must be another one than the agent's".to_owned(),
            _ => conflict.to_string(),
        };
        self.problem(field, message);
    }
}
