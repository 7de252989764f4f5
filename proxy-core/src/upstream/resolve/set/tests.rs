//! The set and its names on a paused clock, with a scripted name server.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use super::super::answer::Services;
use super::super::answer::{Answer, Lookup, LookupError, Records, State};
use super::super::dns::{LookupFuture, ServicesFuture};
use super::*;

/// A scripted [`Dns`]: each look-up takes the next reply, the last one repeats. It notes when it was asked what.
#[derive(Default)]
struct Script {
    replies: Mutex<HashMap<String, VecDeque<Reply>>>,
    asked: Mutex<Vec<(String, Duration)>>,
    running: Mutex<HashMap<String, usize>>,
}

#[derive(Clone)]
enum Reply {
    Found(&'static [&'static str], u64),
    Failed(LookupError),
    Silence,
    Slow(Duration, &'static str),
    /// Services as `target:port`.
    Listed(&'static [&'static str]),
}

/// A set that runs on a script.
struct Fixture {
    set: Arc<ResolverSet>,
    script: Arc<Script>,
    start: Instant,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Script {
    fn on(&self, host: &str, replies: impl IntoIterator<Item = Reply>) {
        self.replies
            .lock()
            .unwrap()
            .insert(host.into(), replies.into_iter().collect());
    }

    fn next(&self, host: &str) -> Reply {
        let mut replies = self.replies.lock().unwrap();
        let queue = replies.get_mut(host).expect("a name that the script knows");
        if queue.len() > 1 {
            queue.pop_front().unwrap()
        } else {
            queue[0].clone()
        }
    }

    async fn answer(&self, host: &str, asked: Duration) -> Lookup {
        self.asked.lock().unwrap().push((host.into(), asked));
        match self.next(host) {
            Reply::Found(addresses, ttl) => found(addresses, ttl),
            Reply::Failed(error) => Lookup::failed(&error),
            Reply::Silence | Reply::Listed(_) => std::future::pending().await,
            Reply::Slow(by, address) => {
                time::sleep(by).await;
                found(&[address], 30)
            }
        }
    }
}

impl Fixture {
    fn new() -> Self {
        Self::with_settings(ResolveSettings::default())
    }

    /// The clock stands still until the test waits, so times are exact.
    fn with_settings(settings: ResolveSettings) -> Self {
        let script = Arc::new(Script::default());
        let start = Instant::now();
        let dns = Arc::clone(&script);
        let set = ResolverSet::with_dns(settings, move |_, _| Arc::new(Scripted(Arc::clone(&dns), start)));
        let (set, stop, mut tasks) = (Arc::new(set), CancellationToken::new(), JoinSet::new());
        tasks.spawn(Arc::clone(&set).run(stop.clone()));
        Self {
            set,
            script,
            start,
            stop,
            tasks,
        }
    }

    /// A name of a configuration that runs.
    fn watch(&self, host: &str, servers: &[SocketAddr]) -> Arc<Name> {
        let name = self.set.watch(host, servers);
        self.set.begin();
        name
    }

    async fn until(&self, seconds: f64) {
        time::sleep_until(self.start + Duration::from_secs_f64(seconds)).await;
    }

    /// When `host` was asked for, in whole seconds since the start.
    fn asked(&self, host: &str) -> Vec<u64> {
        let asked = self.script.asked.lock().unwrap();
        asked
            .iter()
            .filter(|(name, _)| name == host)
            .map(|(_, at)| at.as_secs())
            .collect()
    }
}

fn service(text: &str) -> Service {
    let (target, port) = text.split_once(':').unwrap();
    Service {
        priority: 0,
        target: target.into(),
        port: port.parse().unwrap(),
    }
}

struct Scripted(Arc<Script>, Instant);

impl Dns for Scripted {
    fn lookup<'a>(&'a self, host: &'a str) -> LookupFuture<'a> {
        Box::pin(async move {
            let running = |by: isize| {
                let mut running = self.0.running.lock().unwrap();
                let count = running.entry(host.into()).or_default();
                *count = count.checked_add_signed(by).unwrap();
                *count
            };
            assert_eq!(running(1), 1, "two look-ups of {host} at once");
            let lookup = self.0.answer(host, self.1.elapsed()).await;
            running(-1);
            lookup
        })
    }

