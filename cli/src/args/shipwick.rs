//! The arguments of `doorway shipwick`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use shipwick_routes::{Protocol, RenderOptions};

/// `doorway shipwick`.
#[derive(Args, Debug)]
#[command(after_help = SHIPWICK_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct ShipwickArgs {
    #[command(subcommand)]
    pub(crate) command: ShipwickCommand,
}

/// The commands of `doorway shipwick`.
#[derive(Debug, Subcommand)]
pub(crate) enum ShipwickCommand {
    /// Print the configuration that the desired routes are rendered to
    #[command(after_help = RENDER_EXAMPLES)]
    Render {
        #[command(flatten)]
        from: DesiredFrom,
        #[command(flatten)]
        render: RenderArgs,
        /// Print its fingerprint alone
        #[arg(long)]
        fingerprint: bool,
    },
    /// Print how the routes of the running proxy differ from the desired ones; exit code 1 says that they do
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        #[command(flatten)]
        from: DesiredFrom,
        #[command(flatten)]
        render: RenderArgs,
    },
    /// Have the running proxy take the desired routes, once, in place of its whole configuration
    #[command(after_help = APPLY_EXAMPLES)]
    Apply {
        #[command(flatten)]
        from: DesiredFrom,
        #[command(flatten)]
        render: RenderArgs,
    },
    /// Keep the proxy at the desired routes: read them every second, load them when they change or are gone
    #[command(after_help = WATCH_EXAMPLES)]
    Watch {
        #[command(flatten)]
        from: DesiredFrom,
        #[command(flatten)]
        render: RenderArgs,
    },
    /// Print whether the proxy answers, and which routes it has
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// Where the proxy's admin API is [env: SHIPWICK_CADDY_ADMIN]
        #[arg(long, value_name = "ADDRESS")]
        admin: Option<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of desired routes
    #[command(after_help = "Examples:\n  doorway shipwick schema > desired.schema.json")]
    Schema,
}

/// Where the desired routes come from.
#[derive(Args, Debug)]
pub(crate) struct DesiredFrom {
    /// A document of desired routes, or a directory whose `*.json` are put together; `-` and nothing read standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Where the proxy's admin API is: unix//path or http://host:port [default: as the document says, then
    /// SHIPWICK_CADDY_ADMIN]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<String>,
}

/// What is rendered beside the routes.
#[derive(Args, Debug)]
pub(crate) struct RenderArgs {
    /// Render the bytes of this release of Shipwick, in whose configuration a GET may reach an application twice
    #[arg(long, value_name = "RELEASE")]
    compat: Option<Release>,
    /// Answer the text of "no healthy replica", too, where the proxy finds all replicas of an application down
    #[arg(long)]
    error_route: bool,
    /// The server's protocols, with commas between them: h1, h2, h2c, h3 [default: the proxy's own]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Where the server listens, as Caddy spells it. May be repeated [default: :443]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Serve plain HTTP, without certificates and redirects: behind another proxy, on another port
    #[arg(long, requires = "listen")]
    plain_http: bool,
}

/// Releases of Shipwick that are rendered as they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Release {
    /// Its first one
    #[value(name = "0.1.0")]
    V0_1_0,
}

// === impl RenderArgs ===

impl RenderArgs {
    pub(crate) fn options(&self) -> RenderOptions {
        let base = match self.compat {
            Some(Release::V0_1_0) => RenderOptions::shipwick_0_1_0(),
            None => RenderOptions::default(),
        };
        RenderOptions {
            error_route: self.error_route,
            protocols: self.protocols.clone(),
            listen: if self.listen.is_empty() {
                base.listen.clone()
            } else {
                self.listen.clone()
            },
            plain_http: self.plain_http,
            ..base
        }
    }
}

const SHIPWICK_EXAMPLES: &str = "\
Examples:
  doorway shipwick render --admin unix//run/caddy/admin.sock < desired.json
  doorway shipwick watch desired.json";

const RENDER_EXAMPLES: &str = "\
Examples:
  doorway shipwick render --admin unix//run/caddy/admin.sock < desired.json
  doorway shipwick render desired.json --fingerprint

desired.json:
  {\"apps\": [{\"name\": \"web\", \"domain\": \"web.example.com\", \"port\": 8080,
             \"replicas\": [{\"name\": \"web_1\"}, {\"name\": \"web_2\", \"health\": \"starting\"}]}]}

The same routes give the same bytes, whatever their order. `doorway shipwick schema` describes the document.";

const DIFF_EXAMPLES: &str = "\
Examples:
  doorway shipwick diff desired.json
  doorway shipwick diff desired.json --admin http://localhost:2019

Lines with `-` are what runs, lines with `+` what is desired.";

const APPLY_EXAMPLES: &str = "\
Examples:
  doorway shipwick apply desired.json

The routes take the place of all that the proxy runs, its other sites and options too; `doorway shipwick diff` shows \
beforehand what would go.";

const WATCH_EXAMPLES: &str = "\
Examples:
  doorway shipwick watch desired.json
  doorway shipwick watch routes.d --admin unix//run/caddy/admin.sock

The routes take the place of all that the proxy runs, as by `apply`. A document that is wrong is reported once, and the routes of before stay. The proxy is asked every 10 seconds whether it \
still has the routes; trouble is reported when it appears and when it clears. SIGTERM and SIGINT end it.";

const STATUS_EXAMPLES: &str = "\
Examples:
  doorway shipwick status --admin unix//run/caddy/admin.sock
  doorway shipwick status --json

Exit code 1 says that the proxy does not answer. Without an address nothing is asked: the exit code is 0, and `enabled` \
is no.";
