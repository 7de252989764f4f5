//! The arguments of `doorway store`.

use clap::{Args, Subcommand};

/// `doorway store`.
#[derive(Args, Debug)]
#[command(after_help = STORE_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// The commands of `doorway store`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Make the layout of a store the newest one, as a proxy does when it starts
    #[command(after_help = "Examples:\n  doorway store migrate sqlite:/var/lib/doorway/routes.db")]
    Migrate(StoreFrom),
    /// Look at everything that a store has, and change nothing
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        #[command(flatten)]
        from: StoreFrom,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which store.
#[derive(Args, Debug)]
pub(crate) struct StoreFrom {
    /// Where it is: redis://, rediss://, sqlite: or postgres://. Other users of the machine may see it
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Read the URL from an environment variable [default: DOORWAY_STORE_URL]
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    pub(crate) url_env: Option<String>,
    /// What the names of its keys or tables begin with
    #[arg(long, value_name = "PREFIX", default_value = "doorway")]
    pub(crate) prefix: String,
}

const STORE_EXAMPLES: &str = "\
Examples:
  doorway store check sqlite:/var/lib/doorway/routes.db
  DOORWAY_STORE_URL=... doorway store migrate";

const CHECK_EXAMPLES: &str = "\
Examples:
  doorway store check redis://127.0.0.1:6379/0
  doorway store check --url-env EDGE_DATABASE --json

Exit code 1 says that it cannot be reached, or has documents that this version cannot read.";
