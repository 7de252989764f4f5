//! Routes from the resources of a Kubernetes cluster.
//!
//! [`translate`] is the pure part: the resources that a [`Cluster`] holds become one document per host. [`KubernetesSource`]
//! watches them, writes certificates to files, publishes snapshots, and says in the status of each Ingress where it is
//! reached.

mod annotations;
mod auth;
mod backend;
mod claims;
mod class;
mod client;
mod cluster;
mod doors;
mod files;
mod lease;
mod paths;
mod rules;
mod settings;
mod source;
mod status;
mod tls;
mod translate;
mod watch;
mod work;

pub use self::cluster::{Cluster, Key};
pub use self::files::{Certificate, CertificateFiles, Certificates, Files};
pub use self::settings::{Access, Check, Settings};
pub use self::source::KubernetesSource;
pub use self::tls::wanted_certificates;
pub use self::translate::{Translation, translate};
