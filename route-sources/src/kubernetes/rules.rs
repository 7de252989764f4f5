//! The rules of an Ingress, one by one.

use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressRule, IngressSpec};
use route_store::HostName;

use super::paths::Place;
use super::settings::Settings;

/// What an Ingress wants to be served at a place of a host.
#[derive(Clone, Debug)]
pub(super) struct Rule<'a> {
    pub(super) host: HostName,
    pub(super) place: Place,
    pub(super) backend: &'a IngressBackend,
    /// Whether it is for what no rule of any Ingress is for.
    pub(super) is_default: bool,
    /// Whether the place is only kept from others, as what is wanted there cannot be told.
    pub(super) is_closed: bool,
}

/// Something that is no rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) host: Option<String>,
    pub(super) reason: String,
}

/// Reads the rules of an Ingress, in its order; what is none is reported.
pub(super) fn rules<'a>(ingress: &'a Ingress, settings: &Settings) -> (Vec<Rule<'a>>, Vec<Wrong>) {
    let mut reader = Reader {
        settings,
        rules: Vec::new(),
        wrong: Vec::new(),
        hosts: Vec::new(),
    };
    if let Some(spec) = &ingress.spec {
        reader.spec(spec);
    } else {
        reader.report(None, "the Ingress has no spec");
    }
    (reader.rules, reader.wrong)
}

struct Reader<'a, 's> {
    settings: &'s Settings,
    rules: Vec<Rule<'a>>,
    wrong: Vec<Wrong>,
    hosts: Vec<HostName>,
}

// === impl Reader ===

impl<'a> Reader<'a, '_> {
    fn report(&mut self, host: Option<&HostName>, reason: impl Into<String>) {
        self.wrong.push(Wrong {
            host: host.map(ToString::to_string),
            reason: reason.into(),
        });
    }

    fn spec(&mut self, spec: &'a IngressSpec) {
        let given = spec.rules.as_deref().unwrap_or_default();
        for rule in given {
            self.rule(rule, spec.default_backend.is_some());
        }
        let Some(backend) = &spec.default_backend else {
            if given.is_empty() {
                self.report(None, "the Ingress has neither rules nor a default backend");
            }
            return;
        };
        if let Some(host) = &self.settings.default_host {
            self.hosts.push(host.clone());
        } else if given.is_empty() {
            self.report(
                None,
                "a default backend without rules needs a setting of the proxy that names its host",
            );
        }
        self.hosts.sort();
        self.hosts.dedup();
        for host in std::mem::take(&mut self.hosts) {
            self.rules.push(Rule {
                host,
                place: Place::below("/"),
                backend,
                is_default: true,
                is_closed: false,
            });
        }
    }

    fn rule(&mut self, rule: &'a IngressRule, has_default: bool) {
        let written = rule.host.as_deref().filter(|host| !host.is_empty());
        let host = match written.map(str::parse::<HostName>) {
            Some(Ok(host)) => host,
            Some(Err(error)) => {
                self.wrong.push(Wrong {
                    host: written.map(str::to_owned),
                    reason: error.to_string(),
                });
                return;
            }
            None => {
                let Some(host) = self.settings.default_host.clone() else {
                    self.report(
                        None,
                        "a rule without a host needs a setting of the proxy that names one",
                    );
                    return;
                };
                host
            }
        };
        self.hosts.push(host.clone());
        let paths = rule
            .http
            .as_ref()
            .map(|http| http.paths.as_slice())
            .unwrap_or_default();
        if paths.is_empty() && !has_default {
            self.report(
                Some(&host),
                "the rule has no paths, and the Ingress no default backend",
            );
        }
        for path in paths {
            self.path(&host, path);
        }
    }

    fn path(&mut self, host: &HostName, path: &'a HTTPIngressPath) {
        let written = path.path.as_deref();
        let (place, is_closed) = match Place::parse(&path.path_type, written) {
            Ok(place) => (Some(place), false),
            Err(error) => {
                let shown = written.unwrap_or_default();
                self.report(Some(host), format!("path `{shown}`: {error}"));
                (Place::literal(shown), true)
            }
        };
        if let Some(place) = place {
            self.rules.push(Rule {
                host: host.clone(),
                place,
                backend: &path.backend,
                is_default: false,
                is_closed,
            });
        }
    }
}
