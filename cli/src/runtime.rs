//! The runtime of the main thread, and the way a run ends: by a signal, at once by a second one, or by itself.

use std::pin::{Pin, pin};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use proxy_core::Report;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::exit::{Failure, Outcome};
use crate::signals::{Signal, Signals};

/// How long a thread that works for the main one waits for more. Soon, so that the memory of a large configuration, which
/// it has read, is free for others.
const KEEP_ALIVE: Duration = Duration::from_millis(500);

/// Runs `work` on this thread. The proxy's workers are threads of their own.
pub(crate) fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(KEEP_ALIVE)
        .build();
    let runtime = built.context("cannot start the runtime")?;
    let outcome = runtime.block_on(work);
    // What still runs after a second signal must not hold the process.
    runtime.shutdown_background();
    outcome
}

/// Cancels `stop`, because of what `reason` names, whereupon `running` should end soon; another signal to stop ends the
/// wait.
///
/// # Errors
///
/// Another signal, since what was under way has been cut.
pub(crate) async fn stop<T>(
    mut running: Pin<&mut impl Future<Output = T>>,
    reason: &str,
    stop: &CancellationToken,
    signals: &mut Signals,
) -> Result<T, Failure> {
    info!(
        signal = reason,
        "stopping: no new connections, waiting for requests under way; another signal ends at once"
    );
    stop.cancel();
    loop {
        tokio::select! {
            ended = running.as_mut() => return Ok(ended),
            signal = signals.next() => {
                if let Signal::Stop(signal) | Signal::Quit(signal) = signal {
                    return Err(cut(signal));
                }
            }
        }
    }
}

/// Runs `running` to its end, which comes by a signal. See [`stop`].
///
/// # Errors
///
/// A second signal, and an end that nobody asked for.
pub(crate) async fn until_stopped<T>(
    running: impl Future<Output = T>,
    stop: &CancellationToken,
    signals: &mut Signals,
) -> Result<T, Failure> {
    let mut running = pin!(running);
    let reason = loop {
        tokio::select! {
            _ended = running.as_mut() => return Err(ended_early()),
            signal = signals.next() => match signal {
                Signal::Stop(signal) => break signal,
                Signal::Quit(signal) => return Err(cut(signal)),
                Signal::Reload | Signal::Ignored(_) => {}
            }
        }
    };
    self::stop(running.as_mut(), reason, stop, signals).await
}

/// What was under way has been cut by `signal`.
pub(crate) fn cut(signal: &str) -> Failure {
    Failure::Forced(format!(
        "doorway: ended at once by a signal ({signal}); requests under way were cut"
    ))
}

/// The proxy ended, and nobody had asked it to.
pub(crate) fn ended_early() -> Failure {
    Failure::Error(anyhow!("the proxy ended without being told to"))
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
