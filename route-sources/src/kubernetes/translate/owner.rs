//! One Ingress, as it is served.

use k8s_openapi::api::networking::v1::Ingress;
use route_store::HostName;
use route_store::document::{RawTarget, RawUpstream};
use serde_json::Value;

use super::World;
use super::report::Report;
use crate::kubernetes::annotations::Annotations;
use crate::kubernetes::auth;
use crate::kubernetes::claims::{Claim, closed};
use crate::kubernetes::cluster::Key;
use crate::kubernetes::doors::{self, Server};
use crate::kubernetes::paths::Place;

/// What an Ingress asks for everywhere.
pub(super) struct Owner<'a> {
    pub(super) key: &'a Key,
    pub(super) annotations: Annotations,
    /// The handlers that run first: those that keep strangers out before all others. Else why the Ingress is not served.
    pub(super) first: Result<Vec<Value>, Vec<String>>,
    doors_key: String,
}

// === impl Owner ===

impl<'a> Owner<'a> {
    pub(super) fn read(world: &World<'_>, key: &'a Key, ingress: &Ingress) -> Self {
        let mut owner = Self {
            key,
            annotations: Annotations::default(),
            first: Ok(Vec::new()),
            doors_key: String::new(),
        };
        let given = ingress.metadata.annotations.clone().unwrap_or_default();
        match Annotations::read(&given, world.settings.allow_handlers) {
            Ok(annotations) => {
                owner.annotations = annotations;
                if let Err(reason) = owner.secrets(world) {
                    owner.first = Err(vec![reason]);
                }
            }
            Err(errors) => owner.first = Err(errors.iter().map(ToString::to_string).collect()),
        }
        owner
    }

    fn secrets(&mut self, world: &World<'_>) -> Result<(), String> {
        let namespace = &self.key.namespace;
        let secret = |name: &str| {
            let key = Key::new(namespace, name);
            let secret = world.cluster.secrets.get(&key);
            secret.ok_or_else(|| format!("the Secret {key} is not there, or may not be read"))
        };
        let mut first = Vec::new();
        if let Some(name) = &self.annotations.basic_auth {
            let handler = auth::handler(secret(name)?);
            first.push(handler.map_err(|error| format!("the Secret {namespace}/{name}: {error}"))?);
        }
        if let Some(app) = &self.annotations.doors {
            self.doors_key = doors::key(secret(&app.secret)?).map_err(|error| error.to_string())?;
        }
        first.append(&mut self.annotations.handlers);
        self.first = Ok(first);
        Ok(())
    }

    /// What upstreams become; of an Ingress that is not served, nothing.
    pub(super) fn proxy(&self, upstreams: Vec<RawUpstream>) -> RawTarget {
        let Ok(first) = &self.first else {
            return closed();
        };
        RawTarget {
            upstreams: Some(upstreams),
            load_balancing: self.annotations.load_balancing.clone(),
            handlers: first.clone(),
            eskip: None,
        }
    }

    /// What the servers of a Doors app become.
    pub(super) fn doors(&self, servers: &[Server], host: &HostName, report: &mut Report) -> RawTarget {
        let (Ok(first), Some(app)) = (&self.first, &self.annotations.doors) else {
            return closed();
        };
        if servers.is_empty() {
            return closed();
        }
        let policy = self.annotations.load_balancing.as_deref();
        match doors::handlers(app, &self.doors_key, servers, policy) {
            Ok(handlers) => RawTarget {
                handlers: first.iter().cloned().chain(handlers).collect(),
                ..RawTarget::default()
            },
            Err(error) => {
                report.ingress(Some(host.to_string()), self.key, error.to_string(), false);
                closed()
            }
        }
    }

    pub(super) fn claim(&self, place: Place, wants_certificate: bool, target: RawTarget) -> Claim {
        Claim {
            owner: self.key.clone(),
            place,
            wants_certificate,
            headers: self.annotations.headers.clone(),
            target,
        }
    }
}
