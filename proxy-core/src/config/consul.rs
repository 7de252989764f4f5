//! `dynamic consul`: the instances of a service in Consul.

use std::sync::Arc;
use std::time::Duration;

use caddy_config as model;
use consul_upstreams::{Locality, Secret, ServiceName, Settings, SettingsError, Tls};

use super::discovery::Sources;
use crate::environment::Environment;
use crate::forward::query::Query;
use crate::upstream::discovery::{Families, Finder, Key, Making};

// === impl Sources ===

impl Sources<'_, '_> {
    /// What Consul's own clients read of the environment is used where the configuration says nothing.
    pub(super) fn consul(&mut self, consul: &model::ConsulUpstreams) -> Option<Finder> {
        let text = &consul.service;
        let around = self.compiler.surroundings;
        let settings = match settings(consul, &around.environment) {
            Ok(settings) => settings,
            Err(error) => return self.refused(text, &error.to_string()),
        };
        let ways = self.reach.ways.of_found();
        let care = self.reach.checking.of_found(self.compiler, ways);
        let terms = self.terms(self.reach.servers, None, None);
        let key = Key {
            settings,
            text: text.clone(),
            weights: consul.weights,
            max_requests: self.reach.most,
            care: format!("{} {terms:?}", care.text()),
        };
        let making = Making {
            targets: terms.clone(),
            terms,
            families: Families::Both,
            max_requests: self.reach.most,
            care,
            resolvers: Arc::clone(&around.resolvers),
            slots: around.slots.clone(),
        };
        let catalog = match around.consuls.of(&key, making) {
            Ok(catalog) => catalog,
            Err(error) => return self.refused(text, &error.to_string()),
        };
        let template = self.compiler.value(text);
        let service = match template.as_static().map(ServiceName::parse) {
            Some(Ok(service)) => Ok(service),
            Some(Err(error)) => return self.refused(text, &error.to_string()),
            None => Err(self.query(Query::Consul(template))),
        };
        Some(Finder::Consul(service, catalog))
    }

    fn refused(&mut self, text: &str, problem: &str) -> Option<Finder> {
        let problem = format!("consul {text}: {problem}");
        self.compiler.wrong("no source of upstreams", &problem);
        None
    }
}

fn settings(consul: &model::ConsulUpstreams, environment: &Environment) -> Result<Settings, SettingsError> {
    let locality = consul.locality.as_ref().map(|locality| Locality {
        node_meta: locality.node_meta.clone(),
        local_value: locality.local_value.clone(),
        minimum: locality.minimum.unwrap_or(Locality::MINIMUM),
    });
    let tls = consul.tls.clone().unwrap_or_default();
    // 0 stands for the default; what waits for a look-up has to know how long that is.
    let nonzero = |time: Option<Duration>| time.filter(|time| !time.is_zero());
    let mut settings = Settings {
        address: consul.address.clone(),
        refresh: nonzero(consul.refresh).unwrap_or(Settings::REFRESH),
        grace_period: consul.grace_period.unwrap_or_default(),
        locality,
        token: consul.token.as_ref().map(|token| Secret::new(token.expose())),
        token_file: consul.token_file.clone(),
        basic_auth: None,
        tls: Tls {
            ca: tls.ca,
            ca_path: None,
            client_cert: tls.client_cert,
            client_key: tls.client_key,
            server_name: tls.server_name,
            insecure: tls.insecure_skip_verify,
        },
        datacenter: consul.datacenter.clone(),
        namespace: consul.namespace.clone(),
        partition: consul.partition.clone(),
        tag: consul.tag.clone(),
        stale: consul.stale,
        timeout: nonzero(consul.timeout).unwrap_or(Settings::TIMEOUT),
        watch: consul.watch,
    };
    settings.fill_in(&|name| environment.get(name))?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_zero_is_the_default() {
        let zero = model::ConsulUpstreams {
            refresh: Some(Duration::ZERO),
            timeout: Some(Duration::ZERO),
            ..model::ConsulUpstreams::default()
        };
        let environment = Environment::default();
        let settings = settings(&zero, &environment).unwrap();
        assert_eq!(settings, Settings::default());
    }
}
