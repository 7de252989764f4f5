//! A document as it is written. The comments of its fields are the descriptions of the schema.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::desired::Health;

/// What a proxy should route where, as `doorway shipwick` and the crate shipwick-routes read it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(title = "Desired routes")]
#[serde(deny_unknown_fields)]
pub(super) struct RawDesired {
    /// The address of this schema, for editors.
    #[serde(default, rename = "$schema")]
    #[expect(dead_code, reason = "it is read, and says nothing to us")]
    schema: Option<String>,
    /// Where the proxy's admin API is: `unix//run/caddy/admin.sock` or `http://host:port`. Required, unless the command
    /// line says it.
    #[serde(default)]
    pub(super) admin: Option<String>,
    /// The applications.
    #[serde(default)]
    pub(super) apps: Vec<RawApp>,
    /// The agent's own API at a hostname.
    #[serde(default)]
    pub(super) agent: Option<RawOwn>,
    /// The dashboard at a hostname.
    #[serde(default)]
    pub(super) dashboard: Option<RawOwn>,
}

/// An application.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "App")]
#[serde(deny_unknown_fields)]
pub(super) struct RawApp {
    /// Its name, which no other one has.
    pub(super) name: String,
    /// Where it is served: lowercase letters, digits and dashes in dot-separated labels. Without one it has no route.
    #[serde(default)]
    pub(super) domain: Option<String>,
    /// More hosts of the same route.
    #[serde(default)]
    pub(super) aliases: Vec<String>,
    /// The path, such as `/api`, that it serves of its hosts, with everything below it; all of them without one.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// Whether it is asked without that path.
    #[serde(default)]
    pub(super) strip_prefix: bool,
    /// The port of its replicas. Required when `domain` is set, unless each replica has its own.
    #[serde(default)]
    pub(super) port: Option<Port>,
    /// Whether it was stopped: its domain answers 503 then.
    #[serde(default)]
    pub(super) stopped: bool,
    /// The replicas of the deployment that serves. Without the field nothing was deployed yet, and there is no route.
    #[serde(default)]
    pub(super) replicas: Option<Vec<RawReplica>>,
    /// Who serves while a rollout is under way, in place of `replicas` and `stopped`.
    #[serde(default)]
    pub(super) rollout: Option<RawRollout>,
}

/// The routing of an application during a rollout.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Rollout")]
#[serde(deny_unknown_fields)]
pub(super) struct RawRollout {
    /// The domain that is served at this moment, if it is not that of the application.
    #[serde(default)]
    pub(super) domain: Option<String>,
    /// Exactly the replicas that serve at this moment.
    pub(super) replicas: Vec<RawReplica>,
}

/// One container.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Replica")]
#[serde(deny_unknown_fields)]
pub(super) struct RawReplica {
    /// The name at which the proxy reaches it: a container name, hostname or IP address.
    pub(super) name: String,
    /// Its port, if it is not that of the application.
    #[serde(default)]
    pub(super) port: Option<Port>,
    /// Whether it runs.
    #[serde(default = "yes")]
    pub(super) running: bool,
    /// What its health check says. `starting` and `unhealthy` ones get no requests.
    #[serde(default)]
    pub(super) health: RawHealth,
}

/// What is known of a replica's health.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Health")]
#[serde(rename_all = "lowercase")]
pub(super) enum RawHealth {
    #[default]
    Unknown,
    Starting,
    Healthy,
    Unhealthy,
}

/// The route of the agent or the dashboard.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "OwnRoute")]
#[serde(deny_unknown_fields)]
pub(super) struct RawOwn {
    /// Where it is served.
    pub(super) domain: String,
    /// Where it listens: `host:port`.
    pub(super) upstream: String,
}

/// A port, from 1 to 65535.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(super) struct Port(#[schemars(range(min = 1, max = 65535))] i64);

// === impl RawApp ===

impl RawApp {
    /// Whether a replica relies on the port of the application.
    pub(super) fn lacks_port(&self) -> bool {
        let rollout = self.rollout.iter().flat_map(|rollout| &rollout.replicas);
        let mut all = self.replicas.iter().flatten().chain(rollout);
        all.any(|replica| replica.port.is_none())
    }
}

// === impl Port ===

impl Port {
    /// The number, if it is one of a port.
    pub(super) fn number(self) -> Option<u16> {
        u16::try_from(self.0).ok().filter(|number| *number != 0)
    }
}

impl From<RawHealth> for Health {
    fn from(raw: RawHealth) -> Self {
        match raw {
            RawHealth::Unknown => Self::Unknown,
            RawHealth::Starting => Self::Starting,
            RawHealth::Healthy => Self::Healthy,
            RawHealth::Unhealthy => Self::Unhealthy,
        }
    }
}

fn yes() -> bool {
    true
}
