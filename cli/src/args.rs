//! The command line as the user types it: commands, options, help with examples.

mod consul;
mod eskip;
mod explain;
mod geo;
pub(crate) mod of_caddy;
pub(crate) mod of_skipper;
mod routes;
mod shipwick;
mod skipper;
mod store;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::consul::{ConsulArgs, ConsulCommand, ResolveArgs};
pub(crate) use self::eskip::{EskipArgs, EskipCommand, FilterArgs, InputArgs, LayoutArgs, MatchArgs};
pub(crate) use self::explain::ExplainArgs;
pub(crate) use self::geo::{GeoArgs, GeoCommand, GeoFrom, GeoUrl};
pub(crate) use self::routes::{ChangeArgs, ProxyArgs, RoutesArgs, RoutesCommand};
pub(crate) use self::shipwick::{DesiredFrom, RenderArgs, ShipwickArgs, ShipwickCommand};
pub(crate) use self::skipper::SkipperArgs;
pub(crate) use self::store::{StoreArgs, StoreCommand, StoreFrom};

/// Doorway: a reverse proxy for Doors apps and the things around them.
#[derive(Debug, Parser)]
#[command(
    name = "doorway",
    version,
    about,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = TOP_EXAMPLES
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the proxy until it is told to stop
    Run(Box<RunArgs>),
    /// Have a running proxy load its configuration again
    Reload(ReloadArgs),
    /// Stop a running proxy in an orderly way
    Stop(StopArgs),
    /// Print the configuration of a running proxy
    Config(ShowConfigArgs),
    /// Check a configuration without running it
    Validate(ValidateArgs),
    /// Tell what a configuration would do with a request, without sending it
    Explain(ExplainArgs),
    /// Print a configuration as JSON
    Adapt(AdaptArgs),
    /// Print a Caddyfile in the usual layout
    Fmt(FmtArgs),
    /// List and change the hosts that a running proxy serves for its sources of routes
    Routes(RoutesArgs),
    /// Look at a store of routes, and bring its layout up to date, without a proxy
    Store(StoreArgs),
    /// Check, print and change files of eskip routes
    Eskip(EskipArgs),
    /// Make secrets and pod-IP tokens, and read tokens
    Token(TokenArgs),
    /// Tell the countries of addresses, and fetch and check the archive that says them
    Geo(GeoArgs),
    /// Render desired routes as Caddy's JSON, push them to a proxy, and keep them there
    Shipwick(ShipwickArgs),
    /// Tell which instances of a service in Consul the proxy would use
    Consul(ConsulArgs),
    /// Hash a password for basic_auth
    HashPassword(HashPasswordArgs),
    /// Show a rolling deployment in the browser; needs nothing
    Demo(DemoArgs),
    /// Print the version
    #[command(after_help = "Examples:\n  doorway version")]
    Version,
}

/// Which configuration to read.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArgs {
    /// The configuration file; `-` reads standard input [default: `Caddyfile` in the current directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How the configuration is written [default: guessed from the file's name, else from its first bytes]
    #[arg(short, long, value_name = "KIND")]
    pub(crate) adapter: Option<Adapter>,
}

/// Which configuration to read, where nothing else could stand in its place.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The same as --config
    #[arg(value_name = "FILE", conflicts_with = "config")]
    file: Option<PathBuf>,
}

/// The two ways to write a configuration.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Adapter {
    /// A Caddyfile
    Caddyfile,
    /// Caddy's JSON
    Json,
}

/// `doorway run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) config: FileArgs,
    /// Run the configuration that was loaded last, if there is one, instead of the file
    #[arg(short, long)]
    pub(crate) resume: bool,
    /// Print the settings and the environment first; values of variables that look like secrets are left out
    #[arg(short, long)]
    pub(crate) environ: bool,
    /// Read the configuration again whenever its file changes, or one that it imports
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Allow what HTTP forbids or advises against, for clients that cannot do better. May be repeated
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) lax: Vec<Lax>,
    /// Answer 404 where no site or route answers, by way of `handle_errors`; Caddy's way is an empty 200
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) workers: WorkersArg,
    #[command(flatten)]
    pub(crate) skipper: SkipperArgs,
}

/// What is refused unless it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lax {
    /// Lines of an HTTP/1 request head that end with a line feed alone
    BareLineFeeds,
}

/// How many workers to run.
#[derive(Args, Debug)]
pub(crate) struct WorkersArg {
    /// Worker threads, 1 to 1024 [env: DOORWAY_WORKERS] [default: one for each core this process may use]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    pub(crate) workers: Option<NonZeroUsize>,
}

