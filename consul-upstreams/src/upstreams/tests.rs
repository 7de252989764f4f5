//! The loop, with a Consul that answers by script, on a clock that is paused.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::catalog::{Health, Instance};
use crate::client::{Asking, Reply};

const SECOND: Duration = Duration::from_secs(1);

/// What is asked, and how it is answered.
struct Script {
    state: Mutex<Said>,
    changed: Notify,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

struct Said {
    count: u16,
    index: Option<u64>,
    delay: Duration,
    error: Option<LookupError>,
    asked: Vec<(String, Option<u64>, Instant)>,
}

impl Script {
    fn new() -> Self {
        Self {
            state: Mutex::new(Said {
                count: 2,
                index: Some(7),
                delay: Duration::ZERO,
                error: None,
                asked: Vec::new(),
            }),
            changed: Notify::new(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        }
    }

    fn set(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_waiters();
    }

    /// The instances are others now.
    fn count(&self, count: u16) {
        self.set(|said| {
            said.count = count;
            said.index = said.index.map(|index| index + 1);
        });
    }

    fn asked(&self, name: &str) -> usize {
        let said = self.state.lock().unwrap();
        said.asked.iter().filter(|(asked, ..)| asked == name).count()
    }

    fn indexes(&self) -> Vec<Option<u64>> {
        let said = self.state.lock().unwrap();
        said.asked.iter().map(|(_, index, _)| *index).collect()
    }

    fn reply(&self) -> Result<Reply, LookupError> {
        let said = self.state.lock().unwrap();
        if let Some(error) = &said.error {
            return Err(error.clone());
        }
        let instances = (1..=said.count)
            .map(|port| Instance::new("192.0.2.1", port))
            .collect();
        Ok(Reply {
            health: Health {
                instances,
                ..Health::default()
            },
            index: said.index,
        })
    }
}

impl Ask for Script {
    fn ask<'a>(&'a self, name: &'a ServiceName, blocking: Option<Blocking>) -> Asking<'a> {
        Box::pin(async move {
            let flying = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_in_flight.fetch_max(flying, Ordering::Relaxed);
            let delay = {
                let mut said = self.state.lock().unwrap();
                said.asked.push((
                    name.to_string(),
                    blocking.map(|blocking| blocking.index),
                    Instant::now(),
                ));
                said.delay
            };
            time::sleep(delay).await;
            if let Some(Blocking { index, wait }) = blocking {
                let changed = async {
                    loop {
                        let notified = self.changed.notified();
                        let said = {
                            let said = self.state.lock().unwrap();
                            said.error.is_some() || said.index != Some(index)
                        };
                        if said {
                            return;
                        }
                        notified.await;
                    }
                };
                let _timed_out = time::timeout(wait, changed).await;
            }
            let reply = self.reply();
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            reply
        })
    }
}

struct Fixture {
    script: Arc<Script>,
    shared: Arc<Shared>,
    stop: CancellationToken,
    _used: DropGuard,
}

impl Fixture {
    fn new(settings: &Settings) -> Self {
        Self::with(&Arc::new(Script::new()), settings, 7)
    }

    fn with(script: &Arc<Script>, settings: &Settings, seed: u64) -> Self {
        let script = Arc::clone(script);
        let shared = Arc::new(Shared::new(
            Arc::clone(&script) as _,
            &settings.checked().unwrap(),
        ));
        let (stop, unused) = (CancellationToken::new(), CancellationToken::new());
        let driver = Driver {
            shared: Arc::clone(&shared),
            unused: unused.clone(),
            seed,
        };
        spawn(driver.run(stop.clone()));
        Self {
            script,
            shared,
            stop,
            _used: unused.drop_guard(),
        }
    }

    async fn count(&self, text: &str) -> Result<usize, LookupError> {
        let outcome = match self
            .shared
            .look(&ServiceName::parse(text).unwrap(), Instant::now())
        {
            Look::Known(answer) => Ok(answer),
            Look::Failed(error) => Err(error),
            Look::Pending(pending) => pending.wait().await,
        };
        outcome.map(|answer| answer.instances().len())
    }

