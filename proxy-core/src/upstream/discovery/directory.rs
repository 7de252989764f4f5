//! The names that one source has been asked for: few, however many different ones clients bring.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::super::load::Slots;
use super::super::resolve::{ResolverSet, Terms, When};
use super::listing::{Care, Families, Listing, Making};
use super::wanted::{Unusable, Wanted};

/// The most names of one source.
pub(super) const MOST_NAMES: usize = 100;

/// The most of them whose first look-up has not ended.
pub(super) const MOST_PENDING: usize = 32;

/// A name that no request asked for is forgotten after this time.
pub(super) const IDLE: Duration = Duration::from_secs(600);

/// The names of one source. When there are too many, one that never led anywhere goes, else the one that was asked for
/// the longest time ago.
#[derive(Debug)]
pub(crate) struct Directory {
    text: String,
    making: Arc<Making>,
    names: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    all: HashMap<Wanted, Entry>,
    /// Counts the requests, so that it is known which was the last for a name.
    turn: u64,
}

#[derive(Debug)]
struct Entry {
    listing: Arc<Listing>,
    turn: u64,
    used: Instant,
    /// The configuration names it: it stays.
    pinned: bool,
}

/// What tells one source from another.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Spec {
    /// As it is configured, placeholders and all.
    pub(crate) text: String,
    pub(crate) terms: Terms,
    /// How the hosts that SRV records name are looked up.
    pub(crate) targets: Terms,
    pub(crate) families: Families,
    /// How many requests each upstream may have in flight.
    pub(crate) max_requests: Option<u32>,
}

/// All directories in use: a source that is in the next configuration too goes on with its names, and what they lead to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directories(Arc<Mutex<HashMap<Key, Weak<Directory>>>>);

/// A source, and what is looked at of its upstreams.
type Key = (Spec, String);

// === impl Directories ===

impl Directories {
    /// The directory of the source that `spec` describes, whose upstreams are taken care of as `care` says.
    pub(crate) fn of(
        &self,
        spec: Spec,
        care: Care,
        resolvers: &Arc<ResolverSet>,
        slots: &Slots,
    ) -> Arc<Directory> {
        let key = (spec, care.text());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, directory| directory.strong_count() > 0);
        let spec = &key.0;
        let directory = Arc::new(Directory {
            text: spec.text.clone(),
            making: Arc::new(Making {
                terms: spec.terms.clone(),
                targets: spec.targets.clone(),
                families: spec.families,
                max_requests: spec.max_requests,
                care,
                resolvers: Arc::clone(resolvers),
                slots: slots.clone(),
            }),
            names: Mutex::default(),
        });
        all.insert(key, Arc::downgrade(&directory));
        directory
    }
}

// === impl Directory ===

impl Directory {
    /// What the configuration itself asks for: looked up with [`ResolverSet::begin`], and kept for as long as the source.
    pub(crate) fn pinned(&self, wanted: Wanted, now: Instant) -> Arc<Listing> {
        let mut names = self.names();
        if let Some(entry) = names.asked(&wanted, now) {
            entry.pinned = true;
            return Arc::clone(&entry.listing);
        }
        let listing = Arc::new(Listing::new(&self.making, &wanted, When::Begun));
        names.insert(wanted, Arc::clone(&listing), now, true);
        listing
    }

    /// What a request asks for `now`: looked up at once, if nobody asked for it before.
    pub(crate) fn find(&self, wanted: Wanted, now: Instant) -> Result<Arc<Listing>, Unusable> {
        let mut names = self.names();
        if let Some(entry) = names.asked(&wanted, now) {
            return Ok(Arc::clone(&entry.listing));
        }
        let gone = names.make_room()?;
        let listing = Arc::new(Listing::new(&self.making, &wanted, When::Now));
        names.insert(wanted, Arc::clone(&listing), now, false);
        drop(names);
        // Its names may end with it, which takes another lock.
        drop(gone);
        Ok(listing)
    }

    /// Forgets the names that were not asked for lately.
    pub(crate) fn forget_idle(&self, now: Instant) {
        let is_idle = |_: &Wanted, entry: &mut Entry| {
            !entry.pinned && now.saturating_duration_since(entry.used) >= IDLE
        };
        let gone: Vec<_> = self.names().all.extract_if(is_idle).collect();
        drop(gone);
    }

    /// The source as it is configured.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// All names now.
    pub(crate) fn listings(&self) -> Vec<Arc<Listing>> {
        let names = self.names();
        names
            .all
            .values()
            .map(|entry| Arc::clone(&entry.listing))
            .collect()
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Names ===

impl Names {
    fn asked(&mut self, wanted: &Wanted, now: Instant) -> Option<&mut Entry> {
        let entry = self.all.get_mut(wanted)?;
        self.turn += 1;
        (entry.turn, entry.used) = (self.turn, now);
        Some(entry)
    }

    fn insert(&mut self, wanted: Wanted, listing: Arc<Listing>, now: Instant, pinned: bool) {
        self.turn += 1;
        let entry = Entry {
            listing,
            turn: self.turn,
            used: now,
            pinned,
        };
        self.all.insert(wanted, entry);
    }

    /// Makes room for one more, and gives what had to go for it.
    fn make_room(&mut self) -> Result<Option<Entry>, Unusable> {
        let is_pending = |entry: &Entry| !entry.listing.is_ready();
        if self.all.values().filter(|entry| is_pending(entry)).count() >= MOST_PENDING {
            return Err(Unusable::Busy);
        }
        if self.all.len() < MOST_NAMES {
            return Ok(None);
        }
        let settled = self
            .all
            .iter()
            .filter(|(_, entry)| !entry.pinned && !is_pending(entry));
        let last = settled.min_by_key(|(_, entry)| (entry.listing.is_known(), entry.turn));
        let wanted = last.map(|(wanted, _)| wanted.clone()).ok_or(Unusable::Busy)?;
        Ok(self.all.remove(&wanted))
    }
}
