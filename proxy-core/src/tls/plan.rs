//! How a listener makes the connections of TLS: one configuration for all of them, or one by the name that a client
//! asks for.

use std::collections::HashMap;
use std::sync::Arc;

use rustls::ServerConfig;

use super::client_auth::ClientAuth;
use super::resolver::lower_case;
use super::terms::TlsPolicy;

/// What a listener's connections of TLS get.
#[derive(Debug)]
pub(crate) struct TlsPlan {
    /// What it was made of, to be compared with.
    policies: Vec<TlsPolicy>,
    choice: Choice,
}

#[derive(Debug)]
enum Choice {
    /// Whatever the client asks for.
    Always(Arc<ServerConfig>),
    ByName(ByName),
}

/// Finds the first policy that is for a name without going through all of them.
#[derive(Debug)]
struct ByName {
    /// By the number of the policy; those on equal terms are the same.
    configs: Vec<Arc<ServerConfig>>,
    exact: HashMap<Box<str>, usize>,
    /// With `*` for labels.
    wildcards: HashMap<Box<str>, usize>,
    /// The most labels that any of these leaves open.
    most_open: usize,
    /// The policy for every connection.
    rest: Option<usize>,
    /// For those that no policy is for: it has no certificate, so the handshake ends with an alert.
    refusal: Arc<ServerConfig>,
}

// === impl TlsPlan ===

impl TlsPlan {
    /// `policies` in their order, each with its configuration; `refusal` has no certificate to show.
    pub(super) fn new(mut policies: Vec<(TlsPolicy, Arc<ServerConfig>)>, refusal: Arc<ServerConfig>) -> Self {
        // None behind the first one that is for all is ever reached.
        if let Some(last) = policies.iter().position(|(policy, _)| policy.names.is_none()) {
            policies.truncate(last.saturating_add(1));
            let is_alike = |(policy, _): &(TlsPolicy, _)| policy.terms == policies[last].0.terms;
            if policies.iter().all(is_alike) {
                policies.drain(..last);
            }
        }
        let (policies, configs): (Vec<_>, Vec<_>) = policies.into_iter().unzip();
        let choice = match (&policies[..], &configs[..]) {
            ([TlsPolicy { names: None, .. }], [config]) => Choice::Always(Arc::clone(config)),
            _ => Choice::ByName(ByName::new(&policies, configs, refusal)),
        };
        Self { policies, choice }
    }

    /// The configuration of every connection, if there is one for all.
    #[cfg(test)]
    pub(crate) fn always(&self) -> Option<&Arc<ServerConfig>> {
        match &self.choice {
            Choice::Always(config) => Some(config),
            Choice::ByName(_) => None,
        }
    }

    /// The configuration for a client that asks for `name`.
    pub(crate) fn choose(&self, name: Option<&str>) -> &Arc<ServerConfig> {
        match &self.choice {
            Choice::Always(config) => config,
            Choice::ByName(names) => names
                .find(name.unwrap_or_default())
                .and_then(|number| names.configs.get(number))
                .unwrap_or(&names.refusal),
        }
    }

    /// What a client that asks for `name` must show.
    pub(crate) fn clients(&self, name: Option<&str>) -> Option<&Arc<ClientAuth>> {
        let number = match &self.choice {
            Choice::Always(_) => 0,
            Choice::ByName(names) => names.find(name.unwrap_or_default())?,
        };
        self.policies.get(number)?.terms.clients.as_ref()
    }

    /// Whether a client of any name must show something.
    pub(crate) fn asks_clients(&self) -> bool {
        self.policies.iter().any(|policy| policy.terms.clients.is_some())
    }

    /// Whether connections are made as by `other`, certificates excepted.
    pub(crate) fn has_terms_of(&self, other: &Self) -> bool {
        self.policies == other.policies
    }
}

// === impl ByName ===

impl ByName {
    fn new(policies: &[TlsPolicy], configs: Vec<Arc<ServerConfig>>, refusal: Arc<ServerConfig>) -> Self {
        let mut by_name = Self {
            configs,
            exact: HashMap::new(),
            wildcards: HashMap::new(),
            most_open: 0,
            rest: None,
            refusal,
        };
        for (number, policy) in policies.iter().enumerate() {
            let Some(names) = &policy.names else {
                by_name.rest.get_or_insert(number);
                continue;
            };
            for name in names {
                let open = name.split('.').take_while(|label| *label == "*").count();
                by_name.most_open = by_name.most_open.max(open);
                let known = if open == 0 {
                    &mut by_name.exact
                } else {
                    &mut by_name.wildcards
                };
                known.entry(name.as_str().into()).or_insert(number);
            }
        }
        by_name
    }

    /// The number of the first policy for `name`.
    fn find(&self, name: &str) -> Option<usize> {
        let name = lower_case(name.strip_suffix('.').unwrap_or(name));
        let mut first = self.exact.get(&*name).copied();
        let mut consider = |number: Option<usize>| {
            if let Some(number) = number {
                first = Some(first.map_or(number, |first: usize| first.min(number)));
            }
        };
        let (mut rest, mut stars) = (&*name, String::new());
        for _ in 0..self.most_open {
            if rest.is_empty() {
                break;
            }
            let behind = rest.find('.').and_then(|dot| rest.get(dot..)).unwrap_or_default();
            stars.push('*');
            consider(self.wildcards.get(&*format!("{stars}{behind}")).copied());
            stars.push('.');
            rest = behind.strip_prefix('.').unwrap_or_default();
        }
        consider(self.rest);
        first
    }
}

#[cfg(test)]
mod tests;
