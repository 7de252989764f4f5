//! Where the routes of a table come from, and what was read there last.
//!
//! What cannot be read, or does not parse, leaves the routes that were read before: of its own input alone.

use std::fmt;
use std::future::{Future, pending};
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwapOption;
use caddy_config as model;
use eskip::Route;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};
use tokio::task;
use tracing::{info, warn};

use super::fetch::{Fetched, Fetcher};
use super::settings::{Input, Settings};
use super::supply::{RouteSource, Routes, Supply, is_same};
use super::table::Table;

/// The most bytes of one input.
pub(crate) const MOST: u64 = 256 << 20;

/// All sources in use: handlers that say the same share one, from one configuration to the next.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    known: Mutex<Vec<(Box<model::Eskip>, Weak<Source>)>>,
    /// What handlers may name.
    supplies: Vec<Arc<Supply>>,
}

/// The inputs of one table.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) settings: Settings,
    inputs: Mutex<Vec<Loaded>>,
    /// The table of what was read last.
    current: ArcSwapOption<Table>,
    /// Somebody looks for changes.
    is_followed: AtomicBool,
    /// One table at a time is made, so that none takes the place of one that was made of newer routes.
    making: AsyncMutex<()>,
}

/// Inputs that are looked at together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Those at hand.
    Local,
    /// The one of this number, which is elsewhere: a server that is slow keeps no other input waiting.
    Remote(usize),
}

/// One input and what it gave.
#[derive(Debug)]
struct Loaded {
    input: Input,
    /// What was read: to see whether it has changed.
    text: Option<Arc<str>>,
    /// What a file has now, if that was read once only.
    coming: Option<String>,
    /// `None`: it was not read yet.
    routes: Option<Routes>,
    /// What was wrong the last time, so that it is said once.
    wrong: Option<String>,
    fetcher: Option<Fetcher>,
}

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// It cannot be read now.
    Unread(String),
    /// It is no list of routes: where, and why.
    Syntax(String),
}

// === impl Sources ===

impl Sources {
    /// Nothing is in use yet, and handlers may name these.
    pub(crate) fn new(given: &[Arc<dyn RouteSource>]) -> Self {
        let supply = |source: &Arc<dyn RouteSource>| Arc::new(Supply::new(Arc::clone(source)));
        Self {
            known: Mutex::default(),
            supplies: given.iter().map(supply).collect(),
        }
    }

    /// What handlers name so.
    pub(crate) fn supply(&self, name: &str) -> Option<Arc<Supply>> {
        self.supplies.iter().find(|supply| supply.name() == name).cloned()
    }

    /// The source of a handler: the one that is there, or one that `make` makes.
    pub(crate) fn of<E>(
        &self,
        handler: &model::Eskip,
        make: impl FnOnce() -> Result<Settings, E>,
    ) -> Result<Arc<Source>, E> {
        let mut known = lock(&self.known);
        known.retain(|(_, source)| source.strong_count() > 0);
        let found = known.iter().find(|(known, _)| **known == *handler);
        if let Some(source) = found.and_then(|(_, source)| source.upgrade()) {
            return Ok(source);
        }
        let source = Source::new(make()?);
        known
            .iter()
            .filter_map(|(_, other)| other.upgrade())
            .for_each(|other| source.adopt(&other));
        let source = Arc::new(source);
        known.push((Box::new(handler.clone()), Arc::downgrade(&source)));
        Ok(source)
    }
}

// === impl Source ===

impl Source {
    pub(crate) fn new(settings: Settings) -> Self {
        let inputs = settings.inputs.iter().cloned().map(Loaded::new).collect();
        Self {
            settings,
            inputs: Mutex::new(inputs),
            current: ArcSwapOption::empty(),
            is_followed: AtomicBool::new(false),
            making: AsyncMutex::new(()),
        }
    }

    /// Begins with what `other` has read of the same inputs: the handler may have changed in something else, and its
    /// routes are not to be away until they are read again.
    fn adopt(&self, other: &Self) {
        let theirs = lock(&other.inputs);
        for own in &mut *lock(&self.inputs) {
            let found = theirs
                .iter()
                .find(|theirs| theirs.input == own.input && theirs.text.is_some());
            if let Some(found) = found.filter(|_| own.text.is_none()) {
                (own.text, own.routes) = (found.text.clone(), found.routes.clone());
            }
        }
    }

    /// Whoever makes a table of this holds what this gives.
    pub(crate) async fn making(&self) -> AsyncMutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// The table of what was read last.
    pub(crate) fn current(&self) -> Option<Arc<Table>> {
        self.current.load_full()
    }

