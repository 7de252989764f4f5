//! Answers that are kept for requests that ask the same: `cache`, by RFC 9111 as a cache that many share.
//!
//! Only answers to GET are kept, and only those that every client may see: none to a request with credentials unless the
//! answer is public, none with Set-Cookie, none that says `no-store` or `private`, none that is a part of something. What
//! is kept counts for one route of one table of routes.

mod collect;
mod rules;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use eskip::Arg;
use eskip::filters::{Args, Body, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

use self::collect::Collected;
use self::rules::{Asked, Lifetime};
use self::store::{Entry, Found, Key, Store};
use super::Means;

/// What tells a client where an answer comes from.
const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// Keeps answers.
#[derive(Debug)]
struct Cache {
    store: Arc<Store>,
    lifetime: Lifetime,
    /// Fields of requests that tell answers apart.
    fields: Vec<HeaderName>,
}

/// What a request waits for, kept in its exchange.
struct Wanted {
    key: Key,
    asked: Asked,
    /// An answer that may stand in for one that is an error.
    stale: Option<Arc<Entry>>,
}

pub(super) fn add(all: &mut Filters, _means: &Means) {
    let store = Arc::new(Store::default());
    all.add(
        "cache",
        (
            "keeps answers to GET in memory that every client may see; with how long those are kept that do not say it, the same for errors, how long old ones are used while one request asks for a new one, how long instead of an error, and fields of requests that tell answers apart",
            r#"cache("1m", "5s", "10s", "1h", "Accept-Language")"#,
        ),
        move |args| Cache::create(args, &store),
    );
}

// === impl Cache ===

impl Cache {
    fn create(args: &[Arg], store: &Arc<Store>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let mut lifetime = Lifetime::default();
        if args.has_more() {
            lifetime.unsaid = Some(args.duration("how long answers are kept")?);
            lifetime.error = Some(args.duration("how long errors are kept")?);
            lifetime.while_asking =
                args.duration("how long old answers are used while a new one is asked for")?;
        }
        if args.has_more() {
            lifetime.instead_of_error = args.duration("how long old answers are used instead of errors")?;
        }
        let names = if args.has_more() {
            args.text("names of header fields")?
        } else {
            ""
        };
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let fields = names.map(|name| name.parse().map_err(|_| args.expected("names of header fields")));
        let fields = fields.collect::<Result<_, _>>()?;
        args.end()?;
        Ok(Self {
            store: Arc::clone(store),
            lifetime,
            fields,
        })
    }

    fn key(&self, cx: &FilterContext<'_>) -> Key {
        let fields = self.fields.iter();
        let fields = fields.map(|name| rules::joined(&cx.request.headers, name));
        Key::new(
            (cx.exchange.table, &cx.exchange.route),
            (&cx.exchange.host, cx.exchange.tls),
            &cx.request.uri,
            fields,
        )
    }

    /// What is answered without the backend.
    fn look(&self, cx: &mut FilterContext<'_>, asked: Asked) -> Flow {
        let (key, now) = (self.key(cx), cx.env.now());
        let mut stale = None;
        if !asked.wants_new {
            match self.store.find(&key, &cx.request.headers, now) {
                Some(Found::Fresh(entry)) => return Flow::serve(answer(&entry, cx, "HIT")),
                Some(Found::Renewing(entry)) => return Flow::serve(answer(&entry, cx, "STALE")),
                Some(Found::Stale(entry)) => stale = Some(entry),
                None => {}
            }
        }
        cx.exchange.keep(Wanted { key, asked, stale });
        Flow::Next
    }
}

impl Filter for Cache {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        match Asked::of(&cx.request.method, &cx.request.headers) {
            Some(asked) => self.look(cx, asked),
            None => {
                if !cx.request.method.is_safe() {
                    // What it changes may be what was kept.
                    self.store.forget(&self.key(cx));
                }
                Flow::Next
            }
        }
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let Some(Wanted { key, asked, stale }) = cx.exchange.take_kept() else {
            return Flow::Next;
        };
        let (now, wall) = (cx.env.now(), cx.env.wall());
        let failed = cx
            .response
            .as_ref()
            .is_some_and(|answer| answer.status.is_server_error());
        if failed && let Some(stale) = stale.filter(|stale| stale.stands_in(now)) {
            self.store.asked_in_vain(&key);
            return Flow::serve(answer(&stale, cx, "STALE"));
        }
        let Some(found) = &mut cx.response else {
            return Flow::Next;
        };
        let kept = self.lifetime.of(&asked, *found.status, found.headers, wall);
        let Some(terms) = kept.filter(|_| cx.request.method == Method::GET) else {
            self.store.asked_in_vain(&key);
            return Flow::Next;
        };
        let vary = rules::varying(found.headers, &cx.request.headers);
        let entry = Entry::new(*found.status, found.headers.clone(), (vary, terms), now);
        let collected = Collected::new(Arc::clone(&self.store), key, entry);
        found.body.watch(move |body| collected.of(body));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        // Answers that are kept would be told for new ones by whoever only explains.
        Wants::ALL.and_errors().and_acts()
    }
}

/// An answer that was kept, for this request.
fn answer(entry: &Entry, cx: &FilterContext<'_>, how: &'static str) -> Response<Body> {
    let age = entry.age(cx.env.now());
    let mut response = Response::new(Body::Empty);
    *response.headers_mut() = entry.headers.clone();
    let is_known = entry.status == StatusCode::OK && is_known(&cx.request.headers, &entry.headers);
    let headers = response.headers_mut();
    headers.insert(header::AGE, age.as_secs().into());
    headers.insert(X_CACHE, HeaderValue::from_static(how));
    if is_known {
        headers.remove(header::CONTENT_LENGTH);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(header::CONTENT_LENGTH, entry.body.len().into());
    *response.status_mut() = entry.status;
    *response.body_mut() = entry.body.clone().into();
    response
}

/// Whether the client has the answer (RFC 9110, section 13.1.2): tags are compared without their weakness.
fn is_known(asked: &HeaderMap, kept: &HeaderMap) -> bool {
    let plain = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let Some(tag) = kept.get(header::ETAG).and_then(|tag| tag.to_str().ok()) else {
        return false;
    };
    let given = asked.get_all(header::IF_NONE_MATCH).iter();
    let mut given = given
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    given.any(|one| one.trim() == "*" || plain(one) == plain(tag))
}

/// The longest time that anything is kept.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
