//! Routes that the program gives.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caddy_config::Eskip;
use proxy_core::{Loading, Options, Proxy, RouteSource};
use tokio::sync::Notify;

use super::Embedded;
use crate::support::rig::options;
use crate::support::wait::eventually;

/// No test waits for the next poll.
const NEVER: Duration = Duration::from_secs(3600);

/// What the test says.
#[derive(Default)]
struct Told {
    next: Mutex<Option<Next>>,
    is_new: Notify,
    asked: AtomicUsize,
}

enum Next {
    Routes(&'static str),
    Error(&'static str),
    Panic,
}

// === impl Told ===

impl Told {
    /// This is what the source gives the next time it is asked.
    fn set(&self, next: Next) {
        *self.next.lock().unwrap() = Some(next);
    }

    /// The same, and it is to be asked now.
    fn tell(&self, next: Next) {
        self.set(next);
        self.is_new.notify_one();
    }

    async fn until_asked(&self, times: usize) {
        let asked = async || (self.asked.load(Ordering::SeqCst) >= times).then_some(());
        eventually("the source is asked", asked).await;
    }
}

impl RouteSource for Told {
    fn name(&self) -> &'static str {
        "told"
    }

    fn load(&self) -> Loading<'_> {
        Box::pin(async {
            let next = self.next.lock().unwrap().take();
            self.asked.fetch_add(1, Ordering::SeqCst);
            match next {
                None => Ok(None),
                Some(Next::Routes(text)) => Ok(Some(eskip::parse(text)?)),
                Some(Next::Error(error)) => Err(error.into()),
                Some(Next::Panic) => panic!("a fault of the source"),
            }
        })
    }

    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.is_new.notified())
    }
}

fn with(told: &Arc<Told>) -> Options {
    Options {
        route_sources: vec![Arc::clone(told) as _],
        ..options()
    }
}

fn handler(poll: Duration) -> Eskip {
    Eskip {
        sources: vec!["told".to_owned()],
        poll: Some(poll),
        ..Eskip::default()
    }
}

async fn until_status(server: &Embedded, status: u16) {
    let seen = async || (server.status("/").await == status).then_some(());
    eventually(&format!("the status {status}"), seen).await;
}

#[tokio::test]
async fn a_source_is_asked_when_it_says_so_and_an_error_keeps_its_routes() {
    let told = Arc::new(Told::default());
    let server = Embedded::routes(handler(NEVER), with(&told)).await;
    told.until_asked(1).await;
    assert_eq!(server.status("/").await, 503, "there were no routes yet");

    told.tell(Next::Routes("a: * -> status(201) -> <shunt>;"));
    until_status(&server, 201).await;

    told.tell(Next::Error("no database"));
    told.until_asked(3).await;
    assert_eq!(server.status("/").await, 201);
    told.tell(Next::Panic);
    told.until_asked(4).await;
    assert_eq!(server.status("/").await, 201);

    told.tell(Next::Routes(
        "a: * -> nothing() -> <shunt>; b: Path(\"/\") -> status(202) -> <shunt>;",
    ));
    until_status(&server, 202).await;
    assert_eq!(
        server.status("/other").await,
        404,
        "one wrong route is left out alone"
    );
}

#[tokio::test]
async fn a_source_is_asked_at_each_poll() {
    let told = Arc::new(Told::default());
    told.set(Next::Routes("a: * -> status(201) -> <shunt>;"));
    let server = Embedded::routes(handler(Duration::from_millis(20)), with(&told)).await;
    until_status(&server, 201).await;
    told.set(Next::Routes("a: * -> status(202) -> <shunt>;"));
    until_status(&server, 202).await;
}

#[tokio::test]
async fn another_configuration_has_the_routes_at_once() {
    let told = Arc::new(Told::default());
    told.set(Next::Routes("a: * -> status(201) -> <shunt>;"));
    let server = Embedded::routes(handler(NEVER), with(&told)).await;
    until_status(&server, 201).await;

    let next = Eskip {
        default_filters_append: vec!["status(202)".to_owned()],
        inline: vec!["b: Path(\"/b\") -> <shunt>;".to_owned()],
        ..handler(NEVER)
    };
    let loaded = server.control.load(next.into_embedded("srv0")).await;
    assert!(loaded.is_ok(), "{loaded:?}");
    assert_eq!(server.status("/").await, 201);
    assert_eq!(server.status("/b").await, 202);

    told.tell(Next::Routes("a: * -> status(203) -> <shunt>;"));
    until_status(&server, 203).await;
}

#[tokio::test]
async fn a_source_that_nobody_gives_is_refused() {
    let built = Proxy::build(
        &handler(NEVER).into_embedded("srv0"),
        &Options {
            listen: false,
            ..options()
        },
    );
    let error = built.err().map(|errors| errors.to_string()).unwrap_or_default();
    assert!(
        error.contains("no source of routes that this program has: `told`"),
        "{error}"
    );
}