    /// This is the table from now on.
    pub(crate) fn settle(&self, table: &Arc<Table>) {
        self.current.store(Some(Arc::clone(table)));
    }

    /// Whether the caller is the first to look for changes from now on.
    pub(crate) fn begin_following(&self) -> bool {
        !self.is_followed.swap(true, Ordering::Relaxed)
    }

    /// Reads what is at hand. Says whether anything has changed, and what is wrong. It waits for disks.
    pub(crate) fn read(&self) -> (bool, Vec<LoadError>) {
        let mut inputs = lock(&self.inputs);
        let mut changed = false;
        let mut wrong = Vec::new();
        for loaded in &mut *inputs {
            match loaded.read() {
                Ok(is_new) => changed |= is_new,
                // A mistake says where it stands by itself.
                Err(LoadError::Unread(why)) => {
                    wrong.push(LoadError::Unread(format!("{}: {why}", loaded.input)));
                }
                Err(error) => wrong.push(error),
            }
        }
        (changed, wrong)
    }

    /// Whether a file has changed and must be read once more.
    pub(crate) fn is_settling(&self) -> bool {
        lock(&self.inputs).iter().any(|loaded| loaded.coming.is_some())
    }

    /// Fetches the input of this number. Says whether its routes are others than before.
    pub(crate) async fn fetch(self: &Arc<Self>, number: usize) -> bool {
        // The lock is not held while somebody else is waited for.
        let supply = lock(&self.inputs).get(number).and_then(Loaded::supply);
        if let Some(supply) = supply {
            let asked = supply.ask().await;
            let mut inputs = lock(&self.inputs);
            return inputs
                .get_mut(number)
                .is_some_and(|loaded| loaded.take_given(asked, &supply));
        }
        let fetcher = lock(&self.inputs).get_mut(number).and_then(Loaded::take_fetcher);
        let Some(mut fetcher) = fetcher else { return false };
        let fetched = fetcher.fetch().await;
        let this = Arc::clone(self);
        // Many routes take a while to be read.
        let taking = task::spawn_blocking(move || {
            let mut inputs = lock(&this.inputs);
            inputs.get_mut(number).is_some_and(|loaded| {
                loaded.fetcher = Some(fetcher);
                loaded.take(fetched)
            })
        });
        taking.await.unwrap_or_default()
    }

    /// Comes back when who gives the routes of this part says that there are others. The source need not live on for it.
    pub(crate) fn called(&self, part: Part) -> impl Future<Output = ()> + Send + use<> {
        let number = match part {
            Part::Local => None,
            Part::Remote(number) => Some(number),
        };
        let inputs = lock(&self.inputs);
        let loaded = number.and_then(|number| inputs.get(number));
        let called = loaded.and_then(|loaded| Some(loaded.supply()?.called(loaded.routes.clone())));
        async move {
            match called {
                Some(called) => called.await,
                None => pending().await,
            }
        }
    }

    /// What may change.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let inputs = &self.settings.inputs;
        let is_file = |input: &Input| matches!(input, Input::File(_));
        let local = inputs.iter().any(is_file).then_some(Part::Local);
        let remote = inputs
            .iter()
            .enumerate()
            .filter_map(|(number, input)| match input {
                Input::Url(_) | Input::Given(_) => Some(Part::Remote(number)),
                Input::File(_) | Input::Inline(_) => None,
            });
        local.into_iter().chain(remote).collect()
    }

    /// All routes that were read, and whether every input was read at least once.
    pub(crate) fn routes(&self) -> (Vec<Route>, bool) {
        let inputs = lock(&self.inputs);
        let is_complete = inputs.iter().all(|loaded| loaded.routes.is_some());
        let read = inputs.iter().filter_map(|loaded| loaded.routes.as_deref());
        (read.flatten().cloned().collect(), is_complete)
    }
}

// === impl Loaded ===

impl Loaded {
    fn new(input: Input) -> Self {
        let fetcher = match &input {
            Input::Url(url) => Some(Fetcher::new(url.clone())),
            Input::File(_) | Input::Inline(_) | Input::Given(_) => None,
        };
        // Handlers that come later need not wait for what is known.
        let routes = match &input {
            Input::Given(supply) => supply.given(),
            Input::File(_) | Input::Inline(_) | Input::Url(_) => None,
        };
        Self {
            input,
            text: None,
            coming: None,
            routes,
            wrong: None,
            fetcher,
        }
    }

    fn take_fetcher(&mut self) -> Option<Fetcher> {
        self.fetcher.take()
    }

