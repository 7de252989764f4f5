//! Doors apps: pods that their tokens lead to.

use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};
use thiserror::Error;

use super::annotations::DoorsApp;
use super::backend::{Backends, Found, is_external, is_headless};
use super::cluster::Key;

/// The key of a Secret that holds the key of an app.
const SECRET: &str = "secret";

/// Why a Doors app cannot be served. The key is not shown.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) enum DoorsError {
    #[error("the Secret of the Doors app has no key `secret` with one word in it")]
    NoKey,
    #[error("the annotation `doorway.dev/doors-cidrs` has no network of the Service {0}")]
    NoCidr(Key),
    #[error(
        "several networks need the annotation `doorway.dev/doors-cookie`, the name of the id cookie of the app"
    )]
    NoCookie,
    #[error("the Service {0} stands for a name elsewhere, so it has no pods")]
    External(Key),
    #[error(
        "pods of the Service {service} listen on port {pod}, and the Service itself on {port}: make the ports equal, or the \
        Service headless"
    )]
    Port { service: Key, pod: u16, port: u16 },
}

/// One server of an app: a Service and a network of its pods.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Server {
    host: String,
    port: u16,
    cidr: String,
}

/// The key in a Secret.
pub(super) fn key(secret: &Secret) -> Result<String, DoorsError> {
    let data = secret.data.as_ref().and_then(|data| data.get(SECRET));
    let text = data.and_then(|data| str::from_utf8(&data.0).ok()).map(str::trim);
    let word = text.filter(|text| !text.is_empty() && !text.contains(char::is_whitespace));
    word.map(str::to_owned).ok_or(DoorsError::NoKey)
}

/// The servers behind a backend; none while nobody can tell which port its pods listen on, as there are none.
pub(super) fn servers(
    app: &DoorsApp,
    backends: &Backends<'_>,
    found: &Found<'_>,
    domain: &str,
) -> Result<Vec<Server>, DoorsError> {
    let service = || found.key.clone();
    if is_external(found.service) {
        return Err(DoorsError::External(service()));
    }
    let is_of = |named: &Option<String>| named.as_ref().is_none_or(|name| *name == found.key.name);
    let cidrs: Vec<_> = app.cidrs.iter().filter(|(named, _)| is_of(named)).collect();
    if cidrs.is_empty() {
        return Err(DoorsError::NoCidr(service()));
    }
    let Some(pod) = backends.pod_port(found) else {
        return Ok(Vec::new());
    };
    if pod != found.number && !is_headless(found.service) {
        return Err(DoorsError::Port {
            service: service(),
            pod,
            port: found.number,
        });
    }
    let host = format!("{}.{}.svc.{domain}", found.key.name, found.key.namespace);
    let server = |cidr: &ipnet::IpNet| Server {
        host: host.clone(),
        port: pod,
        cidr: cidr.to_string(),
    };
    Ok(cidrs.into_iter().map(|(_, cidr)| server(cidr)).collect())
}

/// The handlers that lead requests with a token to its pod, and all others to a Service.
pub(super) fn handlers(
    app: &DoorsApp,
    key: &str,
    servers: &[Server],
    policy: Option<&str>,
) -> Result<[Value; 2], DoorsError> {
    if servers.len() > 1 && app.cookie.is_none() {
        return Err(DoorsError::NoCookie);
    }
    let upstreams: Vec<_> = servers
        .iter()
        .map(|server| json!({ "cidr": server.cidr, "host": server.host, "port": server.port }))
        .collect();
    let mut doors = json!({ "handler": "doors_handler", "secret": key, "upstreams": upstreams });
    let mut proxy =
        json!({ "handler": "reverse_proxy", "dynamic_upstreams": { "source": "doors_upstreams" } });
    if let (Some(cookie), Some(doors)) = (&app.cookie, doors.as_object_mut()) {
        doors.insert("cookie_name".to_owned(), json!(cookie));
    }
    if let (Some(policy), Some(proxy)) = (policy, proxy.as_object_mut()) {
        proxy.insert(
            "load_balancing".to_owned(),
            json!({ "selection_policy": { "policy": policy } }),
        );
    }
    Ok([doors, proxy])
}
