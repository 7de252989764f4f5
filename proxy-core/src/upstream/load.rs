//! How many requests each upstream has had and has in flight: counted by each worker for itself, summed when somebody
//! asks; and what is remembered of each.
//!
//! An upstream has a slot, the same in every worker and from one configuration to the next. What a worker counts there,
//! nobody else writes.

use std::array;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use tokio::time::Instant;

use super::health::Failures;
use super::standing::Standing;

/// Slots of a chunk. A worker's counters grow by whole chunks, so that those in use stay where they are.
const CHUNK: usize = 256;

/// The counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct Tally(ArcSwap<Vec<Arc<Chunk>>>);

#[derive(Debug)]
struct Chunk([Counter; CHUNK]);

/// What one worker counts for one upstream.
#[derive(Debug, Default)]
struct Counter {
    in_flight: AtomicU32,
    /// All that there have been; it begins anew at its end.
    begun: AtomicU32,
}

/// One request in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    chunk: Arc<Chunk>,
    index: usize,
}

/// Where the requests of one upstream are counted, and what is remembered of it. The place of the counters is free for
/// another one once it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    label: Arc<str>,
    index: usize,
    standing: Standing,
    failures: Failures,
    shared: Arc<Shared>,
}

/// All slots, and the workers that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    tallies: ArcSwap<Vec<Arc<Tally>>>,
}

#[derive(Debug, Default)]
struct Known {
    by_label: HashMap<Arc<str>, Weak<Slot>>,
    free: Vec<usize>,
    /// The first slot that was never used.
    next: usize,
}

// === impl Tally ===

impl Tally {
    /// Counts a request to the upstream of `slot`.
    pub(crate) fn begin(&self, slot: &Slot) -> Option<InFlight> {
        let chunk = Arc::clone(self.0.load().get(slot.index / CHUNK)?);
        let index = slot.index % CHUNK;
        let counter = chunk.0.get(index)?;
        counter.in_flight.fetch_add(1, Ordering::Relaxed);
        counter.begun.fetch_add(1, Ordering::Relaxed);
        Some(InFlight { chunk, index })
    }

    fn get(&self, index: usize, of: impl FnOnce(&Counter) -> &AtomicU32) -> u32 {
        let chunks = self.0.load();
        let counter = chunks
            .get(index / CHUNK)
            .and_then(|chunk| chunk.0.get(index % CHUNK));
        counter.map_or(0, |counter| of(counter).load(Ordering::Relaxed))
    }

    /// Makes room for `slots` slots.
    fn grow(&self, slots: usize) {
        let wanted = slots.div_ceil(CHUNK);
        let chunks = self.0.load_full();
        if chunks.len() < wanted {
            let mut more = chunks.to_vec();
            more.resize_with(wanted, || Arc::new(Chunk(array::from_fn(|_| Counter::default()))));
            self.0.store(Arc::new(more));
        }
    }
}

