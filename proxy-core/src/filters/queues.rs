//! Queues of requests: `fifo`, `lifo` and their kin.
//!
//! A queue is that of a route, by its table and its id, or of a group of routes. It outlives the table of the route: who waits, waits on
//! when there is a new one, and its settings are those of the latest filter. Of several `fifo`s or `lifo`s of a route
//! only the last one works.

mod queue;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use eskip::Arg;
use eskip::filters::{Args, Exchange, Filter, FilterContext, Filters, Flow, RouteSettings, Switch, Wants};
use eskip::routing::ArgsError;
use http::StatusCode;

use self::queue::{Entered, Order, Queue, Refused, Settings, Slot};
use super::Means;
use super::bodies::{bare, hold};

/// A queue that nobody is in is forgotten after about this time.
const KEPT: Duration = Duration::from_secs(60);

/// No queue lets more requests wait, whatever its settings say.
const MOST_WAITING: usize = 100_000;

/// Lets a request wait for its turn.
#[derive(Debug)]
struct Queued {
    queues: Arc<Queues>,
    kind: Kind,
    /// Filters that were made later have higher numbers.
    number: u64,
    /// None of a group whose settings another filter says.
    settings: Option<Arc<Latest>>,
    /// Whether the slot is kept to the end of the answer's body.
    with_body: bool,
    /// Off if a later filter of the route is the one that works.
    switch: Switch,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Kind {
    Fifo,
    Lifo,
    Group(String),
}

/// The queues of a process.
#[derive(Debug, Default)]
struct Queues {
    numbers: AtomicU64,
    known: Mutex<Known>,
    /// Who says the settings of a group.
    groups: Mutex<HashMap<String, Vec<Weak<Latest>>>>,
}

#[derive(Debug, Default)]
struct Known {
    /// By kind, and of those of routes by table and id.
    queues: HashMap<(Kind, usize, String), Arc<Queue>>,
    swept: Option<Instant>,
}

/// Settings, and the number of the filter that says them.
#[derive(Debug)]
struct Latest {
    number: u64,
    settings: Settings,
}

/// The slots of one request.
#[derive(Debug, Default)]
struct Slots(Vec<Held>);

#[derive(Debug)]
struct Held {
    /// The number of the filter that lets it go.
    by: u64,
    slot: Slot,
}

pub(super) fn add(all: &mut Filters, _means: &Means) {
    let queues = Arc::new(Queues::default());
    for (name, kind, with_body, does, example) in [
        (
            "fifo",
            Kind::Fifo,
            false,
            "lets so many requests of the route go on at once, and others wait, the first one first",
            r#"fifo(100, 150, "10s")"#,
        ),
        (
            "fifoWithBody",
            Kind::Fifo,
            true,
            "as `fifo`, but a request counts until its answer was read",
            r#"fifoWithBody(100, 150, "10s")"#,
        ),
        (
            "lifo",
            Kind::Lifo,
            false,
            "lets so many requests of the route go on at once, and others wait, the last one first",
            r#"lifo(100, 150, "10s")"#,
        ),
        (
            "lifoWithBody",
            Kind::Lifo,
            true,
            "as `lifo`, but a request counts until its answer was read",
            r#"lifoWithBody(100, 150, "10s")"#,
        ),
        (
            "lifoGroup",
            Kind::Group(String::new()),
            false,
            "as `lifo`, for all routes that name the same group",
            r#"lifoGroup("mygroup", 100, 150, "10s")"#,
        ),
        (
            "lifoGroupWithBody",
            Kind::Group(String::new()),
            true,
            "as `lifoGroup`, but a request counts until its answer was read",
            r#"lifoGroupWithBody("mygroup", 100, 150, "10s")"#,
        ),
    ] {
        let queues = Arc::clone(&queues);
        all.add(name, (does, example), move |args| {
            Queued::create(args, &queues, &kind, with_body)
        });
    }
}

// === impl Queued ===

impl Queued {
    fn create(args: &[Arg], queues: &Arc<Queues>, kind: &Kind, with_body: bool) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let kind = match kind {
            Kind::Group(_) => Kind::Group(args.text("the name of a group")?.to_owned()),
            kind => kind.clone(),
        };
        let says_nothing = matches!(kind, Kind::Group(_)) && !args.has_more();
        let settings = settings(&mut args, kind == Kind::Fifo)?;
        args.end()?;
        let number = queues.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let settings = (!says_nothing).then(|| Arc::new(Latest { number, settings }));
        if let (Kind::Group(name), Some(settings)) = (&kind, &settings) {
            queues.announce(name, settings);
        }
        Ok(Self {
            queues: Arc::clone(queues),
            kind,
            number,
            settings,
            with_body,
            switch: Switch::default(),
        })
    }

    fn keep(by: u64, slot: Slot, exchange: &mut Exchange) -> Flow {
        let held = Held { by, slot };
        match exchange.kept_mut::<Slots>() {
            Some(slots) => slots.0.push(held),
            None => exchange.keep(Slots(vec![held])),
        }
        Flow::Next
    }

