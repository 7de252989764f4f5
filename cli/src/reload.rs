//! Reading the configuration again while the proxy runs: at a signal, or because its files changed.

use proxy_core::{Admin, Source};
use tokio::task;
use tracing::{error, info, warn};

use crate::args::ConfigArgs;
use crate::exit::Failure;
use crate::files::Files;
use crate::notify::Notify;
use crate::source::{self, Loaded};
use crate::watch::Seen;

/// Loads the configuration that the process was started with, as often as it is asked to.
pub(crate) struct Reloader<'p> {
    pub(crate) args: ConfigArgs,
    pub(crate) files: Files,
    pub(crate) admin: &'p Admin,
    pub(crate) notify: &'p Notify,
    /// Where the configuration was read from; `None` if it cannot be read again.
    pub(crate) source: Option<Source>,
    /// What was read the last time.
    pub(crate) seen: Seen,
}

// === impl Reloader ===

impl Reloader<'_> {
    /// Loads the configuration because it was `asked` to, or when the files change, if they are to be watched. It may be
    /// dropped at any time and called again.
    pub(crate) async fn next(&mut self, asked: bool, watch: bool) {
        if asked {
            self.at_signal().await;
        } else if watch {
            self.at_change().await;
        } else {
            std::future::pending().await
        }
    }

    /// Loads the file, even if it says what runs, unless somebody else has changed what runs.
    async fn at_signal(&mut self) {
        match &self.source {
            None => {
                warn!("the configuration came from no file that could be read again; the signal is ignored")
            }
            Some(source) if !self.admin.is_from(source) => warn!(
                file = source.file,
                "the admin API has changed the configuration since its file was read; the signal is ignored"
            ),
            Some(_) => self.load(true).await,
        }
    }

    /// Waits until the files change, then loads them.
    async fn at_change(&mut self) {
        self.seen.changed(&self.files).await;
        info!("the configuration's files have changed");
        self.load(false).await;
    }

    /// Whatever is wrong is logged, once, and the proxy runs on as it is.
    async fn load(&mut self, force: bool) {
        self.notify.reloading();
        match self.try_load(force).await {
            Ok(()) => self.notify.ready(),
            Err(failure) => {
                error!("the configuration is refused, the one before runs on: {failure}");
                self.notify.refused();
            }
        }
    }

    async fn try_load(&mut self, force: bool) -> Result<(), Failure> {
        let (args, files) = (self.args.clone(), self.files.clone());
        // On a thread that may wait for the disk, and take its time over a large configuration.
        let read = task::spawn_blocking(move || source::load_watched(&args, &files));
        let (loaded, seen) = read.await.map_err(anyhow::Error::new)?;
        let done = self.take(loaded, force).await;
        // Last, so that a load that is dropped halfway is begun again.
        self.seen = seen;
        done
    }

    async fn take(&mut self, loaded: Result<Loaded, Failure>, force: bool) -> Result<(), Failure> {
        let loaded = loaded?;
        loaded.log_warnings();
        let Some(source) = loaded.origin else {
            return Ok(());
        };
        let done = self.admin.load(loaded.document, source.clone(), force).await;
        done.map_err(|error| Failure::Error(error.into()))?;
        self.source = Some(source);
        Ok(())
    }
}
