//! The thread of one worker: its runtime, its accept loops, its drain.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::forward::pipeline::Handler;
use crate::forward::worker::Worker;
use crate::listener::Listener;
use crate::listener::accept::accept;
use crate::proxy::Report;
use crate::tasks::Drained;

/// A worker and the sockets it will accept on.
#[derive(Debug)]
pub(crate) struct Thread {
    worker: Arc<Worker>,
    sockets: Vec<(TcpListener, Arc<Listener>)>,
}

/// Sends a thread's report when the thread ends, however it ends.
struct Ending {
    report: Report,
    to: UnboundedSender<Report>,
}

// === impl Thread ===

impl Thread {
    pub(crate) fn new(worker: Arc<Worker>) -> Self {
        Self {
            worker,
            sockets: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, socket: TcpListener, listener: Arc<Listener>) {
        self.sockets.push((socket, listener));
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    pub(crate) fn has_sockets(&self) -> bool {
        !self.sockets.is_empty()
    }

    /// Serves on a thread of its own until `stop`, then drains and reports.
    pub(crate) fn start(self, stop: CancellationToken, grace: Duration, to: UnboundedSender<Report>) {
        let failed = Report {
            workers_failed: 1,
            ..Report::default()
        };
        let ending = Ending { report: failed, to };
        let started = std::thread::Builder::new()
            .name("doorway-worker".to_owned())
            .spawn(move || {
                // Bound whole: a closure would capture only the field that it assigns, and drop nothing.
                let mut ending = ending;
                match self.run(&stop, grace) {
                    Ok(report) => ending.report = report,
                    Err(error) => error!(%error, "a worker cannot run"),
                }
            });
        if let Err(error) = started {
            error!(%error, "a worker cannot start");
        }
    }

    fn run(self, stop: &CancellationToken, grace: Duration) -> io::Result<Report> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let Self { worker, sockets } = self;
            let loops = sockets
                .into_iter()
                .map(|(socket, listener)| accept_on(socket, listener, &worker, stop))
                .collect::<io::Result<Vec<_>>>()?;
            worker
                .background
                .spawn("sweep", Arc::clone(&worker).sweep(CancellationToken::new()));
            let early = tokio::select! {
                () = stop.cancelled() => false,
                _ = select_all(loops) => !stop.is_cancelled(),
            };
            let mut report = drain(&worker, grace).await;
            if early {
                error!("an accept loop ended before it was asked to");
                report.workers_failed = 1;
            }
            Ok(report)
        })
    }
}

fn accept_on(
    socket: TcpListener,
    listener: Arc<Listener>,
    worker: &Arc<Worker>,
    stop: &CancellationToken,
) -> io::Result<JoinHandle<()>> {
    let socket = tokio::net::TcpListener::from_std(socket)?;
    let handler = Handler::new(Arc::clone(worker), listener.server);
    let task = accept(socket, listener, Arc::clone(worker), handler, stop.clone());
    Ok(worker.background.spawn("accept", task))
}

/// Asks every connection to finish, and waits for at most `grace`.
pub(crate) async fn drain(worker: &Worker, grace: Duration) -> Report {
    worker.connections.drain();
    let drained = worker.tasks.drain(grace).await == Drained::Complete;
    Report {
        drained,
        connections_left: worker.connections.len(),
        requests_left: worker.connections.in_flight(),
        workers_failed: 0,
    }
}

// === impl Ending ===

impl Drop for Ending {
    fn drop(&mut self) {
        // If nobody waits for the report, the whole run was given up.
        let _unread = self.to.send(self.report);
    }
}