// === impl InFlight ===

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(counter) = self.chunk.0.get(self.index) {
            counter.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

// === impl Slot ===

impl Slot {
    /// The upstream as `host:port`.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// What is remembered of the upstream.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The failed requests that still count against the upstream.
    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The requests in flight of all workers.
    pub(crate) fn in_flight(&self) -> u32 {
        self.shared.in_flight(self.index)
    }

    /// All requests that there have been, while the slot was this upstream's or another's.
    pub(crate) fn begun(&self) -> u64 {
        let tallies = self.shared.tallies.load();
        let begun = |tally: &Arc<Tally>| u64::from(tally.get(self.index, |counter| &counter.begun));
        tallies.iter().map(begun).sum()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut known = self.shared.lock();
        known.free.push(self.index);
        // Unless the label has a new slot already.
        if known
            .by_label
            .get(&self.label)
            .is_some_and(|slot| slot.strong_count() == 0)
        {
            known.by_label.remove(&self.label);
        }
    }
}

// === impl Slots ===

impl Slots {
    /// Lets a worker count.
    pub(crate) fn add_worker(&self, tally: Arc<Tally>) {
        let known = self.0.lock();
        tally.grow(known.next);
        // Nobody else adds one while the lock is held.
        let mut tallies = self.0.tallies.load_full().to_vec();
        tallies.push(tally);
        self.0.tallies.store(Arc::new(tallies));
        drop(known);
    }

    /// The slot of the upstream `host:port`, for as long as somebody holds it.
    pub(crate) fn of(&self, label: &str) -> Arc<Slot> {
        let mut known = self.0.lock();
        if let Some(slot) = known.by_label.get(label).and_then(Weak::upgrade) {
            return slot;
        }
        let label: Arc<str> = label.into();
        let now = Instant::now();
        let slot = Arc::new(Slot {
            index: self.0.index(&mut known),
            label: Arc::clone(&label),
            standing: Standing::new(now),
            failures: Failures::new(now),
            shared: Arc::clone(&self.0),
        });
        known.by_label.insert(label, Arc::downgrade(&slot));
        slot
    }
}

// === impl Shared ===

impl Shared {
    /// A place that nobody has, and that no request is counted in: one may outlive the upstream that it was sent to.
    fn index(&self, known: &mut Known) -> usize {
        let quiet = known.free.iter().position(|index| self.in_flight(*index) == 0);
        if let Some(position) = quiet {
            return known.free.swap_remove(position);
        }
        let index = known.next;
        known.next += 1;
        self.tallies
            .load()
            .iter()
            .for_each(|tally| tally.grow(known.next));
        index
    }

    fn in_flight(&self, index: usize) -> u32 {
        let tallies = self.tallies.load();
        let in_flight = |tally: &Arc<Tally>| tally.get(index, |counter| &counter.in_flight);
        tallies.iter().map(in_flight).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_workers() -> (Slots, [Arc<Tally>; 2]) {
        let slots = Slots::default();
        let tallies = [(); 2].map(|()| Arc::<Tally>::default());
        for tally in &tallies {
            slots.add_worker(Arc::clone(tally));
        }
        (slots, tallies)
    }

    #[test]
    fn requests_of_all_workers_are_counted_until_they_end() {
        let (slots, [one, two]) = two_workers();
        let (a, b) = (slots.of("a:80"), slots.of("b:80"));
        let first = one.begin(&a).unwrap();
        let second = two.begin(&a).unwrap();
        assert_eq!((a.in_flight(), b.in_flight()), (2, 0));
        drop(first);
        assert_eq!(a.in_flight(), 1);
        drop(second);
        assert_eq!(a.in_flight(), 0);
        assert_eq!((a.begun(), b.begun()), (2, 0));
    }

    #[test]
    fn an_upstream_keeps_its_slot_for_as_long_as_it_is_known() {
        let (slots, [one, _]) = two_workers();
        let before = slots.of("a:80");
        let _running = one.begin(&before).unwrap();
        let after = slots.of("a:80");
        drop(before);
        assert_eq!(after.in_flight(), 1);
    }

    #[test]
    fn a_slot_is_used_again_once_it_is_empty() {
        let (slots, [one, _]) = two_workers();
        let gone = slots.of("a:80");
        let index = gone.index;
        let running = one.begin(&gone).unwrap();
        drop(gone);
        let other = slots.of("b:80");
        assert_ne!(other.index, index, "a request to a:80 is still counted there");
        assert_eq!(other.in_flight(), 0);
        drop(running);
        assert_eq!(slots.of("c:80").index, index);
    }

    #[test]
    fn there_is_room_for_any_number_of_upstreams_and_workers_may_come_late() {
        let slots = Slots::default();
        let many: Vec<Arc<Slot>> = (0..1000).map(|n| slots.of(&format!("a{n}:80"))).collect();
        let late = Arc::<Tally>::default();
        assert!(late.begin(&many[0]).is_none(), "it is no worker yet");
        slots.add_worker(Arc::clone(&late));
        let _running: Vec<InFlight> = many.iter().map(|slot| late.begin(slot).unwrap()).collect();
        assert!(many.iter().all(|slot| slot.in_flight() == 1));
    }
}
