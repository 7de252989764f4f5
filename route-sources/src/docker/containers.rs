//! Containers as a daemon lists them.

use std::collections::HashMap;

use bollard::models::{
    ContainerSummary, ContainerSummaryStateEnum, EndpointSettings, PortSummary, PortSummaryTypeEnum,
};

use super::workload::{Instance, Workload};

/// What is in a list of containers; those that do not run have no instance.
pub(super) fn workloads(list: Vec<ContainerSummary>) -> Vec<Workload> {
    let hosts_of_networks: HashMap<String, Instance> = list
        .iter()
        .filter_map(|container| Some((container.id.clone()?, instance(container))))
        .collect();
    list.into_iter()
        .map(|container| workload(container, &hosts_of_networks))
        .collect()
}

fn workload(container: ContainerSummary, all: &HashMap<String, Instance>) -> Workload {
    let is_running = container.state == Some(ContainerSummaryStateEnum::RUNNING);
    let instances = if is_running {
        vec![reached(&container, all)]
    } else {
        Vec::new()
    };
    let tcp = container.ports.iter().flatten().filter(|port| is_tcp(port));
    let ports = tcp.map(|port| port.private_port).collect();
    let id = container.id.unwrap_or_default();
    // A container that others link to has more names, each with the name of the other one before it.
    let own = container.names.iter().flatten().filter_map(|name| {
        let name = name.strip_prefix('/').unwrap_or(name);
        (!name.contains('/')).then_some(name)
    });
    Workload {
        kind: "container",
        name: own.min().unwrap_or(&id).to_owned(),
        labels: container.labels.unwrap_or_default().into_iter().collect(),
        ports,
        instances,
        service: None,
        id,
    }
}

/// Where a container is reached: in the networks of another one if it has those.
fn reached(container: &ContainerSummary, all: &HashMap<String, Instance>) -> Instance {
    let mode = container
        .host_config
        .as_ref()
        .and_then(|config| config.network_mode.as_deref());
    let other = mode.and_then(|mode| mode.strip_prefix("container:"));
    match other.and_then(|id| all.get(id)) {
        Some(other) => other.clone(),
        None => instance(container),
    }
}

fn instance(container: &ContainerSummary) -> Instance {
    let mode = container
        .host_config
        .as_ref()
        .and_then(|config| config.network_mode.as_deref());
    let networks = container
        .network_settings
        .iter()
        .flat_map(|settings| settings.networks.iter().flatten());
    let mut published = std::collections::BTreeMap::new();
    for port in container.ports.iter().flatten().filter(|port| is_tcp(port)) {
        if let Some(public) = port.public_port {
            let address = port
                .ip
                .clone()
                .filter(|ip| !matches!(ip.as_str(), "" | "0.0.0.0" | "::"));
            let given = (address, public);
            let slot = published
                .entry(port.private_port)
                .or_insert_with(|| given.clone());
            // A daemon lists them in any order.
            if given < *slot {
                *slot = given;
            }
        }
    }
    Instance {
        networks: networks
            .filter(|(name, _)| name.as_str() != "host" && name.as_str() != "none")
            .filter_map(|(name, endpoint)| Some((name.clone(), address(endpoint)?)))
            .collect(),
        host_network: mode == Some("host"),
        published,
    }
}

fn address(endpoint: &EndpointSettings) -> Option<String> {
    let given = |address: &Option<String>| address.clone().filter(|address| !address.is_empty());
    given(&endpoint.ip_address).or_else(|| given(&endpoint.global_ipv6_address))
}

fn is_tcp(port: &PortSummary) -> bool {
    matches!(
        port.typ,
        None | Some(PortSummaryTypeEnum::TCP | PortSummaryTypeEnum::EMPTY)
    )
}
