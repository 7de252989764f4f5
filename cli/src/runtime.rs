//! The runtime of the main thread, and the way a run ends: by a signal, at once by a second one, or by itself.

use std::pin::pin;

use anyhow::{Context as _, anyhow};
use proxy_core::Report;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::exit::{Failure, Outcome};
use crate::signals::Signals;

/// Runs `work` on this thread. The proxy's workers are threads of their own.
pub(crate) fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = built.context("cannot start the runtime")?;
    let outcome = runtime.block_on(work);
    // What still runs after a second signal must not hold the process.
    runtime.shutdown_background();
    outcome
}

/// Runs `running` to its end. The first signal to stop, or the end of `asked`, cancels `stop`, whereupon `running`
/// should end soon; another signal ends the wait.
///
/// # Errors
///
/// A second signal, since what was under way has been cut, and an end that nobody asked for.
pub(crate) async fn until_stopped<T>(
    running: impl Future<Output = T>,
    stop: &CancellationToken,
    signals: &mut Signals,
    asked: impl Future<Output = ()>,
) -> Result<T, Failure> {
    let mut running = pin!(running);
    let signal = tokio::select! {
        _ended = running.as_mut() => {
            return Err(Failure::Error(anyhow!("the proxy ended without being told to")));
        }
        signal = signals.stop() => signal,
        () = asked => "the admin API",
    };
    info!(
        signal,
        "stopping: no new connections, waiting for requests under way; a second signal ends at once"
    );
    stop.cancel();
    tokio::select! {
        ended = running => Ok(ended),
        signal = signals.stop() => Err(Failure::Report(format!(
            "doorway: ended at once by a second signal ({signal}); requests under way were cut"
        ))),
    }
}

/// Logs what the end of the proxy left behind. Requests that the grace period cut are no failure; a worker that
/// ended by itself is one.
pub(crate) fn conclude(report: Report) -> Outcome {
    if report.drained {
        info!("stopped, nothing was left");
    } else {
        let (connections_left, requests_left) = (report.connections_left, report.requests_left);
        warn!(
            connections_left,
            requests_left, "stopped at the end of the grace period, the rest was cut"
        );
    }
    if report.workers_failed > 0 {
        return Err(Failure::Error(anyhow!(
            "{} workers of the proxy had failed",
            report.workers_failed
        )));
    }
    Ok(())
}
