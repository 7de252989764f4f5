//! `doorway run`: the proxy, until it is told to stop.

use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;

use proxy_core::{Admin, AdminOptions, LogFiles, Options, Proxy, Report, Stats};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::args::{Lax, RunArgs};
use crate::exit::{self, Failure, Outcome};
use crate::files::Files;
use crate::notify::Notify;
use crate::reload::Reloader;
use crate::settings::Environment;
use crate::signals::{Signal, Signals};
use crate::source::{self, Loaded};
use crate::watch::Seen;
use crate::{logging, output, runtime};

/// Runs the proxy.
pub(crate) fn run(args: &RunArgs, environment: &Environment) -> Outcome {
    let workers = environment.workers(args.workers.workers)?;
    if args.environ {
        print_environment(environment, workers)?;
    }
    let files = Files(environment.clone());
    let (loaded, seen) = first(args, &files)?;
    let log_files = LogFiles::default();
    let log = logging::start(
        loaded.config.logging.as_ref(),
        environment.coloured_stderr(),
        &log_files,
    )?;
    loaded.log_warnings();
    let options = Options {
        bare_line_feeds: args.lax.contains(&Lax::BareLineFeeds),
        strict: args.strict,
        log_files,
        ..environment.proxy_options(workers)
    };
    runtime::block_on(async {
        let mut signals = Signals::listen()?;
        let proxy = Proxy::build(&loaded.config, &options).map_err(|errors| loaded.refused(&errors))?;
        // The proxy has its own copy, and this one would stay as long as it runs.
        drop(loaded.config);
        proxy.control().join(Arc::new(log));
        let admin_options = AdminOptions {
            address: environment.admin_address().to_owned(),
            autosave: environment.autosave(),
            source: loaded.origin.clone(),
            surroundings: Arc::new(files.clone()),
        };
        let admin = Admin::start(&proxy.control(), &loaded.document, admin_options).await?;
        drop(loaded.document);
        let notify = Notify::new(environment);
        let totals = proxy.stats();
        let stop = CancellationToken::new();
        let mut running = pin!(proxy.run(stop.clone()));
        notify.ready();
        let mut reloader = Reloader {
            args: args.config.get(),
            files,
            admin: &admin,
            notify: &notify,
            source: loaded.origin,
            seen,
        };
        let reason = until_told(running.as_mut(), &mut reloader, args.watch, &mut signals).await?;
        notify.stopping();
        let report = runtime::stop(running.as_mut(), reason, &stop, &mut signals).await?;
        // While the proxy drained, it could still be asked how that went.
        admin.close().await;
        log_totals(&totals());
        runtime::conclude(report)
    })
}

/// What to run, and what it was read from. With `--resume` it is what was loaded last, if anything was.
fn first(args: &RunArgs, files: &Files) -> Result<(Loaded, Seen), Failure> {
    if let Some(config) = args.skipper.config().map_err(Failure::Usage)? {
        return Ok((Loaded::of(config), Seen::default()));
    }
    if args.resume
        && let Some(resumed) = resumed(args, &files.0)?
    {
        return Ok((resumed, Seen::default()));
    }
    let (loaded, seen) = source::load_watched(&args.config.get(), files);
    let loaded = loaded?;
    if args.watch && loaded.origin.is_none() {
        return Err(Failure::Usage(
            "--watch needs a file that can be read again".to_owned(),
        ));
    }
    Ok((loaded, seen))
}

fn resumed(args: &RunArgs, environment: &Environment) -> Result<Option<Loaded>, Failure> {
    let path = environment.autosave().ok_or_else(|| {
        Failure::Usage(
            "--resume needs a home: set HOME or XDG_CONFIG_HOME, where configurations are saved".to_owned(),
        )
    })?;
    match source::saved(&path)? {
        Some(saved) => {
            if args.config.get().config.is_some() {
                let file = path.display();
                exit::say(&format!(
                    "warning: the file is ignored, as --resume found the configuration that was loaded last: {file}"
                ));
            }
            Ok(Some(saved))
        }
        None if args.config.get().config.is_some() || source::has_default() => Ok(None),
        // Whoever resumes from nothing gives the first configuration over the admin API.
        None => Ok(Some(Loaded::nothing())),
    }
}

/// Serves until the process is told to stop: by whom.
async fn until_told(
    mut running: Pin<&mut impl Future<Output = Report>>,
    reloader: &mut Reloader<'_>,
    watch: bool,
    signals: &mut Signals,
) -> Result<&'static str, Failure> {
    let admin = reloader.admin.clone();
    let mut asked = false;
    loop {
        tokio::select! {
            _ended = running.as_mut() => return Err(runtime::ended_early()),
            () = admin.asked_to_stop() => return Ok("the admin API"),
            () = reloader.next(asked, watch) => asked = false,
            signal = signals.next() => match signal {
                Signal::Stop(signal) => return Ok(signal),
                Signal::Quit(signal) => return Err(runtime::cut(signal)),
                Signal::Reload => asked = true,
                Signal::Ignored(signal) => warn!(signal, "the signal means nothing here; it is ignored"),
            }
        }
    }
}

/// The settings that come from outside, then the environment, as lines `name=value`.
fn print_environment(environment: &Environment, workers: usize) -> Outcome {
    let shown =
        |path: Option<PathBuf>| path.map_or_else(|| "(none)".to_owned(), |path| path.display().to_string());
    let (data_dir, autosave) = (shown(environment.data_dir()), shown(environment.autosave()));
    let settings = [
        format!("doorway.Version={}", env!("CARGO_PKG_VERSION")),
        format!("doorway.DataDir={data_dir}"),
        format!("doorway.Autosave={autosave}"),
        format!("doorway.AdminAddress={}", environment.admin_address()),
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
