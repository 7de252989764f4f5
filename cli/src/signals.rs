//! Signals of the system.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;

use anyhow::Context as _;

/// Waits for the signals that a proxy answers to. From its making on, none of them ends the process by itself.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user_1: Signal,
    user_2: Signal,
}

// === impl Signals ===

impl Signals {
    /// Starts to listen for signals. Needs a tokio runtime.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let of_kind = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: of_kind(SignalKind::terminate())?,
            interrupt: of_kind(SignalKind::interrupt())?,
            hang_up: of_kind(SignalKind::hangup())?,
            user_1: of_kind(SignalKind::user_defined1())?,
            user_2: of_kind(SignalKind::user_defined2())?,
        })
    }

    /// Waits until the process is told to stop, and gives the name of the signal. The others are logged: what they
    /// will mean (reading the configuration again) is not there yet, and they must not end a proxy.
    pub(crate) async fn stop(&mut self) -> &'static str {
        loop {
            let ignored = tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hang_up.recv() => "SIGHUP",
                _ = self.user_1.recv() => "SIGUSR1",
                _ = self.user_2.recv() => "SIGUSR2",
            };
            warn!(
                signal = ignored,
                "a reload without a restart is not supported yet, the signal is ignored"
            );
        }
    }
}
