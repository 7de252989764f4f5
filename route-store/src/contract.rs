//! What every store must do, as cases that run against any of them.
//!
//! A case stops by a panic where it finds a fault, so this is for tests only.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a case stops where it finds a fault"
)]

mod changes;
mod history;
mod large;
mod routes;
mod shared;
mod watch;

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::revision::Revision;
use crate::store::{Document, Expected, Store, StoredRoute, Terms};

/// How many changes and versions the stores of the suite must keep of each host.
pub const HISTORY: usize = 3;

/// The longest time that one case may take.
const BOUND: Duration = Duration::from_secs(300);

/// A store under test that nobody else uses, and what a test can do with it.
pub trait Subject: fmt::Debug + Send + Sync {
    /// The store, keeping [`HISTORY`].
    fn store(&self) -> Arc<dyn Store>;

    /// The same data over connections of its own, as another process has it.
    fn other(&self) -> Arc<dyn Store>;

    /// Lets time pass, by the store's clock.
    fn pass(&self, time: Duration) -> BoxFuture<'_, ()>;

    /// Takes all data away behind the store's back.
    fn lose(&self) -> BoxFuture<'_, ()>;
}

/// One thing that a store must do.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// As a sentence with underscores.
    pub name: &'static str,
    run: fn(Arc<dyn Subject>) -> BoxFuture<'static, ()>,
}

/// Every case, of every area.
pub fn cases() -> Vec<Case> {
    [
        routes::CASES,
        changes::CASES,
        history::CASES,
        shared::CASES,
        watch::CASES,
        large::CASES,
    ]
    .concat()
}

/// Runs every case, each with a subject of its own, and gives the names of those that failed with what they said.
pub async fn run<F>(subject: impl Fn() -> F) -> Vec<(&'static str, String)>
where
    F: Future<Output = Arc<dyn Subject>>,
{
    let mut failed = Vec::new();
    for case in cases() {
        let run = AssertUnwindSafe((case.run)(subject().await)).catch_unwind();
        match tokio::time::timeout(BOUND, run).await {
            Ok(Ok(())) => {}
            Ok(Err(panic)) => failed.push((case.name, said(&*panic))),
            Err(_) => failed.push((case.name, format!("not done after {BOUND:?}"))),
        }
    }
    failed
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

/// A list of cases from functions `async fn(Arc<dyn Subject>)`.
macro_rules! list_cases {
    ($($name:ident),* $(,)?) => {
        pub(super) const CASES: &[super::Case] = &[$(super::Case {
            name: stringify!($name),
            run: |subject| Box::pin($name(subject)),
        }),*];
    };
}
use list_cases;

/// Lets time pass until `done` says so, a minute at most.
async fn until<F: Future<Output = bool>>(subject: &dyn Subject, done: impl Fn() -> F) {
    for _ in 0..1200 {
        if done().await {
            return;
        }
        subject.pass(Duration::from_millis(50)).await;
    }
    panic!("it has not happened within a minute");
}

/// By nobody in particular, on a condition.
fn when(expected: Expected) -> Terms<'static> {
    Terms {
        author: "tester",
        expected,
    }
}

fn by(author: &str) -> Terms<'_> {
    Terms {
        author,
        expected: Expected::Any,
    }
}

fn document(text: &str) -> Document<'_> {
    Document {
        schema_version: 1,
        text,
    }
}

/// Writes a document whatever is there.
async fn put(store: &dyn Store, host: &str, text: &str) -> Revision {
    store.put(host, document(text), by("tester")).await.unwrap()
}

async fn route(store: &dyn Store, host: &str) -> Option<StoredRoute> {
    store.route(host).await.unwrap()
}

/// The document of a host that has one.
async fn text(store: &dyn Store, host: &str) -> String {
    route(store, host).await.unwrap().document
}
