//! Filters of the tests' own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use eskip::filters::{Args, Body, Filter, FilterContext, Filters, Flow, Wants};
use http::{HeaderValue, Response};
use proxy_core::Options;
use tokio::sync::Semaphore;

use crate::support::rig;

/// `mark("a")`: notes in X-Order of requests and answers that it was there.
#[derive(Debug)]
struct Mark(HeaderValue);

/// `markErrors("a")`: the same for answers, and for those to what fails.
#[derive(Debug)]
struct MarkErrors(HeaderValue);

/// `serve(status, "text")`: answers, and notes in X-Order of the answer that it has seen it.
#[derive(Debug)]
struct Serve(u16, String);

/// `panics("request")`: fails in this phase.
#[derive(Debug)]
struct Panics(String);

/// `holds()`: holds something from the request on until its answer has gone.
#[derive(Debug)]
struct Holds(Arc<AtomicUsize>);

struct Held(Arc<AtomicUsize>);

/// `waits()`: waits at a gate.
#[derive(Debug)]
struct Waits(Arc<Semaphore>);

/// `answers(status, "text")`: replaces the answer in the second phase.
#[derive(Debug)]
struct Answers(u16, String);

/// `notes()`: keeps the path parameters `a` and `b` of requests.
#[derive(Debug)]
struct Notes(Arc<Mutex<Vec<String>>>);

/// What tests see of the filters of one proxy.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    held: Arc<AtomicUsize>,
    pub(super) gate: Arc<Semaphore>,
    notes: Arc<Mutex<Vec<String>>>,
}

/// Options with these filters.
pub(super) fn options() -> Options {
    Seen::new().options()
}

// === impl Seen ===

impl Seen {
    pub(super) fn new() -> Self {
        Self {
            held: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
            notes: Arc::default(),
        }
    }

    /// How many things are held now.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// What was noted so far.
    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.clone()
    }

    pub(super) fn options(&self) -> Options {
        Options {
            filters: self.filters(),
            ..rig::options()
        }
    }

    fn filters(&self) -> Filters {
        let mut all = rig::options().filters;
        all.add("mark", ("", ""), |args| {
            Ok(Mark(value(Args::new(args).text("a name")?)))
        });
        all.add("markErrors", ("", ""), |args| {
            Ok(MarkErrors(value(Args::new(args).text("a name")?)))
        });
        all.add("serve", ("", ""), |args| {
            let mut args = Args::new(args);
            Ok(Serve(args.whole("a status")?, args.text("a text")?.to_owned()))
        });
        all.add("answers", ("", ""), |args| {
            let mut args = Args::new(args);
            Ok(Answers(args.whole("a status")?, args.text("a text")?.to_owned()))
        });
        all.add("panics", ("", ""), |args| {
            Ok(Panics(Args::new(args).text("a phase")?.to_owned()))
        });
        let held = Arc::clone(&self.held);
        all.add("holds", ("", ""), move |_| Ok(Holds(Arc::clone(&held))));
        let gate = Arc::clone(&self.gate);
        all.add("waits", ("", ""), move |_| Ok(Waits(Arc::clone(&gate))));
        let notes = Arc::clone(&self.notes);
        all.add("notes", ("", ""), move |_| Ok(Notes(Arc::clone(&notes))));
        all
    }
}

fn value(text: &str) -> HeaderValue {
    text.parse().expect("a field value")
}

fn answer(status: u16, text: &str) -> Response<Body> {
    let response = Response::builder().status(status);
    response.body(text.to_owned().into()).expect("a status")
}

fn note(cx: &mut FilterContext<'_>, value: &HeaderValue) {
    let headers = match &mut cx.response {
        Some(answer) => &mut *answer.headers,
        None => &mut cx.request.headers,
    };
    headers.append("x-order", value.clone());
}

// === the filters ===

impl Filter for Mark {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        note(cx, &self.0);
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        note(cx, &self.0);
        Flow::Next
    }
}

impl Filter for MarkErrors {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        note(cx, &self.0);
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE.and_errors()
    }
}

impl Filter for Serve {
    fn request(&self, _: &mut FilterContext<'_>) -> Flow {
        Flow::serve(answer(self.0, &self.1))
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        note(cx, &HeaderValue::from_static("serve"));
        Flow::Next
    }
}

impl Filter for Answers {
    fn response(&self, _: &mut FilterContext<'_>) -> Flow {
        Flow::serve(answer(self.0, &self.1))
    }
}

impl Filter for Panics {
    fn request(&self, _: &mut FilterContext<'_>) -> Flow {
        match &*self.0 {
            "request" => panic!("a filter of a test"),
            "wait" => Flow::after(async { panic!("a filter of a test that waits") }, |(): (), _| {
                Flow::Next
            }),
            "resume" => Flow::after(async {}, |(), _| panic!("a filter of a test that goes on")),
            _ => Flow::Next,
        }
    }

    fn response(&self, _: &mut FilterContext<'_>) -> Flow {
        match &*self.0 {
            "response" => panic!("a filter of a test"),
            "response wait" => Flow::after(async { panic!("a filter of a test that waits") }, |(): (), _| {
                Flow::Next
            }),
            _ => Flow::Next,
        }
    }
}

impl Filter for Holds {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.0.fetch_add(1, Ordering::Relaxed);
        cx.exchange.keep(Held(Arc::clone(&self.0)));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Filter for Waits {
    fn request(&self, _: &mut FilterContext<'_>) -> Flow {
        let gate = Arc::clone(&self.0);
        Flow::after(
            async move { gate.acquire().await.expect("never closed").forget() },
            |(), _| Flow::Next,
        )
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

impl Filter for Notes {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let of = |name: &str| cx.exchange.param(name).unwrap_or("-").to_owned();
        let text = format!("a={} b={}", of("a"), of("b"));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}
