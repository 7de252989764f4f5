//! Where the proxy reaches what a daemon runs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use route_store::document::RawUpstream;

use super::labels::Definition;
use super::settings::{DockerSettings, Reach};
use super::workload::{Instance, Workload};

/// Where requests for one route go to, and what whoever wrote the labels should know.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reached {
    pub(super) upstreams: Vec<RawUpstream>,
    pub(super) note: Option<String>,
}

/// Why there is no telling where something that runs is reached.
#[derive(Debug, PartialEq)]
pub(super) enum Unreached {
    /// Its labels or the settings are wrong.
    Wrong(String),
    /// The daemon does not say it, or not yet.
    Unknown(String),
}

/// Where the instances of `workload` are reached for a route; nowhere if none runs.
///
/// # Errors
///
/// If it runs but there is no telling where. Of several instances, those count that the daemon says it of.
pub(super) fn reached(
    workload: &Workload,
    route: &Definition,
    settings: &DockerSettings,
) -> Result<Reached, Unreached> {
    let mut found = Reached::default();
    if !workload.is_running() {
        return Ok(found);
    }
    let port = port(workload, route).map_err(Unreached::Wrong)?;
    let upstream = |host: &str, port: u16| RawUpstream {
        address: authority(host, port),
        weight: route.weight,
        sni: route.sni.clone(),
    };
    let reach = route.reach.unwrap_or(settings.reach);
    match (&workload.service, reach) {
        (Some(_), Reach::Dns) => found
            .upstreams
            .push(upstream(&format!("tasks.{}", workload.name), port)),
        (Some(service), Reach::Vip) => {
            let (address, note) = choose(&service.vips, route, settings)?;
            found.upstreams.push(upstream(&address, port));
            found.note = note;
        }
        (Some(_), Reach::Tasks) | (None, _) => {
            let mut unknown = None;
            for instance in &workload.instances {
                match instance_at(instance, port, route, settings) {
                    Ok((host, port, note)) => {
                        found.upstreams.push(upstream(&host, port));
                        found.note = found.note.or(note);
                    }
                    Err(Unreached::Unknown(reason)) => unknown = Some(reason),
                    Err(wrong) => return Err(wrong),
                }
            }
            if let (Some(reason), true) = (unknown, found.upstreams.is_empty()) {
                return Err(Unreached::Unknown(reason));
            }
        }
    }
    Ok(found)
}

/// The port that labels name, else the only one that there is.
fn port(workload: &Workload, route: &Definition) -> Result<u16, String> {
    let mut ports = workload.ports.iter();
    match (route.port, ports.next(), ports.next()) {
        (Some(port), _, _) | (None, Some(&port), None) => Ok(port),
        (None, Some(_), Some(_)) => {
            let all: Vec<_> = workload.ports.iter().map(u16::to_string).collect();
            Err(format!(
                "it has the ports {}: a label `port` must say which",
                all.join(", ")
            ))
        }
        (None, None, _) => Err("it exposes no port: a label `port` must say which".to_owned()),
    }
}

fn instance_at(
    instance: &Instance,
    port: u16,
    route: &Definition,
    settings: &DockerSettings,
) -> Result<(String, u16, Option<String>), Unreached> {
    if instance.host_network {
        return Ok((settings.host_address.to_string(), port, None));
    }
    if settings.published_ports && route.network.is_none() {
        let help = || format!("its port {port} is not published, and the settings ask for published ports");
        let (address, port) = instance
            .published
            .get(&port)
            .ok_or_else(|| Unreached::Wrong(help()))?;
        let host = settings.host_address.to_string();
        return Ok((address.clone().unwrap_or(host), *port, None));
    }
    let (address, note) = choose(&instance.networks, route, settings)?;
    Ok((address, port, note))
}

/// An address in the network that labels name, else that the settings name, else in the only one, else in the first by name.
fn choose(
    networks: &BTreeMap<String, String>,
    route: &Definition,
    settings: &DockerSettings,
) -> Result<(String, Option<String>), Unreached> {
    let Some((name, address)) = networks.first_key_value() else {
        return Err(Unreached::Unknown("it has no address in any network".to_owned()));
    };
    let names = || networks.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    if let Some(network) = &route.network {
        let address = networks.get(network).cloned();
        let error = || {
            let names = names();
            Unreached::Wrong(format!(
                "it has no address in the network `{network}`, but in these: {names}"
            ))
        };
        return address.map(|address| (address, None)).ok_or_else(error);
    }
    if let Some(address) = settings.networks.iter().find_map(|name| networks.get(name)) {
        return Ok((address.clone(), None));
    }
    let note = (networks.len() > 1).then(|| {
        let names = names();
        format!("it is in the networks {names}: `{name}` is taken; a label `network` should say which")
    });
    Ok((address.clone(), note))
}

fn authority(host: &str, port: u16) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}