/// `doorway reload`.
#[derive(Args, Debug)]
#[command(after_help = RELOAD_EXAMPLES)]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    pub(crate) config: FileArgs,
    /// Where its admin API is: host:port or unix//path [default: as the configuration says, then as the one that was
    /// loaded last did]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Load it even if nothing in it has changed
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// `doorway stop`.
#[derive(Args, Debug)]
#[command(after_help = STOP_EXAMPLES)]
pub(crate) struct StopArgs {
    /// Where its admin API is: host:port or unix//path [env: DOORWAY_ADMIN] [default: localhost:2019, then as the
    /// configuration that was loaded last says]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
}

/// `doorway config`.
#[derive(Args, Debug)]
#[command(after_help = CONFIG_EXAMPLES)]
pub(crate) struct ShowConfigArgs {
    /// A part of it: keys and indices between slashes
    #[arg(value_name = "PATH", default_value = "")]
    pub(crate) path: String,
    /// Where its admin API is: host:port or unix//path [env: DOORWAY_ADMIN] [default: localhost:2019, then as the
    /// configuration that was loaded last says]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
}

/// `doorway validate`.
#[derive(Args, Debug)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) config: FileArgs,
}

/// `doorway adapt`.
#[derive(Args, Debug)]
#[command(after_help = ADAPT_EXAMPLES)]
pub(crate) struct AdaptArgs {
    #[command(flatten)]
    pub(crate) config: FileArgs,
    /// Indent the JSON
    #[arg(short, long)]
    pub(crate) pretty: bool,
}

/// `doorway fmt`.
#[derive(Args, Debug)]
#[command(after_help = FMT_EXAMPLES)]
pub(crate) struct FmtArgs {
    /// The Caddyfile, of 32 MiB at most; `-` reads standard input, and a pipe is read to its end [default: `Caddyfile` in
    /// the current directory]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// The same as PATH
    #[arg(short, long, value_name = "FILE", conflicts_with = "path")]
    pub(crate) config: Option<PathBuf>,
    /// Write the result back instead of printing it; without effect on standard input
    #[arg(short = 'w', long)]
    pub(crate) overwrite: bool,
    /// Print every line, with `-` before those that go and `+` before those that come
    #[arg(short, long)]
    pub(crate) diff: bool,
}

/// `doorway token`.
#[derive(Args, Debug)]
#[command(after_help = TOKEN_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

/// The commands of `doorway token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Print a new random secret, to be shared by the Doors app (SECRET) and the proxy (`secret`)
    #[command(after_help = "Examples:\n  doorway token secret > secret.txt")]
    Secret,
    /// Print a token for the address of a pod
    #[command(after_help = ENCODE_EXAMPLES)]
    Encode {
        /// The pod's IP address
        #[arg(value_name = "ADDRESS")]
        address: IpAddr,
        #[command(flatten)]
        secrets: SecretArgs,
    },
    /// Print the address that a token stands for
    #[command(after_help = DECODE_EXAMPLES)]
    Decode {
        /// The token; `-` reads it from standard input
        #[arg(value_name = "TOKEN", allow_hyphen_values = true)]
        token: String,
        #[command(flatten)]
        secrets: SecretArgs,
    },
}

/// Where the secrets come from. A secret on the command line would be visible to every user of the machine, so
/// there is no option for that.
#[derive(Args, Debug)]
pub(crate) struct SecretArgs {
    /// Read a secret from a file; `-` reads standard input. May be repeated: the first encodes, any decodes
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Vec<PathBuf>,
    /// Read a secret from an environment variable. May be repeated [default: SECRET, as Doors apps use it]
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_env: Vec<String>,
}

/// `doorway hash-password`.
#[derive(Args, Debug)]
#[command(after_help = HASH_PASSWORD_EXAMPLES)]
pub(crate) struct HashPasswordArgs {
    /// The password; other users of the machine may see it. Without it, the first line of standard input is
    /// hashed; a terminal does not show it
    #[arg(short, long, value_name = "PASSWORD")]
    pub(crate) plaintext: Option<String>,
    /// How to hash
    #[arg(short, long, value_name = "NAME", default_value = "bcrypt")]
    pub(crate) algorithm: HashAlgorithm,
}

/// The ways to hash a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HashAlgorithm {
    /// With 46 MiB of memory
    Argon2id,
    /// With cost 14
    Bcrypt,
}

/// `doorway demo`.
#[derive(Args, Debug)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Port of the proxy and of the pods; 0 takes a free one
    #[arg(short, long, value_name = "PORT", default_value_t = 8080)]
    pub(crate) port: u16,
    /// Print the Caddyfile that the demo uses, and end
    #[arg(long)]
    pub(crate) show_config: bool,
    #[command(flatten)]
    pub(crate) workers: WorkersArg,
}

