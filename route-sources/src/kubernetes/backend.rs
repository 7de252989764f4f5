//! What is behind a backend of an Ingress.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::api::networking::v1::{IngressBackend, IngressServiceBackend, ServiceBackendPort};
use route_store::document::RawUpstream;
use thiserror::Error;

use super::cluster::{Cluster, Key};

/// Finds what is behind backends.
#[derive(Debug)]
pub(super) struct Backends<'a> {
    cluster: &'a Cluster,
    slices: BTreeMap<Key, Vec<&'a EndpointSlice>>,
    external_names: bool,
}

/// A backend that exists.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) key: Key,
    pub(super) service: &'a Service,
    /// The port of the Service, unless it is only a number of a Service for a name elsewhere.
    pub(super) port: Option<&'a ServicePort>,
    /// Its number.
    pub(super) number: u16,
}

/// Why nothing is behind a backend.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) enum BackendError {
    #[error("a backend must be a Service")]
    Resource,
    #[error("the backend names no port")]
    NoPort,
    #[error("there is no Service {0}")]
    NoService(Key),
    #[error("the Service {service} has no port {port}")]
    NoSuchPort { service: Key, port: String },
    #[error(
        "the Service {0} stands for a name elsewhere, which the configuration of the proxy does not allow"
    )]
    ExternalName(Key),
    #[error("the Service {0} stands for a name that is none, or for this machine")]
    BadName(Key),
}

// === impl Backends ===

impl<'a> Backends<'a> {
    pub(super) fn new(cluster: &'a Cluster, external_names: bool) -> Self {
        Self {
            cluster,
            slices: cluster.slices_by_service(),
            external_names,
        }
    }

    /// The Service and the port that a backend means.
    pub(super) fn find(&self, namespace: &str, backend: &IngressBackend) -> Result<Found<'a>, BackendError> {
        let named = backend.service.as_ref().ok_or(BackendError::Resource)?;
        let wanted = named.port.as_ref().ok_or(BackendError::NoPort)?;
        let key = Key::new(namespace, &named.name);
        let service = self.cluster.services.get(&key);
        let service = service.ok_or_else(|| BackendError::NoService(key.clone()))?;
        let port = port_of(service, wanted);
        let number = match (port, is_external(service)) {
            (Some(port), _) => u16::try_from(port.port).ok(),
            (None, true) => wanted.number.and_then(|number| u16::try_from(number).ok()),
            (None, false) => None,
        };
        let number = number.filter(|number| *number != 0);
        let number = number.ok_or_else(|| BackendError::NoSuchPort {
            service: key.clone(),
            port: shown(named),
        })?;
        Ok(Found {
            key,
            service,
            port,
            number,
        })
    }

    /// The upstreams of a backend, sorted. None if nothing is ready.
    pub(super) fn upstreams(&self, found: &Found<'_>) -> Result<Vec<RawUpstream>, BackendError> {
        if is_external(found.service) {
            return self.external(found).map(|upstream| vec![upstream]);
        }
        let addresses = self.addresses(found);
        Ok(addresses
            .into_iter()
            .map(|address| upstream(address.to_string()))
            .collect())
    }

    /// The port that the pods of a Service listen on, if that is one.
    pub(super) fn pod_port(&self, found: &Found<'_>) -> Option<u16> {
        let ports: BTreeSet<_> = self
            .slices_of(&found.key)
            .filter_map(|slice| slice_port(slice, found.port))
            .collect();
        let only = ports.first().copied().filter(|_| ports.len() == 1);
        only.or_else(|| {
            use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
            match found.port?.target_port.as_ref() {
                Some(IntOrString::Int(number)) => u16::try_from(*number).ok(),
                Some(IntOrString::String(_)) => None,
                None => Some(found.number),
            }
        })
    }

    fn slices_of(&self, service: &Key) -> impl Iterator<Item = &'a EndpointSlice> {
        self.slices.get(service).into_iter().flatten().copied()
    }

    /// Those that are ready; only if none is, those that still serve while they end.
    fn addresses(&self, found: &Found<'_>) -> BTreeSet<SocketAddr> {
        let all = |accepts: fn(&Endpoint) -> bool| {
            let mut addresses = BTreeSet::new();
            for slice in self.slices_of(&found.key) {
                let Some(port) = slice_port(slice, found.port) else {
                    continue;
                };
                let endpoints = slice
                    .endpoints
                    .iter()
                    .flatten()
                    .filter(|endpoint| accepts(endpoint));
                let written = endpoints.flat_map(|endpoint| &endpoint.addresses);
                addresses.extend(written.filter_map(|text| Some(SocketAddr::new(address(text)?, port))));
            }
            addresses
        };
        let ready = all(is_ready);
        if ready.is_empty() { all(is_ending) } else { ready }
    }

    fn external(&self, found: &Found<'_>) -> Result<RawUpstream, BackendError> {
        if !self.external_names {
            return Err(BackendError::ExternalName(found.key.clone()));
        }
        let bad = || BackendError::BadName(found.key.clone());
        let spec = found.service.spec.as_ref();
        let name = spec
            .and_then(|spec| spec.external_name.as_deref())
            .unwrap_or_default();
        let name: route_store::HostName = name.parse().map_err(|_| bad())?;
        let text = name.as_str();
        if name.is_wildcard() || text == "localhost" || text.ends_with(".localhost") {
            return Err(bad());
        }
        match text.parse::<IpAddr>() {
            Ok(_) => {
                let ip = address(text).ok_or_else(bad)?;
                Ok(upstream(SocketAddr::new(ip, found.number).to_string()))
            }
            Err(_) => Ok(upstream(format!("{text}:{}", found.number))),
        }
    }
}

