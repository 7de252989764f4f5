//! Compares passwords on threads of its own, few at a time: hashes are slow by design, and requests go on
//! meanwhile.

use std::collections::HashMap;
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use zeroize::Zeroizing;

use super::hash::PasswordHash;
use super::queue::{Client, Owner, Queue};
use super::results::{Key, Keys, Results};

/// Comparisons that may wait for a thread; with more, those give way of whom most wait.
const QUEUE: usize = 64;

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// Compares passwords with hashes.
///
/// Requests that ask the same at the same time share one comparison, and one that nobody waits for any more is
/// not made. Users take turns, and among those who ask for one user so do clients. Dropping it ends its threads, each after the comparison that it is at.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// `None` if the system has no randomness: then nothing is remembered or shared.
    keys: Option<Keys>,
    shared: Arc<Shared>,
}

/// What is known at once.
#[derive(Debug)]
pub(super) enum Begun {
    Known(bool),
    Comparing(Waiting),
    /// There is no room in the queue, or none for more of this client.
    Busy,
}

/// The result of a comparison under way.
#[derive(Debug)]
pub(super) struct Waiting(watch::Receiver<Option<bool>>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// There is work, or no more to come.
    changed: Condvar,
    /// The most threads.
    threads: usize,
}

#[derive(Debug)]
struct State {
    queue: Queue<Job>,
    under_way: HashMap<Key, Arc<watch::Sender<Option<bool>>>>,
    results: Results,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

struct Job {
    key: Option<Key>,
    hash: Arc<PasswordHash>,
    password: Zeroizing<Vec<u8>>,
    keeps_result: bool,
    result: Arc<watch::Sender<Option<bool>>>,
}

// === impl Verifier ===

impl Default for Verifier {
    /// Up to half of the processors compare at once.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new((processors / 2).max(1))
    }
}

impl Verifier {
    /// Compares up to `threads` passwords at once.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            keys: Keys::random(),
            shared: Arc::new(Shared {
                state: Mutex::new(State::new()),
                changed: Condvar::new(),
                threads,
            }),
        }
    }

    /// Whether `password` is that of `hash`, if that was found out before, or begins to find it out.
    pub(super) fn begin(
        &self,
        hash: &Arc<PasswordHash>,
        password: Zeroizing<Vec<u8>>,
        keeps_result: bool,
        client: Client,
    ) -> Begun {
        let key = self.keys.as_ref().map(|keys| keys.key(hash.as_str(), &password));
        let mut state = self.shared.state();
        if let Some(key) = &key {
            if keeps_result && let Some(known) = state.results.get(key) {
                return Begun::Known(known);
            }
            if let Some(result) = state.under_way.get(key) {
                return Begun::Comparing(Waiting(result.subscribe()));
            }
        }
        // Where a hash is, is what tells a user from others; all who do not exist are one.
        let user = Arc::as_ptr(hash).addr();
        let owner = Owner { user, client };
        if !state.has_room(owner) || !self.shared.has_thread(&mut state) {
            return Begun::Busy;
        }
        let (result, waiting) = watch::channel(None);
        let result = Arc::new(result);
        if let Some(key) = key {
            state.under_way.insert(key, Arc::clone(&result));
        }
        let hash = Arc::clone(hash);
        state.queue.push(
            owner,
            Job {
                key,
                hash,
                password,
                keeps_result,
                result,
            },
        );
        drop(state);
        self.shared.changed.notify_one();
        Begun::Comparing(Waiting(waiting))
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        // Whoever waits is told that nothing comes.
        state.queue.drain(|_| false);
        state.under_way.clear();
        drop(state);
        self.shared.changed.notify_all();
    }
}

// === impl Waiting ===

impl Waiting {
    /// `None` if it is not found out, as others had to be first or the process ends.
    pub(super) async fn result(mut self) -> Option<bool> {
        let result = self.0.wait_for(Option::is_some).await.ok()?;
        *result
    }
}

// === impl State ===

impl State {
    fn new() -> Self {
        Self {
            queue: Queue::new(QUEUE),
            under_way: HashMap::new(),
            results: Results::default(),
            threads: 0,
            idle: 0,
            is_closed: false,
        }
    }

    /// Whether there is room for a job of `owner`. Jobs that nobody waits for make some, and one of those who have
    /// more: whoever waits for it is told that it is not made.
    fn has_room(&mut self, owner: Owner) -> bool {
        if !self.queue.is_full() && !self.queue.has_enough(owner) {
            return true;
        }
        let under_way = &mut self.under_way;
        self.queue.drain(|job| {
            let is_wanted = job.result.receiver_count() > 0;
            if let Some(key) = job.key.filter(|_| !is_wanted) {
                under_way.remove(&key);
            }
            is_wanted
        });
        if self.queue.has_enough(owner) {
            return false;
        }
        if !self.queue.is_full() {
            return true;
        }
        let Some(job) = self.queue.give_way(owner) else {
            return false;
        };
        if let Some(key) = job.key {
            self.under_way.remove(&key);
        }
        true
    }
}

// === impl Shared ===

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a thread that will take up the next job; starts a thread if all are busy and there may be one more.
    fn has_thread(self: &Arc<Self>, state: &mut State) -> bool {
        if state.idle <= state.queue.len() && state.threads < self.threads {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("passwords".to_owned());
            state.threads += usize::from(thread.spawn(move || shared.work()).is_ok());
        }
        state.threads > 0
    }

    /// Does one job after another, until there has been none for a while.
    fn work(&self) {
        while let Some(job) = self.next() {
            let found = panic::catch_unwind(|| job.hash.is_of(&job.password)).unwrap_or_default();
            let mut state = self.state();
            if let Some(key) = job.key {
                state.under_way.remove(&key);
                if let Some(is_right) = found.filter(|_| job.keeps_result) {
                    state.results.insert(key, is_right);
                }
            }
            drop(state);
            job.result.send_replace(Some(found == Some(true)));
        }
    }

    /// The next job that anybody waits for. `None`: the thread is to end, and does not count any more.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                break;
            }
            if let Some(job) = state.queue.pop() {
                if job.result.receiver_count() > 0 {
                    return Some(job);
                }
                if let Some(key) = job.key {
                    state.under_way.remove(&key);
                }
                continue;
            }
            state.idle += 1;
            let waited = self.changed.wait_timeout(state, IDLE);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}

// === impl Job ===

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job(..)")
    }
}
