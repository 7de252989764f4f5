//! Skipper's routes follow their sources while the configuration stays as it is.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::{task, time};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Reconciler;
use crate::config::skipper;
use crate::skipper::source::{Part, Source};
use crate::skipper::table::Table;

impl Reconciler {
    /// Looks for changes of the routes of every view, until `stop`.
    pub(crate) async fn follow_routes(self: Arc<Self>, stop: CancellationToken) {
        loop {
            let published = self.published.notified();
            for table in &self.views.current().tables {
                let source = &table.source;
                if !source.begin_following() {
                    continue;
                }
                for part in source.parts() {
                    let (this, source, stop) = (Arc::clone(&self), Arc::downgrade(source), stop.clone());
                    self.tasks.spawn("routes", this.follow(source, part, stop));
                }
            }
            if stop.run_until_cancelled(published).await.is_none() {
                return;
            }
        }
    }

    /// Looks for changes of a part of one source for as long as a view uses it.
    async fn follow(self: Arc<Self>, source: Weak<Source>, part: Part, stop: CancellationToken) {
        loop {
            let Some(source) = source.upgrade() else { return };
            let poll = source.settings.poll;
            if stop
                .run_until_cancelled(self.look_for_routes(&source, part))
                .await
                .is_none()
            {
                return;
            }
            let called = source.called(part);
            drop(source);
            let next = async {
                time::sleep(poll.min(PAUSE)).await;
                // The time between two looks, or less if there is something to see.
                let _polled = time::timeout(poll.saturating_sub(PAUSE), called).await;
            };
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
        }
    }

    async fn look_for_routes(&self, source: &Arc<Source>, part: Part) {
        let has_changed = match part {
            Part::Remote(number) => source.fetch(number).await,
            Part::Local => read(source).await,
        };
        if has_changed {
            self.renew_table(source).await;
        }
    }

    /// Makes a table of what was read, and lets requests see it.
    pub(crate) async fn renew_table(&self, source: &Arc<Source>) {
        let _making = source.making().await;
        let (around, making) = (self.surroundings.clone(), Arc::clone(source));
        // Where there are many routes it takes a while.
        let Ok(table) = task::spawn_blocking(move || skipper::build(&around, &making)).await else {
            return;
        };
        report(&table);
        // No load comes between the view that is looked at and the next one.
        let _state = self.state.lock().await;
        source.settle(&table);
        let last = self.views.current();
        if let Some(view) = last.with_table(&table) {
            self.publish(view, last);
        }
    }
}

/// Reads what is at hand. Says whether anything has changed.
async fn read(source: &Arc<Source>) -> bool {
    let mut has_changed = false;
    for _ in 0..MOST_READS {
        let reading = Arc::clone(source);
        // A panic is reported by itself, and the routes stay as they are.
        let read = task::spawn_blocking(move || (reading.read().0, reading.is_settling())).await;
        let (is_other, is_settling) = read.unwrap_or_default();
        has_changed |= is_other;
        if !is_settling {
            break;
        }
        time::sleep(SETTLING).await;
    }
    has_changed
}

/// Says what the table has, and what is wrong with it.
fn report(table: &Table) {
    let (routes, invalid) = (table.routes.len(), table.invalid.len());
    info!(routes, invalid, "routes have changed");
    // The listing names all of them.
    for invalid in table.invalid.iter().take(MOST_TOLD) {
        warn!("{invalid}");
    }
}

/// How long a file that has changed must stay as it is.
const SETTLING: Duration = Duration::from_millis(20);

/// How often it is read for that, until the next look.
const MOST_READS: usize = 5;

/// The shortest time between two looks, whoever calls for one.
const PAUSE: Duration = Duration::from_millis(10);

/// So many invalid routes are logged.
const MOST_TOLD: usize = 20;