/// Whether a Service stands for a name elsewhere.
pub(super) fn is_external(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName")
}

/// Whether the name of a Service leads to its pods themselves.
pub(super) fn is_headless(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

fn port_of<'a>(service: &'a Service, wanted: &ServiceBackendPort) -> Option<&'a ServicePort> {
    let mut ports = service.spec.as_ref()?.ports.iter().flatten();
    ports.find(|port| match (&wanted.name, wanted.number) {
        (Some(name), _) => port.name.as_ref() == Some(name),
        (None, number) => Some(port.port) == number,
    })
}

/// The number of the port in a slice that a port of the Service leads to: they have the same name.
fn slice_port(slice: &EndpointSlice, port: Option<&ServicePort>) -> Option<u16> {
    if !matches!(slice.address_type.as_str(), "IPv4" | "IPv6") {
        return None;
    }
    let name = port?.name.as_deref().unwrap_or_default();
    let mut ports = slice.ports.iter().flatten();
    let port = ports.find(|port| port.name.as_deref().unwrap_or_default() == name)?;
    u16::try_from(port.port?).ok().filter(|number| *number != 0)
}

fn is_ready(endpoint: &Endpoint) -> bool {
    let conditions = endpoint.conditions.as_ref();
    conditions.and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn is_ending(endpoint: &Endpoint) -> bool {
    endpoint
        .conditions
        .as_ref()
        .is_some_and(|conditions| conditions.serving == Some(true) && conditions.terminating == Some(true))
}

/// An address that can be another machine's. Whoever may write resources must not reach what listens on this one alone, nor
/// the metadata of a cloud.
fn address(text: &str) -> Option<IpAddr> {
    let address = text.parse::<IpAddr>().ok()?.to_canonical();
    let is_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let is_wrong = is_local || address.is_loopback() || address.is_unspecified() || address.is_multicast();
    (!is_wrong).then_some(address)
}

fn upstream(address: String) -> RawUpstream {
    RawUpstream {
        address,
        ..RawUpstream::default()
    }
}

fn shown(backend: &IngressServiceBackend) -> String {
    let port = backend.port.as_ref();
    let name = port.and_then(|port| port.name.clone());
    let number = port.and_then(|port| port.number).unwrap_or_default();
    name.unwrap_or_else(|| number.to_string())
}
