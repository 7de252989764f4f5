//! The instances of a Consul service.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

use super::{super::Secret, is_false, nanos};

/// The passing instances of a Consul service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConsulUpstreams {
    /// `http://`, `https://` or `unix://`; `None` is `CONSUL_HTTP_ADDR`, else the agent of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The service, with placeholders.
    pub service: String,
    /// The time for which an answer is used; `None` is one minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub refresh: Option<Duration>,
    /// How long the last answer is used after a failure, before the next try; `None` is not at all.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub grace_period: Option<Duration>,
    /// Prefers instances nearby.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<ConsulLocality>,
    /// The ACL token; `None` is that of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// A file that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// How https is spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ConsulTls>,
    /// The datacenter; `None` is the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// The namespace, of Consul Enterprise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The admin partition, of Consul Enterprise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Only instances with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Any server may answer.
    #[serde(skip_serializing_if = "is_false")]
    pub stale: bool,
    /// The limit for one answer; `None` is 5 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub timeout: Option<Duration>,
    /// Names in use are kept fresh with blocking queries.
    #[serde(skip_serializing_if = "is_false")]
    pub watch: bool,
    /// Policies go by the weights that Consul gives.
    #[serde(skip_serializing_if = "is_false")]
    pub weights: bool,
}

/// Prefers instances on nodes whose metadata has a certain value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConsulLocality {
    /// The field of the metadata.
    pub node_meta: String,
    /// The value of local nodes.
    pub local_value: String,
    /// With fewer local instances all are used; `None` is 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<u32>,
}

/// How https is spoken to Consul.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConsulTls {
    /// A file of authorities in PEM; `None` is those of the environment, else of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The client's certificate in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<PathBuf>,
    /// Its key in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<PathBuf>,
    /// The name that the certificate must be for; `None` is the address's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Any certificate is believed.
    #[serde(skip_serializing_if = "is_false")]
    pub insecure_skip_verify: bool,
}
