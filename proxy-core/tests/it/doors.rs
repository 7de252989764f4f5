//! A Doors app behind the proxy: what its protocol asks of whatever stands in front of it.

mod bytes;
mod gone;
mod moving;
mod paths;
mod silence;
mod streams;

use crate::support::net::Net;
use crate::support::pod::{Pod, Protocol};
use crate::support::rig::{Doors, Rig};

/// The protocols a pod may speak.
const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::H2c];

/// One pod that speaks `protocol`, and the configuration of a proxy in front of it.
async fn pod_and_doors(protocol: Protocol) -> (Pod, Doors) {
    let server = Net::fresh().server(1);
    let pod = Pod::speaking(protocol, server.pod(1), 0).await;
    let doors = Doors::server(server, server.pod(1), pod.addr().port()).speaking(protocol);
    (pod, doors)
}

/// One pod that speaks `protocol`, and a proxy in the clear in front of it.
async fn pod_and_rig(protocol: Protocol) -> (Pod, Rig) {
    let (pod, doors) = pod_and_doors(protocol).await;
    let rig = doors.start();
    (pod, rig)
}
