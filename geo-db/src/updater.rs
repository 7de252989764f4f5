//! Keeps a [`Database`] up to date over HTTP.
//!
//! The archive is asked for every 24 hours or so, with the validators of the data that is in use, and parsed off the
//! threads of the runtime. Whatever fails, the last good table goes on answering; the next try comes after 30 seconds,
//! then after twice as long each time, up to an hour. The last good archive is kept on disk and read at start.

mod disk;
mod fetch;
mod settings;
mod wait;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{select, task, time};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::{
    disk::{Kept, Store},
    fetch::{Answer, Download, Fetcher, Validators},
    wait::Waits,
};
pub use self::{
    fetch::{Progress, without_secrets},
    settings::{DEFAULT_URL, Proxies, Settings, SettingsError},
};
use crate::{
    Counts, Database, Table,
    archive::{self, ArchiveError},
};

/// Fetches, checks and keeps the archive for one [`Database`].
pub struct Updater {
    settings: Settings,
    database: Database,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    fetcher: Fetcher,
    store: Option<Store>,
    waits: Waits,
    /// Of the archive that the database's table was made of, and of no other: what has not changed is in use then.
    validators: Validators,
    restored: bool,
}

/// What a successful try came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The table is that of the newest archive already.
    Current,
    /// There is a new table.
    Replaced {
        /// What the table before it was made of, if there was one.
        before: Option<Counts>,
        /// What it is made of.
        after: Counts,
    },
}

/// Why a try failed. The table stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// No answer, or not all of it: no connection, a time-out, a redirect that is not followed.
    #[error("cannot be fetched: {0}")]
    Fetch(String),
    /// An answer other than 200 and 304.
    #[error("the server answers with status {0}")]
    Status(u16),
    /// The server says that nothing has changed, though it was told of nothing.
    #[error("the server answers 304 to a request without validators")]
    NotModified,
    /// More bytes than [`archive::Limits::packed`].
    #[error("the archive is larger than the limit")]
    Large,
    /// The archive is refused.
    #[error("the archive is refused: {0}")]
    Archive(#[source] ArchiveError),
    /// More than half of a family's prefixes are gone, which is more likely a mistake than the truth.
    #[error(
        "more than half of the prefixes are gone: {} of {} IPv4 and {} of {} IPv6 are left",
        after.ipv4, before.ipv4, after.ipv6, before.ipv6
    )]
    Lost {
        /// What the table in use was made of.
        before: Counts,
        /// What the new one would be made of.
        after: Counts,
    },
    /// The runtime stops.
    #[error("interrupted")]
    Interrupted,
}

// === impl Updater ===

