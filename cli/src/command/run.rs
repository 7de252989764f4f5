//! `doorway run`: the proxy, until it is told to stop.

use caddy_config::Diagnostic;
use proxy_core::{Options, Proxy, Stats};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::args::{Lax, RunArgs};
use crate::exit::Outcome;
use crate::settings::Environment;
use crate::signals::Signals;
use crate::{logging, output, runtime, source};

/// Runs the proxy.
pub(crate) fn run(args: &RunArgs, environment: &Environment) -> Outcome {
    let workers = environment.workers(args.workers.workers)?;
    if args.environ {
        print_environment(environment, workers)?;
    }
    let loaded = source::load(&args.config, environment)?;
    logging::start(loaded.config.logging.as_ref(), environment.coloured_stderr())?;
    loaded.warnings.iter().for_each(log_warning);
    runtime::block_on(async {
        let mut signals = Signals::listen()?;
        let options = Options {
            bare_line_feeds: args.lax.contains(&Lax::BareLineFeeds),
            ..environment.proxy_options(workers)
        };
        let proxy = Proxy::build(&loaded.config, &options)?;
        let stop = CancellationToken::new();
        let totals = proxy.stats();
        let running = proxy.run(stop.clone());
        let report = runtime::until_stopped(running, &stop, &mut signals).await?;
        log_totals(&totals());
        runtime::conclude(report)
    })
}

/// The settings that come from outside, then the environment, as lines `name=value`.
fn print_environment(environment: &Environment, workers: usize) -> Outcome {
    let data_dir = environment
        .data_dir()
        .map_or_else(|| "(none)".to_owned(), |path| path.display().to_string());
    let settings = [
        format!("doorway.Version={}", env!("CARGO_PKG_VERSION")),
        format!("doorway.DataDir={data_dir}"),
        format!("doorway.Workers={workers}"),
    ];
    let lines: Vec<String> = settings.into_iter().chain(environment.printable()).collect();
    output::print_line(lines.join("\n"))
}

/// What the proxy counted from start to stop.
fn log_totals(stats: &Stats) {
    info!(
        connections = stats.connections,
        requests = stats.requests,
        client_errors = stats.client_errors,
        client_gone = stats.client_gone,
        bad_tokens = stats.bad_tokens,
        dead_pods = stats.dead_pods,
        upstream_errors = stats.upstream_errors,
        retries = stats.retries,
        upstream_connects = stats.upstream_connects,
        log_lines_dropped = stats.log_lines_dropped,
        "served"
    );
}

fn log_warning(warning: &Diagnostic) {
    let place = warning.place();
    let help = warning.help().unwrap_or_default();
    warn!(
        file = place.file(),
        line = place.line(),
        column = place.column(),
        help,
        "{}",
        warning.message()
    );
}
