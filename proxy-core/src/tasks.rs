//! Every task the process runs, so that stopping can wait for them.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Spawns, names and counts tasks. The only place that spawns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Every task returned in time.
    Complete,
    /// The grace period ran out with this many tasks left.
    TimedOut {
        /// Tasks still running.
        left: usize,
    },
}

/// Lets hyper run the streams of an HTTP/2 connection as tasks of their own. They are not counted: the task
/// of their connection is, and it lasts until its last stream has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamExecutor;

// === impl Tasks ===

impl Tasks {
    /// Runs `task` until it returns. A task that may live long watches [`Tasks::stop`].
    pub(crate) fn spawn(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.tracker
            .spawn(task.instrument(tracing::debug_span!("task", name)))
    }

    /// Cancelled once [`Tasks::drain`] was called.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Asks every task to stop and waits at most `grace` for them.
    pub(crate) async fn drain(&self, grace: Duration) -> Drained {
        self.stop.cancel();
        self.tracker.close();
        match tokio::time::timeout(grace, self.tracker.wait()).await {
            Ok(()) => Drained::Complete,
            Err(_) => Drained::TimedOut {
                left: self.tracker.len(),
            },
        }
    }
}

// === impl StreamExecutor ===

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    #[expect(
        clippy::disallowed_methods,
        reason = "the connection's own task is the counted one"
    )]
    fn execute(&self, future: F) {
        tokio::spawn(future);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_drain_waits_for_tasks_that_heed_the_stop() {
        let tasks = Tasks::default();
        let stop = tasks.stop();
        tasks.spawn("heeds", async move { stop.cancelled().await });

        assert_eq!(tasks.drain(MINUTE).await, Drained::Complete);
    }

    #[tokio::test(start_paused = true)]
    async fn a_drain_says_how_many_tasks_outlived_the_grace_period() {
        let tasks = Tasks::default();
        tasks.spawn("deaf", std::future::pending());

        assert_eq!(tasks.drain(MINUTE).await, Drained::TimedOut { left: 1 });
    }
}
