//! The arguments of `doorway eskip`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use http::{HeaderName, HeaderValue, Method, Uri};

use super::explain::parse_header;

/// `doorway eskip`.
#[derive(Args, Debug)]
#[command(after_help = ESKIP_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct EskipArgs {
    #[command(subcommand)]
    pub(crate) command: EskipCommand,
}

/// The commands of `doorway eskip`.
#[derive(Debug, Subcommand)]
pub(crate) enum EskipCommand {
    /// Check that routes are well-formed, have a backend, and different ids; warn of those that would not run
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        #[command(flatten)]
        input: InputArgs,
    },
    /// Print routes in the usual layout, or as JSON
    #[command(after_help = PRINT_EXAMPLES)]
    Print {
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        layout: LayoutArgs,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print routes with filters added to each of them
    #[command(after_help = PATCH_EXAMPLES)]
    Patch {
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        filters: FilterArgs,
        #[command(flatten)]
        layout: LayoutArgs,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Tell which route a request is for, and why the others are not; nothing is sent
    #[command(after_help = MATCH_EXAMPLES)]
    Match(Box<MatchArgs>),
    /// Put routes into a file: those with an id that is there take its place, the others come behind
    #[command(after_help = UPSERT_EXAMPLES)]
    Upsert {
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        target: IntoArgs,
    },
    /// As upsert, and remove all routes that are not put in
    #[command(after_help = RESET_EXAMPLES)]
    Reset {
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        target: IntoArgs,
    },
    /// Remove routes from a file, by their ids or by those of other routes
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        #[command(flatten)]
        input: InputArgs,
        /// The ids of the routes to remove, with commas between them
        #[arg(long, value_name = "ID", value_delimiter = ',', conflicts_with_all = ["file", "routes"])]
        ids: Vec<String>,
        /// The file to remove them from
        #[arg(long, value_name = "FILE", value_parser = parse_target)]
        from: PathBuf,
        #[command(flatten)]
        written: WrittenArgs,
    },
}

/// A request, and the routes that one of which it may be for.
#[derive(Args, Debug)]
pub(crate) struct MatchArgs {
    /// The request's method
    #[arg(value_name = "METHOD")]
    pub(crate) method: Method,
    /// An absolute URL
    #[arg(value_name = "URL")]
    pub(crate) url: Uri,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// A field of the request. May be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The address that the request comes from
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) from: IpAddr,
    /// The number from 0 to below 1 that `Traffic` and `TrafficSegment` go by
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    pub(crate) chance: f64,
    /// A slash at the end of a path means nothing
    #[arg(long)]
    pub(crate) ignore_trailing_slash: bool,
}

/// Which routes are read.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// A file of routes, eskip or JSON; `-` reads standard input
    #[arg(value_name = "FILE", conflicts_with = "routes")]
    pub(crate) file: Option<PathBuf>,
    /// The routes themselves
    #[arg(long, value_name = "ROUTES", allow_hyphen_values = true)]
    pub(crate) routes: Option<String>,
}

/// How routes are printed.
#[derive(Args, Debug)]
pub(crate) struct LayoutArgs {
    /// Print each filter, and the backend, on a line of its own
    #[arg(short, long)]
    pub(crate) pretty: bool,
    /// What --pretty puts before these: blanks [default: two]
    #[arg(long, value_name = "BLANKS", requires = "pretty", value_parser = parse_indent)]
    pub(crate) indent: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Filters for every route.
#[derive(Args, Debug)]
pub(crate) struct FilterArgs {
    /// Filters to put before those of each route
    #[arg(long, value_name = "FILTERS", conflicts_with = "prepend_file")]
    pub(crate) prepend: Option<String>,
    /// A file of filters to put before those of each route
    #[arg(long, value_name = "FILE")]
    pub(crate) prepend_file: Option<PathBuf>,
    /// Filters to put behind those of each route
    #[arg(long, value_name = "FILTERS", conflicts_with = "append_file")]
    pub(crate) append: Option<String>,
    /// A file of filters to put behind those of each route
    #[arg(long, value_name = "FILE")]
    pub(crate) append_file: Option<PathBuf>,
}

/// Where routes are put.
#[derive(Args, Debug)]
pub(crate) struct IntoArgs {
    /// The file to put them into; it is made if it is not there
    #[arg(long, value_name = "FILE", value_parser = parse_target)]
    pub(crate) into: PathBuf,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

/// Where a changed file is written.
#[derive(Args, Debug)]
pub(crate) struct WrittenArgs {
    /// Write the result to this file and leave the other one; `-` prints it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

fn parse_target(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("expected a file: it is read, and then written".to_owned()),
        path => Ok(path.into()),
    }
}

fn parse_indent(text: &str) -> Result<String, String> {
    if text.chars().all(|c| c == ' ' || c == '\t') {
        Ok(text.to_owned())
    } else {
        Err("expected blanks and tabs alone".to_owned())
    }
}

const ESKIP_EXAMPLES: &str = "\
Examples:
  doorway eskip check routes.eskip
  doorway eskip print --json routes.eskip
  doorway eskip upsert new.eskip --into routes.eskip";

const CHECK_EXAMPLES: &str = "\
Examples:
  doorway eskip check routes.eskip
  doorway eskip check --routes 'Path(\"/\") -> status(204) -> <shunt>'
  kubectl get configmap routes -o jsonpath='{.data.routes}' | doorway eskip check

Several files are checked as one: cat shop.eskip rest.eskip | doorway eskip check
All mistakes are told at once. A route that Doorway would leave out is a warning: it has no such predicate or \
filter, or the arguments make none, or a file that a filter reads is not on this machine.";

const PRINT_EXAMPLES: &str = "\
Examples:
  doorway eskip print --pretty routes.eskip
  doorway eskip print --json routes.eskip | jq '.[].id'
  doorway eskip print --pretty routes.json --output routes.eskip

Comments are not printed.";

const PATCH_EXAMPLES: &str = "\
Examples:
  doorway eskip patch --prepend 'flowId(\"reuse\")' --append 'enableAccessLog()' routes.eskip
  doorway eskip patch --append-file filters.eskip --pretty routes.eskip --output patched.eskip

Comments are not printed.";

const UPSERT_EXAMPLES: &str = "\
Examples:
  doorway eskip upsert new.eskip --into routes.eskip
  doorway eskip upsert --routes 'api: Path(\"/api\") -> \"http://app:8080\"' --into routes.eskip -o -

What does not change in the file stays as it is written, comments too. It is replaced as a whole, or not at all.";

const RESET_EXAMPLES: &str = "\
Examples:
  doorway eskip reset all.eskip --into routes.eskip
  generate-routes | doorway eskip reset - --into routes.eskip

What does not change in the file stays as it is written, comments too. It is replaced as a whole, or not at all.";

const DELETE_EXAMPLES: &str = "\
Examples:
  doorway eskip delete --ids api,pages --from routes.eskip
  doorway eskip delete old.eskip --from routes.eskip

An id that is not there is no failure. What does not change in the file stays as it is written, comments too.";

const MATCH_EXAMPLES: &str = "\
Examples:
  doorway eskip match GET https://example.org/users/7 routes.eskip
  doorway eskip match POST http://example.org/ routes.eskip -H 'Accept: text/html' --from 192.0.2.7
  cat shop.eskip rest.eskip | doorway eskip match GET https://example.org/

Exit code 1 says that no route is for the request. Routes that are not valid are named on standard error.";