    fn refuse(why: Refused) -> Flow {
        Flow::serve(bare(match why {
            Refused::Full => StatusCode::SERVICE_UNAVAILABLE,
            Refused::TimedOut => StatusCode::BAD_GATEWAY,
        }))
    }
}

impl Filter for Queued {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if !self.switch.is_on() {
            return Flow::Next;
        }
        let of = (cx.exchange.table, cx.exchange.route.as_str());
        let queue = self.queues.find(&self.kind, of, cx.env.now());
        let latest = match &self.kind {
            Kind::Group(name) => self.queues.latest(name),
            Kind::Fifo | Kind::Lifo => self.settings.clone(),
        };
        if let Some(latest) = latest {
            queue.set(latest.number, latest.settings);
        }
        // A request that came back by a loopback must not wait for itself.
        let holds = |slots: &Slots| slots.0.iter().any(|held| held.slot.is_of(&queue));
        if cx.exchange.kept::<Slots>().is_some_and(holds) {
            return Flow::Next;
        }
        let by = self.number;
        match queue.enter() {
            Entered::Slot(slot) => Self::keep(by, slot, cx.exchange),
            Entered::Full => Self::refuse(Refused::Full),
            Entered::Wait(ticket) => Flow::after(ticket.slot(), move |turn, cx| match turn {
                Ok(slot) => Self::keep(by, slot, cx.exchange),
                Err(why) => Self::refuse(why),
            }),
        }
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let Some(slots) = cx.exchange.kept_mut::<Slots>() else {
            return Flow::Next;
        };
        let Some(index) = slots.0.iter().position(|held| held.by == self.number) else {
            return Flow::Next;
        };
        let held = slots.0.swap_remove(index);
        if self.with_body
            && let Some(answer) = &mut cx.response
        {
            answer.body.watch(move |body| hold(body, held));
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::BOTH.and_errors().and_acts()
    }

    fn settle(&self, route: &mut RouteSettings) {
        match self.kind {
            Kind::Fifo => route.set_last("fifo", &self.switch),
            Kind::Lifo => route.set_last("lifo", &self.switch),
            // A route may be in a group and have a stricter queue of its own, or be in several groups.
            Kind::Group(_) => {}
        }
    }
}

/// Numbers below the least ones stand for the default, as in Skipper.
fn settings(args: &mut Args<'_>, all: bool) -> Result<Settings, ArgsError> {
    let mut settings = Settings::default();
    if all || args.has_more() {
        let at_once: usize = args.whole("how many requests go on at once")?;
        if at_once > 0 {
            settings.at_once = at_once;
        }
    }
    if all || args.has_more() {
        let waiting: usize = args.whole("how many requests wait")?;
        settings.waiting = waiting.min(MOST_WAITING);
    }
    if all || args.has_more() {
        let timeout = args.duration("how long a request waits")?;
        if timeout >= Duration::from_millis(1) {
            settings.timeout = timeout;
        }
    }
    Ok(settings)
}

// === impl Queues ===

impl Queues {
    /// The queue of a route or a group.
    fn find(&self, kind: &Kind, of: (usize, &str), now: Instant) -> Arc<Queue> {
        let (order, (table, route)) = match kind {
            Kind::Fifo => (Order::Fifo, of),
            Kind::Lifo => (Order::Lifo, of),
            Kind::Group(_) => (Order::Lifo, (0, "")),
        };
        let mut known = lock(&self.known);
        known.sweep(now);
        let key = (kind.clone(), table, route.to_owned());
        let queue = known.queues.entry(key);
        Arc::clone(queue.or_insert_with(|| Arc::new(Queue::new(order))))
    }

    /// A filter says the settings of a group for as long as it lives.
    fn announce(&self, group: &str, settings: &Arc<Latest>) {
        let mut groups = lock(&self.groups);
        let is_alive = |one: &Weak<Latest>| one.strong_count() > 0;
        // Before more room is made for them, those that are gone make some.
        if groups.len() == groups.capacity() {
            groups.retain(|_, all| all.iter().any(is_alive));
        }
        let all = groups.entry(group.to_owned()).or_default();
        if all.len() == all.capacity() {
            all.retain(is_alive);
        }
        all.push(Arc::downgrade(settings));
    }

    /// The settings of a group: those of the filter that was made last.
    fn latest(&self, group: &str) -> Option<Arc<Latest>> {
        let groups = lock(&self.groups);
        groups.get(group)?.iter().rev().find_map(Weak::upgrade)
    }
}

// === impl Known ===

impl Known {
    /// Forgets queues that nobody is in, now and then.
    fn sweep(&mut self, now: Instant) {
        let swept = *self.swept.get_or_insert(now);
        if now.saturating_duration_since(swept) >= KEPT {
            self.swept = Some(now);
            // Whoever is in a queue holds it.
            self.queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