    fn services<'a>(&'a self, name: &'a str) -> ServicesFuture<'a> {
        Box::pin(async move {
            self.0.asked.lock().unwrap().push((name.into(), self.1.elapsed()));
            match self.0.next(name) {
                Reply::Listed(services) => Ok(Services {
                    services: services.iter().map(|one| service(one)).collect(),
                    ttl: Duration::from_secs(1),
                }),
                Reply::Failed(error) => Err(error),
                _ => std::future::pending().await,
            }
        })
    }
}

/// What was logged at info and above.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn subscriber(&self) -> impl tracing::Subscriber + use<> {
        let log = self.clone();
        let lines = tracing_subscriber::fmt()
            .without_time()
            .with_target(false)
            .with_ansi(false);
        lines
            .with_max_level(tracing::Level::INFO)
            .with_writer(move || log.clone())
            .finish()
    }

    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().unwrap().clone())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn found(addresses: &[&str], ttl: u64) -> Lookup {
    let (v4, v6): (Vec<_>, Vec<_>) = addresses.iter().map(|a| ip(a)).partition(IpAddr::is_ipv4);
    let family = |addresses: Vec<IpAddr>| {
        if addresses.is_empty() {
            return Err(LookupError::NoAddresses);
        }
        Ok(Records {
            addresses,
            ttl: Duration::from_secs(ttl),
        })
    };
    Lookup {
        v4: family(v4),
        v6: family(v6),
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[track_caller]
fn assert_addresses(answer: &Answer, expected: &[&str]) {
    let expected: Vec<IpAddr> = expected.iter().map(|address| ip(address)).collect();
    assert_eq!(answer.addresses(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_name_has_no_answer_until_its_first_look_up_ended() {
    let f = Fixture::new();
    f.script
        .on("app", [Reply::Slow(Duration::from_secs(2), "192.0.2.1")]);
    let name = f.watch("app", &[]);

    assert_eq!(name.current().state(), &State::Never);
    let answer = name.ready().await;

    assert_eq!(f.start.elapsed(), Duration::from_secs(2));
    assert_addresses(&answer, &["192.0.2.1"]);
    assert_eq!((answer.state(), answer.generation()), (&State::Fresh, 1));
    assert_eq!(name.generation(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_look_up_that_fails_makes_the_name_ready_too() {
    let f = Fixture::new();
    f.script.on("gone", [Reply::Failed(LookupError::NoSuchName)]);

    let answer = f.watch("gone", &[]).ready().await;

    assert_addresses(&answer, &[]);
    assert_eq!(
        (answer.state(), answer.generation()),
        (&State::Stale(LookupError::NoSuchName), 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_look_up_ends_at_the_time_out_and_holds_nobody_back() {
    let f = Fixture::new();
    f.script.on("silent", [Reply::Silence]);
    f.script.on("good", [Reply::Found(&["192.0.2.1"], 30)]);
    let (silent, good) = (f.watch("silent", &[]), f.watch("good", &[]));

    assert_addresses(&*good.ready().await, &["192.0.2.1"]);
    assert_eq!(f.start.elapsed(), Duration::ZERO);
    let answer = silent.ready().await;

    assert_eq!(f.start.elapsed(), Duration::from_secs(5));
    assert_eq!(answer.state(), &State::Stale(LookupError::Timeout));
}

#[tokio::test(start_paused = true)]
async fn names_are_refreshed_by_their_ttl_between_floor_and_ceiling() {
    let f = Fixture::new();
    for (host, ttl) in [("short", 0), ("middle", 7), ("long", 86_400)] {
        f.script.on(host, [Reply::Found(&["192.0.2.1"], ttl)]);
    }
    let _names = ["short", "middle", "long"].map(|host| f.watch(host, &[]));

    f.until(60.5).await;

    assert_eq!(f.asked("short"), (0..=60).collect::<Vec<_>>());
    assert_eq!(f.asked("middle"), [0, 7, 14, 21, 28, 35, 42, 49, 56]);
    assert_eq!(f.asked("long"), [0, 30, 60]);
}

#[tokio::test(start_paused = true)]
async fn floor_and_ceiling_can_be_set() {
    let (floor, ceiling) = (Duration::from_secs(3), Duration::from_secs(10));
    let f = Fixture::with_settings(ResolveSettings::default().with_floor(floor).with_ceiling(ceiling));
    f.script.on("short", [Reply::Found(&["192.0.2.1"], 0)]);
    f.script.on("long", [Reply::Found(&["192.0.2.1"], 86_400)]);
    let _names = ["short", "long"].map(|host| f.watch(host, &[]));

    f.until(20.5).await;

    assert_eq!(f.asked("short"), [0, 3, 6, 9, 12, 15, 18]);
    assert_eq!(f.asked("long"), [0, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn another_order_is_no_change_and_other_addresses_are_one() {
    let f = Fixture::new();
    let answers: [&'static [&'static str]; 4] = [
        &["192.0.2.2", "2001:db8::1", "192.0.2.1"],
        &["192.0.2.1", "192.0.2.2", "2001:db8::1"],
        &["192.0.2.1", "2001:db8::1"],
        &["192.0.2.1", "2001:db8::1"],
    ];
    f.script
        .on("app", answers.map(|addresses| Reply::Found(addresses, 10)));
    let name = f.watch("app", &[]);
    let first = name.ready().await;
    assert_addresses(&first, &["192.0.2.1", "192.0.2.2", "2001:db8::1"]);

    f.until(15.0).await;
    assert!(Arc::ptr_eq(&first, &name.current()));

    f.until(25.0).await;
    let second = name.current();
    assert_eq!(second.generation(), 2);
    assert!(first.addresses().contains(&ip("192.0.2.2")) && !second.addresses().contains(&ip("192.0.2.2")));

    f.until(35.0).await;
    assert!(Arc::ptr_eq(&second, &name.current()));
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_failure_keeps_the_last_good_addresses() {
    for error in [
        LookupError::NoSuchName,
        LookupError::NoAddresses,
        LookupError::Code("Server Failure".into()),
        LookupError::Timeout,
        LookupError::Other("broken answer".into()),
    ] {
        let f = Fixture::new();
        let good = Reply::Found(&["192.0.2.1"], 10);
        f.script
            .on("app", [good.clone(), Reply::Failed(error.clone()), good]);
        let name = f.watch("app", &[]);

        f.until(10.5).await;
        assert_addresses(&name.current(), &["192.0.2.1"]);
        assert_eq!(
            (name.current().state(), name.generation()),
            (&State::Stale(error), 1)
        );

        f.until(12.0).await;
        assert_eq!((name.current().state(), name.generation()), (&State::Fresh, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_and_its_end_are_logged_once_each() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let f = Fixture::new();
    let (bad, good) = (
        Reply::Failed(LookupError::NoSuchName),
        Reply::Found(&["192.0.2.1"], 10),
    );
    let replies = [&bad, &bad, &good, &good, &bad, &bad, &bad, &good, &good];
    f.script.on("app", replies.map(Reply::clone));
    let _name = f.watch("app", &[]);

    f.until(100.0).await;

    let lines = log.lines();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
    let expected = [
        "WARN cannot resolve; requests for it fail until it resolves host=app error=the name does not exist",
        "INFO the name resolves again host=app records=[192.0.2.1] failures=2",
        "WARN cannot resolve; keeping the last good answer host=app error=the name does not exist",
        "INFO the name resolves again host=app records=[192.0.2.1] failures=3",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_look_ups_are_repeated_ever_more_rarely() {
    let f = Fixture::new();
    f.script.on("gone", [Reply::Failed(LookupError::NoSuchName)]);
    let _name = f.watch("gone", &[]);

    f.until(200.0).await;

    let asked = f.script.asked.lock().unwrap();
    let gaps: Vec<f64> = asked
        .windows(2)
        .map(|pair| (pair[1].1 - pair[0].1).as_secs_f64())
        .collect();
    let bases = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0];
    assert!(gaps.len() >= 8, "{gaps:?}");
    for (gap, base) in gaps.iter().zip(bases) {
        // Timers are exact to a millisecond.
        assert!((base..=base * 1.25 + 0.002).contains(gap), "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_the_waiting_of_failures() {
    let f = Fixture::new();
    let (bad, good) = (
        Reply::Failed(LookupError::Timeout),
        Reply::Found(&["192.0.2.1"], 5),
    );
    f.script
        .on("app", [bad.clone(), bad.clone(), bad.clone(), good, bad]);
    let name = f.watch("app", &[]);

    f.until(30.0).await;

    // Failures at about 0, 1 and 3, the success at 7 to 9, a failure 5 later and the next one soon after that.
    let asked = f.script.asked.lock().unwrap();
    let gap = |n: usize| (asked[n + 1].1 - asked[n].1).as_secs_f64();
    assert!((5.0..5.01).contains(&gap(3)), "{asked:?}");
    assert!((1.0..1.26).contains(&gap(4)), "{asked:?}");
    assert_addresses(&name.current(), &["192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_hint_brings_the_next_look_up_forward_but_not_below_the_floor() {
    let f = Fixture::new();
    f.script.on(
        "app",
        [Reply::Found(&["192.0.2.1"], 30), Reply::Found(&["192.0.2.2"], 30)],
    );
    let name = f.watch("app", &[]);

    f.until(0.2).await;
    for _ in 0..100 {
        name.hint_failed();
    }
    f.until(0.9).await;
    assert_eq!(f.asked("app"), [0]);

    f.until(1.1).await;
    assert_eq!(f.asked("app"), [0, 1]);
    assert_addresses(&name.current(), &["192.0.2.2"]);

    f.until(20.0).await;
    assert_eq!(f.asked("app"), [0, 1], "many hints are one");
    name.hint_failed();
    f.until(20.1).await;
    assert_eq!(f.asked("app"), [0, 1, 20]);
}

#[tokio::test(start_paused = true)]
async fn one_host_is_one_name_whatever_its_case() {
    let f = Fixture::new();
    f.script.on("app", [Reply::Found(&["192.0.2.1"], 30)]);

    let names = ["app", "APP", "App"].map(|host| f.watch(host, &[]));
    f.until(1.0).await;

    assert!(names.iter().all(|name| Arc::ptr_eq(name, &names[0])));
    assert_eq!(names[0].host(), "app");
    assert_eq!(f.asked("app"), [0]);
}

#[tokio::test(start_paused = true)]
async fn the_same_host_at_other_name_servers_is_another_name() {
    let f = Fixture::new();
    f.script.on("app", [Reply::Found(&["192.0.2.1"], 30)]);
    let server: SocketAddr = "192.0.2.53:53".parse().unwrap();

    let (a, b) = (f.watch("app", &[]), f.watch("app", &[server]));
    f.until(1.0).await;

    assert!(!Arc::ptr_eq(&a, &b));
    assert_eq!(f.asked("app"), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn names_that_are_watched_later_are_looked_up_at_once() {
    let f = Fixture::new();
    f.script.on("late", [Reply::Found(&["192.0.2.1"], 30)]);

    f.until(100.0).await;
    let name = f.watch("late", &[]);
    f.until(100.1).await;

    assert_eq!(f.asked("late"), [100]);
    assert_addresses(&name.current(), &["192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_name_without_users_is_no_longer_looked_up() {
    let f = Fixture::new();
    f.script.on("app", [Reply::Found(&["192.0.2.1"], 10)]);
    let name = f.watch("app", &[]);
    f.until(15.0).await;
    drop(name);
    f.until(1000.0).await;
    assert_eq!(f.asked("app"), [0, 10]);
    assert_eq!(f.set.watched().names.len(), 0);

    let again = f.watch("app", &[]);
    f.until(1001.0).await;

    assert_eq!(f.asked("app"), [0, 10, 1000]);
    assert_addresses(&again.current(), &["192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn names_of_a_refused_configuration_are_never_looked_up() {
    let f = Fixture::new();
    f.script.on("other", [Reply::Found(&["192.0.2.1"], 10)]);
    let refused = f.set.watch("refused", &[]);
    f.until(5.0).await;
    drop(refused);
    let _other = f.watch("other", &[]);
    f.until(6.0).await;

    assert_eq!(f.asked("refused"), [0; 0]);
    assert_eq!(f.asked("other"), [5]);
    assert_eq!(f.set.watched().names.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn addresses_need_no_look_up() {
    let f = Fixture::new();
    for (host, address) in [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]", "192.0.2.1"),
    ] {
        let name = f.watch(host, &[]);
        assert_addresses(&name.current(), &[address]);
        assert_eq!(name.ready().await.state(), &State::Fresh);
        name.hint_failed();
    }
    assert!(f.script.asked.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_names_share_the_task_and_each_is_asked_once_per_ttl() {
    let f = Fixture::new();
    let hosts: Vec<String> = (0..1000).map(|n| format!("app-{n}")).collect();
    for host in &hosts {
        f.script
            .on(host, [Reply::Slow(Duration::from_secs(1), "192.0.2.1")]);
    }
    let names: Vec<_> = hosts.iter().map(|host| f.watch(host, &[])).collect();

    f.until(32.5).await;

    // All at once at the start, and again 30 s after each answer came.
    assert_eq!(f.script.asked.lock().unwrap().len(), 2000);
    assert!(names.iter().all(|name| name.generation() == 1));
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_the_task_even_during_look_ups() {
    let mut f = Fixture::new();
    f.script.on("silent", [Reply::Silence]);
    let _name = f.watch("silent", &[]);
    f.until(1.0).await;

    f.stop.cancel();
    f.tasks.join_next().await.unwrap().unwrap();

    assert_eq!(f.start.elapsed(), Duration::from_secs(1));
}

#[test]
fn a_running_set_may_move_between_threads() {
    fn assert_send(_: impl Send) {}
    let set = Arc::new(ResolverSet::new(ResolveSettings::default()));
    assert_send(set.run(CancellationToken::new()));
}

#[tokio::test(start_paused = true)]
async fn services_are_followed_and_the_last_good_ones_are_kept() {
    let f = Fixture::new();
    f.script.on(
        "_http._tcp.app",
        [
            Reply::Listed(&["a.app.:80", "b.app.:81"]),
            Reply::Listed(&["a.app.:80", "b.app.:81"]),
            Reply::Failed(LookupError::NoServices),
            Reply::Listed(&["b.app.:81"]),
        ],
    );
    let name = f
        .set
        .watch_services("_http._tcp.app", &Terms::default(), When::Begun);
    time::sleep(Duration::from_secs(5)).await;
    assert!(!name.is_ready(), "nothing begins by itself");
    f.set.begin();
    let answer = name.ready().await;
    assert_eq!(answer.records(), ["a.app.:80", "b.app.:81"].map(service));
    f.until(6.5).await;
    assert_eq!(name.generation(), 1, "the same again is no change");
    f.until(7.5).await;
    let kept = name.current();
    assert_eq!((kept.records().len(), kept.generation()), (2, 1));
    assert!(matches!(kept.state(), State::Stale(LookupError::NoServices)));
    f.until(9.5).await;
    assert_eq!(name.current().records(), [service("b.app.:81")]);
    assert_eq!(name.generation(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_let_go_of_ends_at_once_even_within_a_look_up() {
    let f = Fixture::new();
    f.script.on("slow", [Reply::Silence]);
    f.script.on("idle", [Reply::Found(&["192.0.2.1"], 3600)]);
    for host in ["slow", "idle"] {
        let name = f.set.watch_as(host, &Terms::default(), When::Now);
        time::sleep(Duration::from_millis(10)).await;
        let other = Arc::clone(&name);
        drop(name);
        time::sleep(Duration::from_millis(10)).await;
        assert_eq!(f.set.len(), 1, "somebody uses {host}");
        drop(other);
        time::sleep(Duration::from_millis(10)).await;
        assert_eq!(f.set.len(), 0, "{host}");
    }
    assert_eq!((f.asked("slow").len(), f.asked("idle").len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_to_be_looked_up_more_often_is_another_name() {
    let f = Fixture::new();
    f.script.on("app", [Reply::Found(&["192.0.2.1"], 3600)]);
    let often = Terms {
        refresh: Some(Duration::from_secs(5)),
        ..Terms::default()
    };
    let names = [
        f.set.watch_as("app", &often, When::Now),
        f.set.watch_as("APP", &often, When::Now),
    ];
    assert!(Arc::ptr_eq(&names[0], &names[1]));
    f.until(12.0).await;
    assert_eq!(f.asked("app"), [0, 5, 10]);
    let usual = f.watch("app", &[]);
    assert!(!Arc::ptr_eq(&names[0], &usual));
}

#[tokio::test(start_paused = true)]
async fn a_look_up_ends_when_its_own_terms_say() {
    let f = Fixture::new();
    f.script.on("app", [Reply::Silence]);
    let terms = Terms {
        timeout: Some(Duration::from_secs(2)),
        ..Terms::default()
    };
    let name = f.set.watch_as("app", &terms, When::Now);
    name.ready().await;
    assert_eq!(f.start.elapsed(), Duration::from_secs(2));
}
