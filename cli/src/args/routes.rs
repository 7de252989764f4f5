//! The arguments of `doorway routes`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `doorway routes`.
#[derive(Args, Debug)]
#[command(after_help = ROUTES_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct RoutesArgs {
    #[command(subcommand)]
    pub(crate) command: RoutesCommand,
}

/// The commands of `doorway routes`.
#[derive(Debug, Subcommand)]
pub(crate) enum RoutesCommand {
    /// Print the hosts that a running proxy serves for its sources of routes
    #[command(
        after_help = "Examples:\n  doorway routes list\n  doorway routes list --json | jq -r '.[].host'"
    )]
    List {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Print the document of a host as it is stored, and its version on standard error
    #[command(after_help = "Examples:\n  doorway routes get shop.example.com > shop.json")]
    Get {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        /// Print this version instead of the one that counts
        #[arg(long, value_name = "VERSION")]
        version: Option<u64>,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Write the document of a host
    #[command(after_help = PUT_EXAMPLES)]
    Put {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        /// The document; `-` and nothing read standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Only if there is no document of the host yet
        #[arg(long, conflicts_with = "if_match")]
        create: bool,
        #[command(flatten)]
        change: ChangeArgs,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Remove the document of a host; its versions stay
    #[command(after_help = "Examples:\n  doorway routes delete shop.example.com --if-match 12 --wait")]
    Delete {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        #[command(flatten)]
        change: ChangeArgs,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Print the changes of a host, latest first
    #[command(after_help = "Examples:\n  doorway routes history shop.example.com")]
    History {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Make an earlier version of a document the one that counts, or bring a removed one back
    #[command(after_help = "Examples:\n  doorway routes rollback shop.example.com 7 --wait=10s")]
    Rollback {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        /// The version, as `doorway routes history` tells it
        #[arg(value_name = "VERSION")]
        version: u64,
        #[command(flatten)]
        change: ChangeArgs,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Print what became of the sources of routes, and which replica has applied what
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Print all documents of the store as one array of JSON
    #[command(after_help = EXPORT_EXAMPLES)]
    Export {
        /// Print one document in each line instead
        #[arg(long)]
        lines: bool,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Write many documents; nothing if one of them is wrong
    #[command(after_help = IMPORT_EXAMPLES)]
    Import {
        /// An array of documents, or one in each line; `-` and nothing read standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Say what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Remove all other documents of the store
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        wait: WaitArg,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Check documents without a proxy
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate {
        /// A document, an array of them, or one in each line; `-` and nothing read standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Remove a route that is remembered for a container that is gone
    #[command(after_help = "Examples:\n  doorway routes forget old.example.com")]
    Forget {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Serve what the store has now, after it has lost what it held
    #[command(after_help = "Examples:\n  doorway routes accept-loss")]
    AcceptLoss {
        #[command(flatten)]
        proxy: ProxyArgs,
    },
    /// Print the JSON schema of documents
    #[command(after_help = "Examples:\n  doorway routes schema > host.schema.json")]
    Schema,
}

/// Which proxy is asked, and as whom.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProxyArgs {
    /// Where its admin API is: host:port or unix//path [env: DOORWAY_ADMIN] [default: localhost:2019, then as the
    /// configuration that was loaded last says]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Read the token from a file; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "token_env")]
    pub(crate) token_file: Option<PathBuf>,
    /// Read the token from an environment variable [default: DOORWAY_TOKEN, if it is set]
    #[arg(long, value_name = "NAME")]
    pub(crate) token_env: Option<String>,
}

/// How something is changed.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChangeArgs {
    /// Only if this is the version that is there
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_match: Option<u64>,
    #[command(flatten)]
    pub(crate) wait: WaitArg,
}

/// Whether replicas are waited for.
#[derive(Args, Clone, Debug)]
pub(crate) struct WaitArg {
    /// Wait until every live replica has applied the change, 30 s unless it is said, 10 m at most
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "30s",
        value_parser = parse_wait
    )]
    pub(crate) wait: Option<String>,
}

/// A duration as the proxy reads it, too.
fn parse_wait(text: &str) -> Result<String, String> {
    let fits = |wait: &std::time::Duration| !wait.is_zero() && *wait <= std::time::Duration::from_secs(600);
    match caddy_config::duration(text).filter(fits) {
        Some(_) => Ok(text.to_owned()),
        None => Err("expected a duration of at most 10m, such as 30s".to_owned()),
    }
}

const ROUTES_EXAMPLES: &str = "\
Examples:
  doorway routes list
  doorway routes put shop.example.com shop.json --wait
  doorway routes export > routes.json

A token is needed if the option `route_sources` names some. There is no option for the token itself: other users of the \
machine would see it.";

const PUT_EXAMPLES: &str = "\
Examples:
  doorway routes put shop.example.com shop.json
  doorway routes put shop.example.com --create < shop.json
  doorway routes put shop.example.com shop.json --if-match 12 --wait=10s

shop.json:
  {\"host\": \"shop.example.com\", \"upstreams\": [{\"address\": \"10.0.0.5:8080\"}]}

`doorway routes schema` describes documents.";

const STATUS_EXAMPLES: &str = "\
Examples:
  doorway routes status
  doorway routes status --json

Exit code 1 says that the store cannot be reached.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  doorway routes export > routes.json
  doorway routes export --lines | split -l 1000

Documents are printed as they were written. They may hold secrets.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  doorway routes import routes.json --dry-run
  doorway routes import routes.json --replace --wait
  doorway routes export --address old:2019 | doorway routes import --address new:2019

All documents are checked before the first is written. Those that are there already are left as they are.";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  doorway routes validate shop.json
  doorway routes export | doorway routes validate";
