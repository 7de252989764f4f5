//! The arguments of `doorway geo`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `doorway geo`.
#[derive(Args, Debug)]
#[command(after_help = GEO_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct GeoArgs {
    #[command(subcommand)]
    pub(crate) command: GeoCommand,
}

/// The commands of `doorway geo`.
#[derive(Debug, Subcommand)]
pub(crate) enum GeoCommand {
    /// Print the countries of addresses: a line `ADDRESS<TAB>CC` for each, `-` where none is known
    #[command(after_help = LOOKUP_EXAMPLES)]
    Lookup {
        #[command(flatten)]
        from: GeoFrom,
        /// IPv4 or IPv6 addresses; `-`, and nothing at all, reads one a line from standard input
        #[arg(value_name = "IP")]
        addresses: Vec<String>,
    },
    /// Fetch the archive now, check it, and keep it for the next start of the proxy
    #[command(after_help = UPDATE_EXAMPLES)]
    Update {
        #[command(flatten)]
        url: GeoUrl,
        /// Take an archive although more than half of the prefixes of the one before are gone
        #[arg(short, long)]
        force: bool,
    },
    /// Print each country with its prefixes, and how old they are
    #[command(after_help = "Examples:\n  doorway geo stats\n  doorway geo stats --archive geo.tar.gz")]
    Stats {
        #[command(flatten)]
        from: GeoFrom,
    },
    /// Check an archive as the proxy would before it uses it
    #[command(after_help = "Examples:\n  doorway geo check geo.tar.gz")]
    Check {
        /// The archive: a gzipped tar with `country/de/de.json` and so on
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Where an archive is fetched from.
#[derive(Args, Debug)]
pub(crate) struct GeoUrl {
    /// Its address, as `tarball_url` of `doors_geo` [default: the release of ipverse/geo-ip-blocks]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

/// Which archive is asked.
#[derive(Args, Debug)]
pub(crate) struct GeoFrom {
    /// An archive on disk [default: the one that was fetched last]
    #[arg(short, long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) archive: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) url: GeoUrl,
}

const GEO_EXAMPLES: &str = "\
Examples:
  doorway geo update
  doorway geo lookup 192.0.2.1 2001:db8::1
  doorway geo stats";

const LOOKUP_EXAMPLES: &str = "\
Examples:
  doorway geo lookup 192.0.2.1 2001:db8::1
  cut -d' ' -f1 access.log | doorway geo lookup - | cut -f2 | sort | uniq -c
  doorway geo lookup --archive geo.tar.gz 192.0.2.1

A line that is no address is said on standard error, and the exit code is 1 at the end.";

const UPDATE_EXAMPLES: &str = "\
Examples:
  doorway geo update
  doorway geo update --url https://mirror.example/geo.tar.gz

The proxies of the environment are used (https_proxy, no_proxy and so on). A running proxy fetches by itself, once a day.";
