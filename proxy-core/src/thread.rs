//! The thread of one worker: its runtime, its accept loops, its drain.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::forward::pipeline::Handler;
use crate::forward::worker::Worker;
use crate::listener::Listener;
use crate::listener::accept::accept;
use crate::listener::acceptor::Acceptor;
use crate::listener::bind::Accepting;
use crate::proxy::Report;
use crate::tasks::Drained;

/// A worker that will run on a thread of its own, and the channel by which it is told what to listen on.
#[derive(Debug)]
pub(crate) struct Thread {
    worker: Arc<Worker>,
    commands: UnboundedReceiver<Command>,
}

/// What a thread is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// Accept on this socket.
    Open(Accepting, Arc<Listener>),
    /// The listener was removed: accept what waits, close the socket, say so, and let its connections end.
    Close(Arc<Listener>, oneshot::Sender<()>),
    /// The listener speaks something else now: its connections end with what is in flight.
    Renew(Arc<Listener>),
}

/// The accept loops of a thread, each of which can be ended.
struct Loops {
    worker: Arc<Worker>,
    stop: CancellationToken,
    /// By the number of the loop.
    open: HashMap<usize, Open>,
    /// Each gives its number when it has ended.
    running: FuturesUnordered<BoxFuture<'static, usize>>,
    next: usize,
}

struct Open {
    listener: Arc<Listener>,
    close: CancellationToken,
    closed: Option<oneshot::Sender<()>>,
}

/// Sends a thread's report when the thread ends, however it ends.
struct Ending {
    report: Report,
    to: UnboundedSender<Report>,
}

// === impl Thread ===

impl Thread {
    pub(crate) fn new(worker: Arc<Worker>) -> (Self, UnboundedSender<Command>) {
        let (sender, commands) = unbounded_channel();
        (Self { worker, commands }, sender)
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// Serves on a thread of its own until `stop`, then drains and reports.
    pub(crate) fn start(self, stop: CancellationToken, to: UnboundedSender<Report>) {
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
                match self.run(&stop) {
                    Ok(report) => ending.report = report,
                    Err(error) => error!(%error, "a worker cannot run"),
                }
            });
        if let Err(error) = started {
            error!(%error, "a worker cannot start");
        }
    }

    fn run(mut self, stop: &CancellationToken) -> io::Result<Report> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let worker = Arc::clone(&self.worker);
            worker
                .background
                .spawn("sweep", Arc::clone(&worker).sweep(CancellationToken::new()));
            let mut loops = Loops::new(Arc::clone(&worker), stop.child_token());
            let early = loops.serve(&mut self.commands).await;
            // Those that waited for an accept are accepted before the drain begins.
            loops.join().await;
            let mut report = drain(&worker).await;
            if early {
                error!("an accept loop ended before it was asked to");
                report.workers_failed = 1;
            }
            Ok(report)
        })
    }
}

/// Asks every connection to finish, and waits for at most the grace period.
pub(crate) async fn drain(worker: &Worker) -> Report {
    worker.connections.drain();
    let grace = worker.view.current().grace;
    let drained = worker.tasks.drain(grace).await == Drained::Complete;
    worker.connections.stop();
    Report {
        drained,
        connections_left: worker.connections.len(),
        requests_left: worker.connections.in_flight(),
        workers_failed: 0,
    }
}

// === impl Loops ===

impl Loops {
    fn new(worker: Arc<Worker>, stop: CancellationToken) -> Self {
        Self {
            worker,
            stop,
            open: HashMap::new(),
            running: FuturesUnordered::new(),
            next: 0,
        }
    }

    /// Does what it is told until the stop. `true`: a loop ended before it was asked to.
    async fn serve(&mut self, commands: &mut UnboundedReceiver<Command>) -> bool {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return false,
                Some(command) = commands.recv() => match command {
                    Command::Open(socket, listener) => self.open(socket, listener),
                    Command::Close(listener, closed) => self.close(&listener, closed),
                    Command::Renew(listener) => {
                        let grace = self.worker.view.current().grace;
                        self.worker.connections.renew(listener.place.group(), grace);
                    }
                },
                Some(number) = self.running.next() => {
                    if !self.ended(number) {
                        return !self.stop.is_cancelled();
                    }
                }
            }
        }
    }

    fn open(&mut self, socket: Accepting, listener: Arc<Listener>) {
        let socket = match Acceptor::new(socket) {
            Ok(socket) => socket,
            Err(error) => {
                // Its socket closes, so the system gives its connections to the other workers.
                error!(address = %listener.address, %error, "a worker cannot accept connections");
                return;
            }
        };
        let close = self.stop.child_token();
        let worker = &self.worker;
        let handler = Handler::new(Arc::clone(worker), Arc::clone(&listener.place));
        let task = accept(
            socket,
            Arc::clone(&listener),
            Arc::clone(worker),
            handler,
            close.clone(),
        );
        let number = self.next;
        self.next += 1;
        let task = worker.background.spawn("accept", task);
        self.running.push(Box::pin(async move {
            // Whether it returned or panicked, it is over; who asked for that is looked up.
            let _ended = task.await;
            number
        }));
        let open = Open {
            listener,
            close,
            closed: None,
        };
        self.open.insert(number, open);
    }

    fn close(&mut self, listener: &Arc<Listener>, closed: oneshot::Sender<()>) {
        let mut closed = Some(closed);
        for open in self.open.values_mut() {
            if Arc::ptr_eq(&open.listener, listener) {
                open.close.cancel();
                open.closed = closed.take();
            }
        }
    }

    /// A loop has ended: its socket is closed. `false` if nobody had asked it to.
    fn ended(&mut self, number: usize) -> bool {
        let Some(open) = self.open.remove(&number) else {
            return false;
        };
        if !open.close.is_cancelled() {
            return false;
        }
        if let Some(closed) = open.closed {
            let grace = self.worker.view.current().grace;
            self.worker.connections.retire(open.listener.place.group(), grace);
            // If nobody waits, the load that removed the listener was given up after it had been published.
            let _unheard = closed.send(());
        }
        true
    }

    /// Ends all loops.
    async fn join(&mut self) {
        self.stop.cancel();
        while self.running.next().await.is_some() {}
    }
}

// === impl Ending ===

impl Drop for Ending {
    fn drop(&mut self) {
        // If nobody waits for the report, the whole run was given up.
        let _unread = self.to.send(self.report);
    }
}