    /// What is known without a wait.
    fn known(&self, text: &str) -> Option<usize> {
        match self
            .shared
            .look(&ServiceName::parse(text).unwrap(), Instant::now())
        {
            Look::Known(answer) => Some(answer.instances().len()),
            Look::Failed(_) | Look::Pending(_) => None,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

fn seconds(refresh: u64) -> Settings {
    Settings {
        refresh: Duration::from_secs(refresh),
        ..Settings::default()
    }
}

fn watching() -> Settings {
    Settings {
        watch: true,
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_first_requests_are_one_look_up() {
    let f = Fixture::new(&Settings::default());
    f.script.set(|said| said.delay = SECOND);
    let all = (0..20).map(|_| f.count("api"));
    let found = futures_util::future::join_all(all).await;
    assert!(found.iter().all(|found| *found == Ok(2)));
    assert_eq!(f.script.asked("api"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_goes_on_when_the_one_who_began_it_leaves() {
    let f = Fixture::new(&Settings::default());
    f.script.set(|said| said.delay = SECOND);
    let left = time::timeout(SECOND / 2, f.count("api")).await;
    assert!(left.is_err());
    time::sleep(SECOND).await;
    assert_eq!(f.known("api"), Some(2));
    assert_eq!(f.script.asked("api"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_name_holds_up_no_other_one() {
    let f = Fixture::new(&Settings::default());
    f.count("fresh").await.unwrap();
    f.script.set(|said| said.delay = 100 * SECOND);
    let slow = f.count("slow");
    tokio::pin!(slow);
    assert!(time::timeout(SECOND, slow.as_mut()).await.is_err());
    assert_eq!(f.known("fresh"), Some(2));
}

#[tokio::test(start_paused = true)]
async fn who_begins_a_refresh_waits_a_little_and_the_others_not_at_all() {
    let f = Fixture::new(&seconds(10));
    f.count("api").await.unwrap();
    time::sleep(10 * SECOND).await;
    f.script.count(3);
    assert_eq!(
        f.count("api").await,
        Ok(3),
        "an agent that answers at once is waited for"
    );

    time::sleep(10 * SECOND).await;
    f.script.set(|said| (said.count, said.delay) = (4, 2 * SECOND));
    let start = Instant::now();
    assert_eq!(f.count("api").await, Ok(3));
    assert_eq!(start.elapsed(), PATIENCE);
    assert_eq!(f.known("api"), Some(3));
    time::sleep(2 * SECOND).await;
    assert_eq!(f.known("api"), Some(4));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_refresh_while_consul_is_slow() {
    let f = Fixture::new(&seconds(10));
    f.script.set(|said| said.delay = 2 * SECOND);
    f.count("api").await.unwrap();
    time::sleep(10 * SECOND).await;
    f.script
        .set(|said| (said.count, said.delay) = (3, Duration::ZERO));
    assert_eq!(f.known("api"), Some(2), "the last look-up took 2 seconds");
    time::sleep(SECOND).await;
    assert_eq!(f.known("api"), Some(3), "and yet it was asked");
    time::sleep(10 * SECOND).await;
    f.script.count(4);
    assert_eq!(f.count("api").await, Ok(4), "this one took none");
}

/// 50 names, each asked for 20 times a second, and a Consul that takes 2 seconds.
#[tokio::test(start_paused = true)]
async fn a_slow_consul_is_asked_once_a_refresh_and_no_request_notices() {
    let f = Fixture::new(&seconds(10));
    f.script.set(|said| said.delay = 2 * SECOND);
    let names: Vec<_> = (0..50).map(|n| format!("s{n}")).collect();
    for wave in names.chunks(25) {
        futures_util::future::join_all(wave.iter().map(|name| f.count(name))).await;
    }
    let end = Instant::now() + 60 * SECOND;
    while Instant::now() < end {
        let start = Instant::now();
        let round = names.iter().map(|name| async {
            let start = Instant::now();
            f.count(name).await.unwrap();
            start.elapsed()
        });
        let times = futures_util::future::join_all(round).await;
        assert!(times.iter().all(Duration::is_zero), "{times:?}");
        time::sleep_until(start + SECOND / 20).await;
    }
    // The first time, and once each time that an answer had become old: after 10 s and the 2 s of the look-up.
    for name in &names {
        assert!(f.script.asked(name) <= 6, "{}", f.script.asked(name));
    }
    assert!(f.script.most_in_flight.load(Ordering::Relaxed) <= MOST_FLIGHTS);
}

#[tokio::test(start_paused = true)]
async fn look_ups_at_once_are_bounded() {
    let f = Fixture::new(&seconds(10));
    for n in 0..100 {
        f.count(&format!("s{n}")).await.unwrap();
    }
    time::sleep(60 * SECOND).await;
    f.script.set(|said| said.delay = SECOND);
    let names: Vec<_> = (0..100).map(|n| format!("s{n}")).collect();
    futures_util::future::join_all(names.iter().map(|name| f.count(name))).await;
    assert_eq!(f.script.most_in_flight.load(Ordering::Relaxed), MOST_FLIGHTS);
}

#[tokio::test(start_paused = true)]
async fn with_a_dead_consul_known_names_go_on_and_it_is_asked_rarely() {
    let f = Fixture::new(&Settings {
        grace_period: 30 * SECOND,
        ..seconds(10)
    });
    f.count("api").await.unwrap();
    f.script.set(|said| said.error = Some(LookupError::NoLeader));
    let end = Instant::now() + 300 * SECOND;
    while Instant::now() < end {
        assert_eq!(f.count("api").await, Ok(2));
        assert_eq!(f.count("new").await, Err(LookupError::NoLeader));
        time::sleep(SECOND / 10).await;
    }
    assert!(f.script.asked("api") <= 12, "{}", f.script.asked("api"));
    assert!(f.script.asked("new") <= 35, "{}", f.script.asked("new"));
    f.script.set(|said| said.error = None);
    time::sleep(30 * SECOND).await;
    assert_eq!(f.count("api").await, Ok(2));
    assert_eq!(f.count("new").await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn with_watch_a_change_arrives_at_once_and_nobody_waits() {
    let f = Fixture::new(&watching());
    f.count("api").await.unwrap();
    for count in [3, 0, 5, 1] {
        time::sleep(10 * SECOND).await;
        f.script.count(count);
        time::sleep(SECOND / 10).await;
        assert_eq!(f.known("api"), Some(usize::from(count)));
    }
    // Changes that follow each other closely come a second apart.
    for count in 2..20 {
        f.script.count(count);
        time::sleep(SECOND / 10).await;
    }
    time::sleep(SECOND).await;
    assert_eq!(f.known("api"), Some(19));
    assert!(f.script.asked("api") < 15, "{}", f.script.asked("api"));
}

/// 20 proxies, 50 names each.
#[tokio::test(start_paused = true)]
async fn watches_ask_less_than_once_a_second_when_nothing_changes() {
    let script = Arc::new(Script::new());
    let all: Vec<_> = (0..20)
        .map(|seed| Fixture::with(&script, &watching(), seed))
        .collect();
    let names: Vec<_> = (0..50).map(|n| format!("s{n}")).collect();
    for f in &all {
        for wave in names.chunks(25) {
            futures_util::future::join_all(wave.iter().map(|name| f.count(name))).await;
        }
    }
    let before = script.indexes().len();
    for _ in 0..60 {
        time::sleep(10 * SECOND).await;
        for f in &all {
            names.iter().for_each(|name| assert_eq!(f.known(name), Some(2)));
        }
    }
    let asked = script.indexes().len() - before;
    assert!(asked < 20 * 600, "{asked} of 20 proxies in 600 s");
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_use_ends() {
    let f = Fixture::new(&watching());
    f.count("api").await.unwrap();
    time::sleep(300 * SECOND).await;
    let asked = f.script.asked("api");
    time::sleep(3600 * SECOND).await;
    assert_eq!(f.script.asked("api"), asked);
    f.script.count(1);
    assert_eq!(
        f.count("api").await,
        Ok(1),
        "and begins again when it is asked for"
    );
}

#[tokio::test(start_paused = true)]
async fn an_index_that_goes_back_or_is_missing_does_not_make_a_watch_spin_or_stick() {
    let f = Fixture::new(&watching());
    f.count("api").await.unwrap();
    time::sleep(SECOND).await;
    // A server that was restored from a backup.
    f.script.set(|said| (said.index, said.count) = (Some(3), 4));
    time::sleep(2 * SECOND).await;
    assert_eq!(f.known("api"), Some(4));
    assert_eq!(f.script.indexes(), [None, Some(7), None, Some(3)]);

    f.script.set(|said| said.index = None);
    let before = f.script.asked("api");
    for _ in 0..60 {
        time::sleep(10 * SECOND).await;
        f.known("api");
    }
    let asked = f.script.asked("api") - before;
    assert!((9..=12).contains(&asked), "{asked}: once a refresh");
}

#[tokio::test(start_paused = true)]
async fn an_index_that_moves_for_others_costs_one_question_a_second() {
    let f = Fixture::new(&watching());
    f.count("api").await.unwrap();
    let before = f.script.asked("api");
    for _ in 0..1000 {
        f.script.count(2);
        time::sleep(SECOND / 100).await;
    }
    let asked = f.script.asked("api") - before;
    assert!(asked <= 12, "{asked} in 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_watch_backs_off_while_consul_fails_and_comes_back() {
    let f = Fixture::new(&watching());
    f.count("api").await.unwrap();
    f.script.set(|said| said.error = Some(LookupError::NoLeader));
    let before = f.script.asked("api");
    for _ in 0..600 {
        time::sleep(SECOND).await;
        f.known("api");
    }
    let asked = f.script.asked("api") - before;
    assert!((18..=30).contains(&asked), "{asked} in 600 s");
    assert_eq!(f.count("api").await, Err(LookupError::NoLeader));
    f.script.set(|said| said.error = None);
    time::sleep(40 * SECOND).await;
    assert_eq!(f.known("api"), Some(2));
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_let_go_when_the_driver_stops() {
    for settings in [Settings::default(), watching()] {
        let f = Fixture::new(&settings);
        f.script.set(|said| said.delay = 100 * SECOND);
        let waiting = f.count("api");
        let stopping = async {
            time::sleep(SECOND).await;
            f.stop.cancel();
        };
        let (found, ()) = tokio::join!(waiting, stopping);
        assert_eq!(found, Err(LookupError::Stopped));
    }
}

#[tokio::test(start_paused = true)]
async fn the_driver_ends_with_its_source() {
    let (source, driver) = ConsulUpstreams::try_new(&Settings::default(), 1).unwrap();
    let copy = source.clone();
    drop(source);
    let running = driver.run(CancellationToken::new());
    tokio::pin!(running);
    assert!(time::timeout(SECOND, running.as_mut()).await.is_err());
    drop(copy);
    running.await;
}
