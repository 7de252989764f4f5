//! The admin API: what Caddy's is, for whoever drives Caddy.
//!
//! [`document`] is the configuration as a document, [`guard`] who may ask, both pure. [`keeper`] makes the changes, one
//! after the other; [`endpoint`] and [`connection`] listen, [`routes`] answer.

mod adapt;
mod autosave;
mod body;
mod connection;
mod document;
mod endpoint;
mod eskip;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod guard;
mod hosts;
mod keeper;
mod reply;
mod report;
mod routes;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use caddy_config::{Config, Surroundings};
use futures_util::future::{BoxFuture, FutureExt as _};
use thiserror::Error;

pub use self::endpoint::AdminError;
pub use self::keeper::Source;

use self::adapt::Content;
use self::document::{Document, Edit, Pointer};
use self::keeper::{Change, Engine, Keeper, Origin, Refused, Settings, Target};
use crate::BuildErrors;
use crate::control::{
    Applied, Authority, Control, GeoState, PodState, RouteListing, SourcesApi, UpstreamState,
};
use crate::tasks::Drained;

/// How long requests under way may take once the API ends.
const GRACE: Duration = Duration::from_secs(5);

/// What the admin API is started with, besides the proxy.
#[derive(Clone)]
pub struct AdminOptions {
    /// Where it is served if the configuration does not say: `host:port`, `unix//path[|mode]` or `off`.
    pub address: String,
    /// The file that each configuration that was loaded is saved to, readable for its owner only; a configuration can
    /// forbid that. Default `None`: none is saved.
    pub autosave: Option<PathBuf>,
    /// Where the first configuration came from.
    pub source: Option<Source>,
    /// The variables and files that Caddyfiles in requests may refer to. Default: none.
    pub surroundings: Arc<dyn Surroundings + Send + Sync>,
}

/// The admin API of a running proxy, and the one who keeps its configuration: whoever else wants to load one, such as
/// at a signal, asks here. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Admin(Arc<Keeper>);

/// Why a configuration is not loaded. The one that was running runs on.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct LoadError(#[from] Refused);

/// No variables and no files.
struct Nothing;

// === impl AdminOptions ===

impl Default for AdminOptions {
    fn default() -> Self {
        Self {
            address: "localhost:2019".to_owned(),
            autosave: None,
            source: None,
            surroundings: Arc::new(Nothing),
        }
    }
}

impl std::fmt::Debug for AdminOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminOptions")
            .field("address", &self.address)
            .field("autosave", &self.autosave)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

// === impl Admin ===

impl Admin {
    /// Takes charge of the configuration of the proxy that `control` controls: `document` is what it runs, as JSON. The
    /// API is served where the configuration says; it may say nowhere. Needs a tokio runtime with time and I/O, on
    /// which it answers until [`Admin::close`].
    ///
    /// # Errors
    ///
    /// If the address is none or cannot be listened on, or if the document's `@id`s are not fit for it.
    pub async fn start(control: &Control, document: &str, options: AdminOptions) -> Result<Self, AdminError> {
        let document = document::read::value(document.as_bytes())
            .map_err(AdminError::Document)
            .and_then(|value| {
                Document::new(&value).map_err(|error| AdminError::Document(error.to_string()))
            })?;
        let AdminOptions {
            address,
            autosave,
            source,
            surroundings,
        } = options;
        let settings = Settings {
            default_address: address,
            autosave,
            surroundings,
        };
        let section = control.0.admin();
        let engine = Box::new(control.clone());
        let keeper = Keeper::start(engine, document, section.as_ref(), source, settings).await?;
        Ok(Self(keeper))
    }

    /// Loads `document`, a whole configuration as JSON that was read from `source`. `force` loads it even if it is the
    /// one that is running. `false` if there was nothing to do.
    ///
    /// # Errors
    ///
    /// All that is wrong with it; then nothing has changed.
    pub async fn load(&self, document: String, source: Source, force: bool) -> Result<bool, LoadError> {
        let change = Change {
            edit: Edit::Post,
            place: Target::At(Pointer::parse("/config/")),
            content: Content::Json(Bytes::from(document)),
            if_match: None,
            force,
            if_source: None,
            origin: Origin::File(source),
        };
        Ok(self.0.change(change).await?)
    }

    /// Whether what runs is what was read from `source`, unchanged by requests since.
    pub fn is_from(&self, source: &Source) -> bool {
        self.0.is_from(source)
    }

    /// Where the API is served, with the port that the system chose for port 0; `None` if it is not served.
    pub async fn address(&self) -> Option<String> {
        self.0.address().await
    }

    /// Waits until a request asks the process to stop.
    pub async fn asked_to_stop(&self) {
        self.0.stopping().cancelled().await;
    }

    /// Changes nothing any more, and ends the API once requests under way are answered.
    pub async fn close(self) {
        self.0.stop();
        self.0.close().await;
        if let Drained::TimedOut { left } = self.0.tasks().drain(GRACE).await {
            tracing::warn!(left, "requests to the admin API were cut");
        }
    }
}

impl Engine for Control {
    fn load(&self, config: Config) -> BoxFuture<'_, Result<Applied, BuildErrors>> {
        Self::load(self, config).boxed()
    }

    fn refused(&self) {
        Self::refused(self);
    }

    fn asked(&self, code: u16, method: &'static str, path: &'static str, failed: bool) {
        Self::asked(self, code, method, path, failed);
    }

    fn upstreams(&self) -> Vec<UpstreamState> {
        Self::upstreams(self)
    }

    fn pods(&self) -> Vec<PodState> {
        Self::pods(self)
    }

    fn routes(&self) -> RouteListing {
        Self::routes(self)
    }

    fn geo(&self) -> Vec<GeoState> {
        Self::geo(self)
    }

    fn sources(&self) -> Option<SourcesApi> {
        self.0.sources()
    }

    fn authority(&self) -> Option<Authority> {
        Self::authority(self)
    }

    fn metrics(&self, accept: Option<&str>) -> (&'static str, String) {
        Self::metrics(self, accept)
    }
}

// === impl Nothing ===

impl Surroundings for Nothing {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}
