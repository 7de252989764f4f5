//! Routes that another program gives, which the proxy is part of.

use std::fmt;
use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use eskip::Route;
use futures_util::FutureExt as _;
use tokio::sync::{Mutex, watch};
use tokio::time;

use crate::body::BoxError;

/// How long a source may take for all of its routes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Routes, as somebody has given them. Copies are of one gift only if they are the same piece of memory.
pub(crate) type Routes = Arc<[Route]>;

/// Gives Skipper's routes from wherever they are kept, such as a database or the API of an orchestrator.
///
/// It is given by [`Options::route_sources`](crate::Options::route_sources), and used by the `eskip` handlers that name it:
/// `source NAME` in a Caddyfile, `routes_sources` in JSON, `caddy_config::Eskip::sources`. Of routes with one id that of
/// the later input counts: files come first, then the routes of the configuration, URLs and sources, each as written.
///
/// While [`Proxy::run`](crate::Proxy::run) runs, it is asked at once and then at every `poll` of such a handler (3 seconds
/// unless set), and whenever [`RouteSource::changed`] says so. Handlers that name the same source share what it gives, and
/// so do later configurations; it is never asked twice at the same time. Until it has given routes for the first time,
/// requests get 503.
///
/// ```
/// use std::pin::Pin;
/// use std::sync::Mutex;
///
/// use proxy_core::{Loading, RouteSource};
/// use tokio::sync::Notify;
///
/// /// Routes that the program itself writes down.
/// #[derive(Default)]
/// struct Written {
///     /// What was not asked for yet.
///     text: Mutex<Option<String>>,
///     is_new: Notify,
/// }
///
/// impl Written {
///     fn write(&self, text: String) {
///         *self.text.lock().unwrap() = Some(text);
///         self.is_new.notify_one();
///     }
/// }
///
/// impl RouteSource for Written {
///     fn name(&self) -> &str {
///         "written"
///     }
///
///     fn load(&self) -> Loading<'_> {
///         Box::pin(async {
///             let text = self.text.lock().unwrap().take();
///             Ok(text.map(|text| eskip::parse(&text)).transpose()?)
///         })
///     }
///
///     fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
///         Box::pin(self.is_new.notified())
///     }
/// }
/// ```
pub trait RouteSource: Send + Sync {
    /// What handlers name it by: letters, digits, and `_`, `-`, `.`. Of several sources with one name the first counts.
    fn name(&self) -> &str;

    /// All routes as they are now, or `None` if they are those of the last time. It must not block, and has 30 seconds.
    ///
    /// Routes that a table cannot have, such as those with an unknown filter, are left out alone, as those of files are.
    ///
    /// # Errors
    ///
    /// What keeps it from knowing; a panic and the end of its time are as good as an error. The routes that there were stay,
    /// and it is asked again at the next `poll`. The error is logged, once until it is another one: no secret may be in it.
    fn load(&self) -> Loading<'_>;

    /// Comes back when it should be asked before the next `poll`. Default: never.
    ///
    /// It is called again each time, and dropped whenever it is asked for another reason: a change that comes while nobody
    /// waits must not be lost, as with `tokio::sync::Notify::notify_one`. It is heeded at most a hundred times a second.
    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(pending())
    }
}

/// What comes out of [`RouteSource::load`].
pub type Loading<'l> = Pin<Box<dyn Future<Output = Result<Option<Vec<Route>>, BoxError>> + Send + 'l>>;

/// A source, and what it gave last: all who name it share that.
pub(crate) struct Supply {
    source: Arc<dyn RouteSource>,
    /// Held by who asks.
    asking: Mutex<()>,
    /// Held by who waits for a change.
    listening: Mutex<()>,
    given: watch::Sender<Option<Routes>>,
}

// === impl Supply ===

impl Supply {
    pub(crate) fn new(source: Arc<dyn RouteSource>) -> Self {
        Self {
            source,
            asking: Mutex::default(),
            listening: Mutex::default(),
            given: watch::Sender::new(None),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.source.name()
    }

    /// What it gave last.
    pub(crate) fn given(&self) -> Option<Routes> {
        self.given.borrow().clone()
    }

    /// Asks for what there is now. The error says why that is not known.
    pub(crate) async fn ask(&self) -> Result<(), String> {
        let _alone = self.asking.lock().await;
        let loading = AssertUnwindSafe(async { self.source.load().await }).catch_unwind();
        let routes = match time::timeout(TIMEOUT, loading).await {
            Ok(Ok(Ok(routes))) => routes,
            Ok(Ok(Err(error))) => return Err(with_causes(&*error)),
            Ok(Err(_)) => return Err("it panicked".to_owned()),
            Err(_) => return Err("it takes too long".to_owned()),
        };
        if let Some(routes) = routes {
            self.given.send_if_modified(|given| {
                let is_new = given.as_deref() != Some(routes.as_slice());
                if is_new {
                    *given = Some(routes.into());
                }
                is_new
            });
        }
        Ok(())
    }

    /// Waits until it says that there is something else than `known`, or has given that to somebody else.
    pub(crate) async fn called(self: Arc<Self>, known: Option<Routes>) {
        let mut given = self.given.subscribe();
        let others = async {
            // The sender lives as long as this.
            let _given = given
                .wait_for(|given| !is_same(given.as_ref(), known.as_ref()))
                .await;
        };
        let changed = async {
            let _alone = self.listening.lock().await;
            let changed = AssertUnwindSafe(async { self.source.changed().await }).catch_unwind();
            if changed.await.is_err() {
                // It says nothing, and is asked at the next poll.
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = others => {}
            () = changed => {}
        }
    }
}

/// Two are the same if they are one.
impl PartialEq for Supply {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Supply {}

impl fmt::Debug for Supply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

// === impl RouteSource ===

impl fmt::Debug for dyn RouteSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RouteSource").field(&self.name()).finish()
    }
}

/// Whether both are the same gift.
pub(crate) fn is_same(one: Option<&Routes>, other: Option<&Routes>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
