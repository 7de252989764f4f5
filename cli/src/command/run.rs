//! `doorway run`: the proxy, until it is told to stop.

use std::sync::Arc;

use caddy_config::Diagnostic;
use proxy_core::{Admin, AdminOptions, Options, Proxy, Stats};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::args::{Lax, RunArgs};
use crate::exit::{self, Failure, Outcome};
use crate::files::OwnFiles;
use crate::settings::Environment;
use crate::signals::Signals;
use crate::source::Loaded;
use crate::{logging, output, runtime, source};

/// Runs the proxy.
pub(crate) fn run(args: &RunArgs, environment: &Environment) -> Outcome {
    let workers = environment.workers(args.workers.workers)?;
    if args.environ {
        print_environment(environment, workers)?;
    }
    let loaded = configuration(args, environment)?;
    logging::start(loaded.config.logging.as_ref(), environment.coloured_stderr())?;
    loaded.warnings.iter().for_each(log_warning);
    runtime::block_on(async {
        let mut signals = Signals::listen()?;
        let options = Options {
            bare_line_feeds: args.lax.contains(&Lax::BareLineFeeds),
            ..environment.proxy_options(workers)
        };
        let proxy = Proxy::build(&loaded.config, &options)?;
        let admin = AdminOptions {
            address: environment.admin_address().to_owned(),
            autosave: environment.autosave(),
            source: loaded.origin,
            surroundings: Arc::new(OwnFiles(environment.clone())),
        };
        let admin = Admin::start(&proxy.control(), &loaded.document, admin).await?;
        let stop = CancellationToken::new();
        let totals = proxy.stats();
        let running = proxy.run(stop.clone());
        let report = runtime::until_stopped(running, &stop, &mut signals, admin.asked_to_stop()).await?;
        // While the proxy drained, it could still be asked how that went.
        admin.close().await;
        log_totals(&totals());
        runtime::conclude(report)
    })
}

/// What to run: with `--resume` what was loaded last, if anything was.
fn configuration(args: &RunArgs, environment: &Environment) -> Result<Loaded, Failure> {
    if !args.resume {
        return source::load(&args.config, environment);
    }
    let path = environment.autosave().ok_or_else(|| {
        Failure::Usage(
            "--resume needs a home: set HOME or XDG_CONFIG_HOME, where configurations are saved".to_owned(),
        )
    })?;
    match source::saved(&path)? {
        Some(saved) => {
            if args.config.config.is_some() {
                let file = path.display();
                exit::say(&format!(
                    "warning: --config is ignored, as --resume found the configuration that was loaded last: {file}"
                ));
            }
            Ok(saved)
        }
        None if args.config.config.is_some() || source::has_default() => {
            source::load(&args.config, environment)
        }
        // Whoever resumes from nothing gives the first configuration over the admin API.
        None => Ok(Loaded::nothing()),
    }
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
