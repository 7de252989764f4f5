//! Visitors without cookies who keep loading pages: each load must succeed, and never on a pod that drains.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::browser::{Browser, Tab};
use crate::support::rig::get;
use crate::support::wait::{Changes, within};
use crate::support::wire::Wire;

/// How often each visitor loads a page.
const PACE: Duration = Duration::from_millis(10);

/// How a visitor connects.
#[derive(Clone, Copy, Debug)]
enum Habit {
    NewConnections,
    KeptConnection,
    NewBrowsers,
}

const HABITS: [Habit; 4] = [
    Habit::NewConnections,
    Habit::KeptConnection,
    Habit::KeptConnection,
    Habit::NewBrowsers,
];

/// The visitors, all at work until stopped.
pub(super) struct Visitors {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct Shared {
    log: Mutex<Log>,
    changes: Changes,
}

#[derive(Default)]
struct Log {
    loads: [usize; HABITS.len()],
    faults: Vec<String>,
    forbidden: BTreeSet<String>,
}

// === impl Visitors ===

impl Visitors {
    /// Sets the visitors to work.
    pub(super) fn start(proxy: SocketAddr, host: &'static str) -> Self {
        let shared = Arc::new(Shared {
            log: Mutex::default(),
            changes: Changes::new(),
        });
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for (number, habit) in HABITS.into_iter().enumerate() {
            let visiting = visit(Arc::clone(&shared), number, habit, proxy, host);
            let stop = stop.clone();
            tasks.spawn(async move { stop.run_until_cancelled(visiting).await });
        }
        tasks.close();
        Self { shared, tasks, stop }
    }

    /// From now on no load may land on the pod with this token.
    pub(super) fn forbid(&self, token: &str) {
        self.shared.look(|log| log.forbidden.insert(token.to_owned()));
    }

    /// Waits until every visitor has begun and ended another load.
    pub(super) async fn until_all_came_again(&self) {
        let seen = self.shared.look(|log| log.loads);
        let again = |log: &mut Log| log.loads.iter().zip(seen).all(|(now, then)| *now >= then + 2);
        self.shared
            .changes
            .until("new page loads", || self.shared.look(again).then_some(()))
            .await;
    }

    /// Stops the visitors; fails if one of them ever noticed anything. Gives the number of loads.
    pub(super) async fn stop(self) -> usize {
        self.stop.cancel();
        within("the visitors' end", self.tasks.wait()).await;
        self.shared.look(|log| {
            assert_eq!(log.faults, [""; 0]);
            log.loads.iter().sum()
        })
    }
}

// === impl Shared ===

impl Shared {
    fn look<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Judges one load: its page must be there and must not be of a pod that was forbidden when it began.
    fn record(&self, number: usize, status: u16, body: &[u8], forbidden: &BTreeSet<String>) {
        let token = Tab::read(body).map(|tab| tab.token);
        self.look(|log| {
            log.loads[number] += 1;
            match token {
                Some(token) if status == 200 && !forbidden.contains(&token) => {}
                Some(_) if status == 200 => log.faults.push("a page of a draining pod".to_owned()),
                _ => log
                    .faults
                    .push(format!("{status} {}", String::from_utf8_lossy(body))),
            }
        });
        self.changes.announce();
    }
}

async fn visit(shared: Arc<Shared>, number: usize, habit: Habit, proxy: SocketAddr, host: &'static str) {
    let mut pace = time::interval(PACE);
    let mut kept = Wire::connect(proxy).await;
    loop {
        pace.tick().await;
        let forbidden = shared.look(|log| log.forbidden.clone());
        match habit {
            Habit::NewConnections => {
                let answer = Wire::connect(proxy).await.ask(get("/visit")).await;
                shared.record(number, answer.head.status(), &answer.body, &forbidden);
            }
            Habit::KeptConnection => {
                let answer = kept.ask(get("/visit")).await;
                shared.record(number, answer.head.status(), &answer.body, &forbidden);
            }
            Habit::NewBrowsers => {
                let answer = Browser::clear(proxy, host).await.try_load("/visit").await;
                shared.record(number, answer.status.as_u16(), &answer.body, &forbidden);
            }
        }
    }
}