    fn supply(&self) -> Option<Arc<Supply>> {
        match &self.input {
            Input::Given(supply) => Some(Arc::clone(supply)),
            Input::File(_) | Input::Inline(_) | Input::Url(_) => None,
        }
    }

    /// Reads the input, if that is at hand. Says whether its routes are others than before.
    fn read(&mut self) -> Result<bool, LoadError> {
        let text = match &self.input {
            Input::Inline(_) if self.text.is_some() => return Ok(false),
            Input::Inline(text) => Ok(text.clone()),
            Input::File(path) => read_file(path).map_err(LoadError::Unread),
            Input::Url(_) | Input::Given(_) => return Ok(false),
        };
        match &text {
            Ok(text) if self.must_settle(text) => return Ok(false),
            Ok(_) => {}
            Err(_) => self.coming = None,
        }
        let result = text.and_then(|text| self.parse(&text));
        self.note(result.as_ref().err());
        result
    }

    /// Whether `text` must wait until it was read twice. Whoever writes a file may be in the midst of it, and half of a
    /// list of routes may be one, too.
    fn must_settle(&mut self, text: &str) -> bool {
        let is_known = self.text.as_deref().is_none_or(|known| known == text);
        if is_known || self.coming.as_deref() == Some(text) {
            self.coming = None;
            return false;
        }
        self.coming = Some(text.to_owned());
        true
    }

    /// Takes what was fetched.
    fn take(&mut self, fetched: Result<Fetched, String>) -> bool {
        let result = match fetched {
            Ok(Fetched::Same) => Ok(false),
            Ok(Fetched::New(text)) => self.parse(&text),
            Err(error) => Err(LoadError::Unread(error)),
        };
        if let (Err(_), Some(fetcher)) = (&result, &mut self.fetcher) {
            // What is not used must be offered again.
            fetcher.forget();
        }
        self.note(result.as_ref().err());
        result.unwrap_or(false)
    }

    /// Takes what there is now, whether or not it is known that this is the newest.
    fn take_given(&mut self, asked: Result<(), String>, supply: &Supply) -> bool {
        self.note(asked.map_err(LoadError::Unread).as_ref().err());
        let given = supply.given();
        let is_new = !is_same(given.as_ref(), self.routes.as_ref());
        self.routes = given;
        is_new
    }

    fn parse(&mut self, text: &str) -> Result<bool, LoadError> {
        if self.text.as_deref() == Some(text) {
            return Ok(false);
        }
        let name = self.input.to_string();
        let routes = eskip::parse(text).map_err(|errors| LoadError::Syntax(errors.report(&name)))?;
        self.routes = Some(routes.into());
        self.text = Some(text.into());
        Ok(true)
    }

    /// Says once what is wrong, and once that it is not any more.
    fn note(&mut self, error: Option<&LoadError>) {
        let error = error.map(ToString::to_string);
        if self.wrong == error {
            return;
        }
        let routes = self.routes.as_deref().unwrap_or_default().len();
        match &error {
            Some(error) if self.text.is_none() => {
                warn!(input = %self.input, %error, "routes cannot be read; until they can, requests get 503")
            }
            Some(error) => {
                warn!(input = %self.input, routes, %error, "routes cannot be read; those that were read before stay")
            }
            None => info!(input = %self.input, routes, "routes can be read again"),
        }
        self.wrong = error;
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let is_file = std::fs::metadata(path)
        .map_err(|error| error.to_string())?
        .is_file();
    // Opening a pipe would wait for whoever writes into it.
    if !is_file {
        return Err("it is no file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(MOST + 1).read_to_string(&mut text);
    match read {
        Ok(length) if length as u64 > MOST => Err(format!("it is longer than {} MiB", MOST >> 20)),
        Ok(_) => Ok(text),
        Err(error) => Err(error.to_string()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is a single one: a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Input ===

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Inline(_) => f.write_str("inline"),
            Self::Url(url) => super::fetch::shown(url).fmt(f),
            Self::Given(supply) => f.write_str(supply.name()),
        }
    }
}

// === impl LoadError ===

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(why) | Self::Syntax(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_being_written_waits_until_it_stays_the_same() {
        let mut loaded = Loaded::new(Input::Inline(String::new()));
        assert!(!loaded.must_settle("a"), "the first text there is");
        loaded.text = Some("a".into());
        for (text, expected) in [
            ("a", false),
            ("", true),
            ("ab", true),
            ("abc", true),
            ("abc", false),
            ("abc", true),
            ("a", false),
            ("abc", true),
        ] {
            assert_eq!(loaded.must_settle(text), expected, "{text}");
        }
    }
}
