//! One queue: who goes on at once, who waits, and who is next.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time;

/// How many go on at once, and how many wait for how long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Settings {
    /// Requests that go on at once. At least 1.
    pub(super) at_once: usize,
    /// Requests that wait. May be none.
    pub(super) waiting: usize,
    /// How long one waits at most.
    pub(super) timeout: Duration,
}

/// Who is next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    /// Who came first.
    Fifo,
    /// Who came last; where there is no room to wait, who came first must go.
    Lifo,
}

/// A queue. Its settings may change while requests wait.
#[derive(Debug)]
pub(super) struct Queue {
    order: Order,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    settings: Settings,
    /// Of the settings: later ones have a higher number.
    version: u64,
    at_work: usize,
    /// Who came last is last.
    waiting: VecDeque<Waiter>,
    next: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    /// Dropped without a word if there is no room any more.
    turn: oneshot::Sender<()>,
}

/// What a request is told that comes to a queue.
#[derive(Debug)]
pub(super) enum Entered {
    /// It may go on.
    Slot(Slot),
    /// It must wait.
    Wait(Ticket),
    /// It must not even wait.
    Full,
}

/// Why a request may not go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refused {
    /// Too many wait.
    Full,
    /// It has waited for too long.
    TimedOut,
}

/// The place of a request that goes on. Dropping it makes it free.
#[derive(Debug)]
pub(super) struct Slot(Arc<Queue>);

/// The place of a request that waits. Dropping it makes it free.
#[derive(Debug)]
pub(super) struct Ticket {
    queue: Arc<Queue>,
    number: u64,
    turn: oneshot::Receiver<()>,
    timeout: Duration,
}

// === impl Settings ===

impl Default for Settings {
    /// A hundred at once, a hundred that wait, ten seconds.
    fn default() -> Self {
        Self {
            at_once: 100,
            waiting: 100,
            timeout: Duration::from_secs(10),
        }
    }
}

// === impl Queue ===

impl Queue {
    pub(super) fn new(order: Order) -> Self {
        let state = State {
            settings: Settings::default(),
            version: 0,
            at_work: 0,
            waiting: VecDeque::new(),
            next: 0,
        };
        Self {
            order,
            state: Mutex::new(state),
        }
    }

    /// Takes on settings, unless it has later ones. Who waits goes on if there is more room, and waits on if there is
    /// less.
    pub(super) fn set(&self, version: u64, settings: Settings) {
        let mut state = self.state();
        if version > state.version {
            state.version = version;
            state.settings = settings;
            state.hand_out(self.order);
        }
    }

    pub(super) fn enter(self: &Arc<Self>) -> Entered {
        let mut state = self.state();
        if state.at_work < state.settings.at_once {
            state.at_work += 1;
            return Entered::Slot(Slot(Arc::clone(self)));
        }
        if state.waiting.len() >= state.settings.waiting {
            let may_push_out = self.order == Order::Lifo && state.settings.waiting > 0;
            if !may_push_out {
                return Entered::Full;
            }
            state.waiting.pop_front();
        }
        let (turn, mine) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(Waiter { number, turn });
        Entered::Wait(Ticket {
            queue: Arc::clone(self),
            number,
            turn: mine,
            timeout: state.settings.timeout,
        })
    }

