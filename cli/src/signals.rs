//! Signals of the system.

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use anyhow::Context as _;

/// Waits for the signals that a proxy answers to. From its making on, none of them ends the process by itself.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Stream,
    interrupt: Stream,
    quit: Stream,
    hang_up: Stream,
    user_1: Stream,
    user_2: Stream,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// To finish what is under way, and end.
    Stop(&'static str),
    /// To end at once.
    Quit(&'static str),
    /// To read the configuration again.
    Reload,
    /// Nothing. It must not end a proxy, though.
    Ignored(&'static str),
}

// === impl Signals ===

impl Signals {
    /// Starts to listen for signals. Needs a tokio runtime.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let of_kind = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: of_kind(SignalKind::terminate())?,
            interrupt: of_kind(SignalKind::interrupt())?,
            quit: of_kind(SignalKind::quit())?,
            hang_up: of_kind(SignalKind::hangup())?,
            user_1: of_kind(SignalKind::user_defined1())?,
            user_2: of_kind(SignalKind::user_defined2())?,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Signal::Stop("SIGINT"),
            _ = self.quit.recv() => Signal::Quit("SIGQUIT"),
            _ = self.user_1.recv() => Signal::Reload,
            _ = self.hang_up.recv() => Signal::Ignored("SIGHUP"),
            _ = self.user_2.recv() => Signal::Ignored("SIGUSR2"),
        }
    }
}