// === impl FileArgs ===

impl FileArgs {
    /// Both ways to name the file as one.
    pub(crate) fn get(&self) -> ConfigArgs {
        ConfigArgs {
            config: self.file.clone().or_else(|| self.config.config.clone()),
            adapter: self.config.adapter,
        }
    }
}

/// The number of workers out of its text: 1 to 1024.
pub(crate) fn parse_workers(text: &str) -> Result<NonZeroUsize, String> {
    text.parse::<NonZeroUsize>()
        .ok()
        .filter(|workers| workers.get() <= MAX_WORKERS)
        .ok_or_else(|| format!("expected a whole number from 1 to {MAX_WORKERS}"))
}

/// More threads than any machine has cores today; a bound against a mistyped number.
const MAX_WORKERS: usize = 1024;

const TOP_EXAMPLES: &str = "\
Examples:
  doorway demo                         see a rolling deployment in the browser, nothing to set up
  doorway run                          run with the Caddyfile of this directory
  doorway validate --config my.json    check a configuration, all errors at once

Exit codes: 0 success, 1 failure, 2 wrong usage, or ended at once by a signal.";

const RUN_EXAMPLES: &str = "\
Examples:
  doorway run
  doorway run --config /etc/doorway/Caddyfile
  doorway run --config config.json --workers 2
  doorway run --watch
  doorway run --routes-file routes.eskip --address :9090
  generate-config | doorway run --config - --adapter json

Signals: SIGTERM and SIGINT stop accepting, wait for open requests (at most the option grace_period) and \
end with exit code 0; a second one, or SIGQUIT, ends at once with exit code 2. SIGUSR1 reads the configuration \
again, unless the admin API has changed it since.
Logs go to standard error: readable lines on a terminal, JSON lines elsewhere.";

const RELOAD_EXAMPLES: &str = "\
Examples:
  doorway reload
  doorway reload --config /etc/doorway/Caddyfile
  doorway reload --config config.json --address unix//run/doorway/admin.sock
The configuration is checked here first. One that cannot be run changes nothing.";

const STOP_EXAMPLES: &str = "\
Examples:
  doorway stop
  doorway stop --address unix//run/doorway/admin.sock";

const CONFIG_EXAMPLES: &str = "\
Examples:
  doorway config
  doorway config apps/http/servers/srv0/routes/0
  doorway config > config.json
It prints secrets, too.";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  doorway validate
  doorway validate examples/doors.Caddyfile
  doorway validate --config - < Caddyfile";

const ADAPT_EXAMPLES: &str = "\
Examples:
  doorway adapt --pretty
  doorway adapt my.Caddyfile > config.json
  doorway adapt --config - --pretty < Caddyfile";

const FMT_EXAMPLES: &str = "\
Examples:
  doorway fmt --overwrite
  doorway fmt --diff examples/doors.Caddyfile
  doorway fmt - < Caddyfile

Exit code 1 says that a file is laid out otherwise, unless it was written back. The layout is that of `caddy fmt`.";

const TOKEN_EXAMPLES: &str = "\
Examples:
  doorway token secret > secret.txt
  doorway token encode 10.0.0.5 --secret-file secret.txt
  doorway token decode AAEC... --secret-file secret.txt";

const ENCODE_EXAMPLES: &str = "\
Examples:
  doorway token encode 10.0.0.5 --secret-file secret.txt
  SECRET=... doorway token encode 2001:db8::1
  vault read ... | doorway token encode 10.0.0.5 --secret-file -";

const DECODE_EXAMPLES: &str = "\
Examples:
  doorway token decode AAECAwQF... --secret-file secret.txt
  doorway token decode - --secret-env NEW_SECRET --secret-env OLD_SECRET < token.txt

A token that cannot be read ends with exit code 1 and says why: base64 (not a token, or cut off), cipher \
(made with another secret, or changed) or address (not the bytes of an IP address).";

const HASH_PASSWORD_EXAMPLES: &str = "\
Examples:
  doorway hash-password
  doorway hash-password --algorithm argon2id < password.txt

The hash goes into a configuration behind the name of the user:
  basic_auth {
    ann $2a$14$...
  }
For argon2id, write `basic_auth argon2id`.";

const DEMO_EXAMPLES: &str = "\
Examples:
  doorway demo
  doorway demo --port 9000
  doorway demo --show-config

Runs the proxy on 127.0.0.1 and its pods on 127.0.0.2, 127.0.0.3 and so on, all on one port. Linux has these \
addresses; macOS needs `sudo ifconfig lo0 alias 127.0.0.2 up` for each of them.";