impl Updater {
    /// An updater of `database`. `clock` tells the time of day, `seed` should differ between processes: it spreads
    /// their requests. Reads the system's certificate authorities, but nothing else yet.
    ///
    /// # Errors
    ///
    /// If a setting is of no use.
    pub fn try_new(
        settings: Settings,
        database: Database,
        clock: impl Fn() -> SystemTime + Send + Sync + 'static,
        seed: u64,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            fetcher: Fetcher::try_new(&settings)?,
            store: settings
                .directory
                .as_deref()
                .map(|directory| Store::new(directory, &settings.url)),
            waits: Waits::new(&settings, seed),
            clock: Box::new(clock),
            validators: Validators::default(),
            restored: false,
            database,
            settings,
        })
    }

    /// Updates the database until `stop` is cancelled. Starts with what is kept on disk; if that was checked less than
    /// an interval ago, the first request waits for the rest of it.
    pub async fn run(mut self, stop: CancellationToken) {
        let first = select! {
            () = stop.cancelled() => return,
            wait = self.first_wait() => wait,
        };
        let mut wait = first;
        loop {
            let due = (self.clock)().checked_add(wait);
            self.database.report(|status| status.next_try = due);
            select! {
                () = stop.cancelled() => break,
                () = time::sleep(wait) => {}
            }
            let outcome = select! {
                () = stop.cancelled() => break,
                outcome = self.update(|_| ()) => outcome,
            };
            wait = match outcome {
                Ok(_) => self.waits.after_success(),
                Err(_) => self.waits.after_failure(),
            };
        }
        self.database.report(|status| status.next_try = None);
    }

    /// Tries once, now, and says what came of it; `progress` is told of the bytes that have arrived.
    ///
    /// # Errors
    ///
    /// If there is no good archive to be had. The database stays as it was, and its status tells why.
    pub async fn update(&mut self, progress: impl FnMut(Progress) + Send) -> Result<Outcome, UpdateError> {
        self.restore().await;
        let tried = self.attempt(progress).await;
        let now = (self.clock)();
        match &tried {
            Ok(outcome) => {
                self.database.report(|status| {
                    status.checked = Some(now);
                    status.last_error = None;
                    status.failures = 0;
                });
                match outcome {
                    Outcome::Current => debug!("the country table is current"),
                    Outcome::Replaced { after, .. } => {
                        info!(ipv4 = after.ipv4, ipv6 = after.ipv6, "new country table");
                    }
                }
            }
            Err(error) => self.failed(error),
        }
        tried
    }

    /// Says a failure once, not at each try.
    fn failed(&self, error: &UpdateError) {
        let text = error.to_string();
        if self.database.status().last_error.as_ref() == Some(&text) {
            debug!(%error, "the country table could not be updated");
        } else {
            warn!(%error, "the country table could not be updated, the last good one stays");
        }
        self.database.report(|status| {
            status.last_error = Some(text.clone());
            status.failures = status.failures.saturating_add(1);
        });
    }

    async fn first_wait(&mut self) -> Duration {
        self.restore().await;
        let now = (self.clock)();
        let status = self.database.status();
        // What another source was asked for says nothing of this one.
        let same = status
            .loaded
            .is_some_and(|loaded| loaded.source == self.fetcher.shown());
        let checked = status.checked.filter(|_| same);
        // A check in the future is a clock that was set back: nothing is known of its age.
        let since = checked.and_then(|checked| now.duration_since(checked).ok());
        since.map_or(Duration::ZERO, |since| {
            self.settings.interval.saturating_sub(since)
        })
    }

    /// Puts the archive in place that is kept on disk, if there is one that can be used. [`Updater::run`] and
    /// [`Updater::update`] begin with that; it is done once.
    pub async fn restore(&mut self) {
        if std::mem::replace(&mut self.restored, true) {
            return;
        }
        let Some(store) = self.store.clone() else { return };
        let limits = self.settings.limits.clone();
        let Ok(Some(kept)) = task::spawn_blocking(move || store.load(&limits)).await else {
            return;
        };
        let Kept { table, facts } = kept;
        self.database
            .replace(table, self.fetcher.shown(), facts.fetched());
        self.database
            .report(|status| status.checked = Some(facts.checked()));
        self.validators = facts.validators;
    }

    async fn attempt(&mut self, progress: impl FnMut(Progress) + Send) -> Result<Outcome, UpdateError> {
        let in_use = self.database.table();
        let none = Validators::default();
        let validators = if in_use.is_some() { &self.validators } else { &none };
        let most = self.settings.limits.packed;
        let download = match self.fetcher.fetch(validators, most, progress).await? {
            Answer::NotModified => {
                self.keep_checked().await?;
                return Ok(Outcome::Current);
            }
            Answer::New(download) => download,
        };

        let now = (self.clock)();
        let limits = self.settings.limits.clone();
        let (store, force) = (self.store.clone(), self.settings.force);
        let work = move || accept(&download, in_use.as_deref(), &limits, force, store.as_ref(), now);
        let (table, validators, before) = task::spawn_blocking(work)
            .await
            .map_err(|_| UpdateError::Interrupted)??;
        let after = table.counts();
        self.database.replace(table, self.fetcher.shown(), now);
        self.validators = validators;
        Ok(Outcome::Replaced { before, after })
    }

    /// Notes on disk that what is kept there is current.
    async fn keep_checked(&self) -> Result<(), UpdateError> {
        let Some(store) = self.store.clone() else {
            return Ok(());
        };
        let now = (self.clock)();
        let work = move || {
            if let Err(error) = store.checked(now) {
                warn!(%error, "the country archive's facts cannot be kept");
            }
        };
        task::spawn_blocking(work)
            .await
            .map_err(|_| UpdateError::Interrupted)
    }
}

impl fmt::Debug for Updater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updater")
            .field("source", &self.fetcher.shown())
            .finish_non_exhaustive()
    }
}

/// Reads and judges a download, and keeps it on disk. Takes a while: not for the runtime's threads.
fn accept(
    download: &Download,
    in_use: Option<&Table>,
    limits: &archive::Limits,
    force: bool,
    store: Option<&Store>,
    now: SystemTime,
) -> Result<(Arc<Table>, Validators, Option<Counts>), UpdateError> {
    let table = archive::read(download.reader(), limits).map_err(UpdateError::Archive)?;
    let before = in_use.map(Table::counts);
    let after = table.counts();
    if let Some(before) = before.filter(|_| !force) {
        let lost = |before: usize, after: usize| after < before.div_ceil(2);
        if lost(before.ipv4, after.ipv4) || lost(before.ipv6, after.ipv6) {
            return Err(UpdateError::Lost { before, after });
        }
    }
    if let Some(Err(error)) = store.map(|store| store.save(download, now)) {
        warn!(%error, "the country archive cannot be kept on disk");
    }
    Ok((Arc::new(table), download.validators.clone(), before))
}