    fn release(&self) {
        let mut state = self.state();
        state.at_work = state.at_work.saturating_sub(1);
        state.hand_out(self.order);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// Gives slots that are free to those who wait.
    fn hand_out(&mut self, order: Order) {
        while self.at_work < self.settings.at_once {
            let next = match order {
                Order::Fifo => self.waiting.pop_front(),
                Order::Lifo => self.waiting.pop_back(),
            };
            let Some(waiter) = next else { return };
            // Nobody listens if the ticket is being dropped.
            if waiter.turn.send(()).is_ok() {
                self.at_work += 1;
            }
        }
    }
}

// === impl Slot ===

impl Slot {
    pub(super) fn is_of(&self, queue: &Arc<Queue>) -> bool {
        Arc::ptr_eq(&self.0, queue)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.release();
    }
}

// === impl Ticket ===

impl Ticket {
    /// Waits.
    pub(super) async fn slot(mut self) -> Result<Slot, Refused> {
        match time::timeout(self.timeout, &mut self.turn).await {
            Ok(Ok(())) => Ok(Slot(Arc::clone(&self.queue))),
            Ok(Err(_)) => Err(Refused::Full),
            Err(_) => Err(Refused::TimedOut),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.waiting.retain(|waiter| waiter.number != self.number);
        drop(state);
        // Its turn may have come in the meantime.
        self.turn.close();
        if self.turn.try_recv().is_ok() {
            self.queue.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn queue(order: Order, at_once: usize, waiting: usize) -> Arc<Queue> {
        let queue = Arc::new(Queue::new(order));
        queue.set(1, settings(at_once, waiting));
        queue
    }

    fn settings(at_once: usize, waiting: usize) -> Settings {
        Settings {
            at_once,
            waiting,
            ..Settings::default()
        }
    }

    fn slot(queue: &Arc<Queue>) -> Slot {
        match queue.enter() {
            Entered::Slot(slot) => slot,
            other => panic!("{other:?}"),
        }
    }

    fn ticket(queue: &Arc<Queue>) -> Ticket {
        match queue.enter() {
            Entered::Wait(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_or_the_last_is_next() {
        for (order, expected) in [(Order::Fifo, [true, false]), (Order::Lifo, [false, true])] {
            let queue = queue(order, 1, 2);
            let working = slot(&queue);
            let (mut first, mut last) = (Box::pin(ticket(&queue).slot()), Box::pin(ticket(&queue).slot()));
            assert!((&mut first).now_or_never().is_none() && (&mut last).now_or_never().is_none());
            drop(working);
            let turns = [&mut first, &mut last].map(|waiting| waiting.now_or_never());
            assert_eq!(turns.each_ref().map(Option::is_some), expected, "{order:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_room_who_comes_must_go_and_of_a_stack_the_oldest() {
        let fifo = queue(Order::Fifo, 1, 1);
        let (_working, _waiting) = (slot(&fifo), ticket(&fifo));
        assert!(matches!(fifo.enter(), Entered::Full));

        let lifo = queue(Order::Lifo, 1, 1);
        let (working, oldest) = (slot(&lifo), ticket(&lifo));
        let newest = ticket(&lifo);
        assert_eq!(oldest.slot().await.unwrap_err(), Refused::Full);
        drop(working);
        assert!(newest.slot().await.is_ok());

        let none_waits = queue(Order::Lifo, 1, 0);
        let _working = slot(&none_waits);
        assert!(matches!(none_waits.enter(), Entered::Full));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_too_long_leaves_the_queue() {
        let queue = queue(Order::Fifo, 1, 1);
        let working = slot(&queue);
        assert_eq!(ticket(&queue).slot().await.unwrap_err(), Refused::TimedOut);
        let waits = ticket(&queue);
        drop(working);
        assert!(waits.slot().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_takes_goes_to_the_next() {
        let queue = queue(Order::Fifo, 1, 2);
        let working = slot(&queue);
        let (left, next) = (ticket(&queue), ticket(&queue));
        drop(working);
        drop(left);
        assert!(next.slot().now_or_never().unwrap().is_ok());
        drop(slot(&queue));
    }

    #[tokio::test(start_paused = true)]
    async fn other_settings_hold_for_those_who_wait() {
        let queue = queue(Order::Fifo, 1, 2);
        let _working = slot(&queue);
        let (first, mut second) = (ticket(&queue), Box::pin(ticket(&queue).slot()));
        queue.set(3, settings(2, 0));
        let _first = first.slot().now_or_never().unwrap().unwrap();
        assert!((&mut second).now_or_never().is_none(), "it waits on");
        assert!(matches!(queue.enter(), Entered::Full));
        queue.set(2, settings(9, 9));
        assert!(
            (&mut second).now_or_never().is_none(),
            "older settings are not taken"
        );
        queue.set(4, settings(3, 0));
        assert!(second.now_or_never().unwrap().is_ok());
    }
}
