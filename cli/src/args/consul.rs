//! The arguments of `doorway consul`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `doorway consul`.
#[derive(Args, Debug)]
#[command(after_help = CONSUL_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct ConsulArgs {
    #[command(subcommand)]
    pub(crate) command: ConsulCommand,
}

/// The commands of `doorway consul`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConsulCommand {
    /// Print the instances of a service that the proxy would use, and why it would not use the others
    #[command(after_help = RESOLVE_EXAMPLES)]
    Resolve(Box<ResolveArgs>),
}

/// `doorway consul resolve`.
#[derive(Args, Debug)]
pub(crate) struct ResolveArgs {
    /// The service
    #[arg(value_name = "SERVICE")]
    pub(crate) service: String,
    /// Where Consul is: http://, https:// or unix:// [env: CONSUL_HTTP_ADDR] [default: http://127.0.0.1:8500]
    #[arg(short, long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// A file that holds the token [env: CONSUL_HTTP_TOKEN_FILE; the token itself: CONSUL_HTTP_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A file of authorities in PEM [env: CONSUL_CACERT] [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// The datacenter [default: the agent's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) datacenter: Option<String>,
    /// The namespace, of Consul Enterprise [env: CONSUL_NAMESPACE]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The admin partition, of Consul Enterprise [env: CONSUL_PARTITION]
    #[arg(long, value_name = "NAME")]
    pub(crate) partition: Option<String>,
    /// Only instances with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Let any server answer, though it be some time behind
    #[arg(long)]
    pub(crate) stale: bool,
    /// Prefer nodes by this field of their metadata, as `locality`
    #[arg(long, value_name = "FIELD", requires = "local_value")]
    pub(crate) node_meta: Option<String>,
    /// The value of local nodes
    #[arg(long, value_name = "VALUE", requires = "node_meta")]
    pub(crate) local_value: Option<String>,
    /// With fewer local instances all are used [default: 2]
    #[arg(long, value_name = "N", requires = "node_meta")]
    pub(crate) minimum: Option<u32>,
}

const CONSUL_EXAMPLES: &str = "\
Examples:
  doorway consul resolve api";

const RESOLVE_EXAMPLES: &str = "\
Examples:
  doorway consul resolve api
  doorway consul resolve api --address http://consul.internal:8500 --stale
  doorway consul resolve api --node-meta availability-zone-id --local-value a

A line for each instance, in three columns: `use`, `pass` (it passes its checks, and enough others are local) or `skip`; \
its address, or its node and id; why. The exit code is 1 if none is used. Other variables of Consul's own clients are read \
too.";
