//! Services of a swarm and their tasks, as a manager lists them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bollard::models::{self, NetworkInspect, Task, TaskState};
use serde_json::Value;

use super::workload::{Instance, Service, Workload};

/// The ids of the networks that services are in.
pub(super) fn networks_of(services: &[models::Service]) -> BTreeSet<String> {
    let vips = services
        .iter()
        .filter_map(|service| service.endpoint.as_ref()?.virtual_ips.as_ref());
    let templates = services
        .iter()
        .filter_map(|service| service.spec.as_ref()?.task_template.as_ref());
    let targets = templates
        .filter_map(|template| template.networks.as_ref())
        .flatten();
    let by_vip = vips.flatten().filter_map(|vip| vip.network_id.clone());
    by_vip
        .chain(targets.filter_map(|network| network.target.clone()))
        .collect()
}

/// What is in lists of services and of their tasks, and in what the networks say of them.
///
/// The list of tasks says which of them run, the networks say where.
pub(super) fn workloads(
    services: Vec<models::Service>,
    tasks: Vec<Task>,
    networks: &[NetworkInspect],
) -> Vec<Workload> {
    let mut running: HashMap<String, Vec<String>> = HashMap::new();
    for task in tasks.into_iter().filter(is_running) {
        if let (Some(service), Some(id)) = (task.service_id, task.id) {
            running.entry(service).or_default().push(id);
        }
    }
    services
        .into_iter()
        .map(|service| {
            let id = service.id.clone().unwrap_or_default();
            let mut tasks = running.remove(&id).unwrap_or_default();
            tasks.sort();
            workload(service, id, &tasks, networks)
        })
        .collect()
}

fn workload(service: models::Service, id: String, tasks: &[String], networks: &[NetworkInspect]) -> Workload {
    let spec = service.spec.unwrap_or_default();
    let name = spec.name.unwrap_or_else(|| id.clone());
    let endpoint = spec.endpoint_spec.unwrap_or_default();
    let ports = endpoint.ports.into_iter().flatten();
    let vips = service
        .endpoint
        .and_then(|endpoint| endpoint.virtual_ips)
        .unwrap_or_default();
    let vips = vips.into_iter().filter_map(|vip| {
        let id = vip.network_id?;
        let network = usable(networks).find(|network| network.id.as_ref() == Some(&id))?;
        Some((network.name.clone()?, without_prefix(&vip.addr?)?))
    });
    let targets = spec
        .task_template
        .and_then(|template| template.networks)
        .unwrap_or_default();
    let is_on_host = targets
        .iter()
        .any(|network| network.target.as_deref() == Some("host"));
    Workload {
        kind: "service",
        labels: spec.labels.unwrap_or_default().into_iter().collect(),
        ports: ports
            .filter_map(|port| u16::try_from(port.target_port?).ok())
            .collect(),
        instances: tasks
            .iter()
            .map(|task| instance(&name, task, networks, is_on_host))
            .collect(),
        service: Some(Service { vips: vips.collect() }),
        name,
        id,
    }
}

fn is_running(task: &Task) -> bool {
    let state = task.status.as_ref().and_then(|status| status.state);
    state == Some(TaskState::RUNNING) && task.desired_state == Some(TaskState::RUNNING)
}

/// The network of published ports is that of the swarm itself: nothing is reached in it.
fn usable(networks: &[NetworkInspect]) -> impl Iterator<Item = &NetworkInspect> {
    networks.iter().filter(|network| network.ingress != Some(true))
}

fn instance(service: &str, task: &str, networks: &[NetworkInspect], host_network: bool) -> Instance {
    let mut addresses = BTreeMap::new();
    for network in usable(networks) {
        let info = network
            .services
            .as_ref()
            .and_then(|services| services.get(service));
        let entries = info
            .and_then(|info| info.get("Tasks")?.as_array())
            .into_iter()
            .flatten();
        for entry in entries {
            // A task is named after its service, its slot and its id.
            let is_it = text(entry, "Name").is_some_and(|name| name.ends_with(&format!(".{task}")));
            let address = text(entry, "EndpointIP").and_then(without_prefix);
            if let (true, Some(name), Some(address)) = (is_it, &network.name, address) {
                addresses.insert(name.clone(), address);
            }
        }
    }
    Instance {
        networks: addresses,
        host_network,
        published: BTreeMap::new(),
    }
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

fn without_prefix(address: &str) -> Option<String> {
    let address = address.split('/').next().filter(|address| !address.is_empty())?;
    Some(address.to_owned())
}
