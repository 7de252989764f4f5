//! Keeps the configuration: makes changes of it one after the other, each whole or not at all.

use std::path::PathBuf;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use caddy_config::{self as model, Config, Diagnostics, ListenAddress, Surroundings};
use futures_util::future::BoxFuture;
use http::StatusCode;
use thiserror::Error;
use tokio::sync::{Mutex, oneshot};
use tokio::task;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::adapt::{self, Content};
use super::autosave;
use super::body::Room;
use super::document::{Document, Edit, EditError, MatchError, Pointer};
use super::endpoint::{AdminError, Endpoint, Serving};
use crate::BuildErrors;
use crate::control::{Applied, Authority, GeoState, PodState, RouteListing, SourcesApi, UpstreamState};
use crate::snapshot::Snapshot;
use crate::tasks::Tasks;

/// What the admin API drives: the running proxy.
pub(super) trait Engine: Send + Sync + std::fmt::Debug {
    /// Replaces the configuration, or changes nothing.
    fn load(&self, config: Config) -> BoxFuture<'_, Result<Applied, BuildErrors>>;

    /// Counts a configuration that was refused before it came to be loaded.
    fn refused(&self);

    /// Counts a request to the admin API, which `failed` or did not.
    fn asked(&self, code: u16, method: &'static str, path: &'static str, failed: bool);

    /// What each upstream has to do.
    fn upstreams(&self) -> Vec<UpstreamState>;

    /// The pods that tokens reached.
    fn pods(&self) -> Vec<PodState>;

    /// The databases that say where clients are.
    fn geo(&self) -> Vec<GeoState>;

    /// The routes of `eskip` handlers.
    fn routes(&self) -> RouteListing;

    /// The sources of routes, if the configuration has some.
    fn sources(&self) -> Option<SourcesApi>;

    /// The internal certificate authority, if there is one.
    fn authority(&self) -> Option<Authority>;

    /// The metrics for a client with this `Accept`, and their type.
    fn metrics(&self, accept: Option<&str>) -> (&'static str, String);
}

/// The file that a configuration came from, as the one who read it named it, and what it is written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path.
    pub file: String,
    /// `caddyfile`, or empty for JSON.
    pub adapter: String,
}

/// What the keeper is given besides the configuration.
pub(super) struct Settings {
    /// Where the API is if the configuration does not say.
    pub(super) default_address: String,
    /// Where the configuration is saved.
    pub(super) autosave: Option<PathBuf>,
    /// What Caddyfiles in requests may refer to.
    pub(super) surroundings: Arc<dyn Surroundings + Send + Sync>,
}

/// The one who changes the configuration.
#[derive(Debug)]
pub(super) struct Keeper {
    engine: Box<dyn Engine>,
    settings: Settings,
    running: Snapshot<Document>,
    /// Held for the whole of a change.
    serving: Mutex<Option<Serving>>,
    /// Where the running configuration came from, if nobody has changed it since.
    source: StdMutex<Option<Source>>,
    tasks: Tasks,
    pub(super) room: Room,
    stop: CancellationToken,
}

/// A change that somebody asks for.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) edit: Edit,
    pub(super) place: Target,
    pub(super) content: Content,
    /// The state that the change is meant for.
    pub(super) if_match: Option<String>,
    /// Whether to load the configuration even if it stays the same.
    pub(super) force: bool,
    /// The file that the running configuration must have come from.
    pub(super) if_source: Option<String>,
    pub(super) origin: Origin,
}

/// What is to be changed or shown.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// What is at this place.
    At(Pointer),
    /// The object with this id, or what is in it.
    Id {
        /// The id.
        id: String,
        /// The rest of the path.
        rest: String,
    },
}

/// Who asks for a change.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A request, which may say what file it sends.
    Api(Option<Source>),
    /// This process has read the file itself.
    File(Source),
}

/// Why a change is not made. The words are Caddy's where it has some.
#[derive(Debug, Error)]
pub(crate) enum Refused {
    #[error(transparent)]
    Match(#[from] MatchError),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("unknown object ID '{0}'")]
    UnknownId(String),
    #[error("loading new config: {}", adapt::summary(.0))]
    Config(Diagnostics),
    #[error("loading new config: starting the administration endpoint: {0}")]
    Admin(#[from] AdminError),
    #[error("loading new config: {}", one_line(.0))]
    Build(BuildErrors),
    #[error("what runs here did not come from {0}, or was changed since")]
    Source(String),
    #[error("the proxy is stopping")]
    Stopping,
    #[error("the change failed halfway; see the log")]
    Fault,
}

/// The next document, unless nothing changes.
type Draft = Option<Box<(Document, Config)>>;

// === impl Keeper ===

impl Keeper {
    /// Keeps `document`, which `engine` already runs, and serves the API where its `section` about that says.
    pub(super) async fn start(
        engine: Box<dyn Engine>,
        document: Document,
        section: Option<&model::Admin>,
        source: Option<Source>,
        settings: Settings,
    ) -> Result<Arc<Self>, AdminError> {
        let address = Endpoint::wanted(section, &settings.default_address)?;
        let endpoint = match address {
            Some(address) => Some(Endpoint::bind(address, None).await?),
            None => None,
        };
        let keeper = Arc::new(Self {
            engine,
            settings,
            running: Snapshot::new(document),
            serving: Mutex::new(None),
            source: StdMutex::new(source),
            tasks: Tasks::default(),
            room: Room::default(),
            stop: CancellationToken::new(),
        });
        let admin = section.cloned().unwrap_or_default();
        let mut serving = keeper.serving.lock().await;
        *serving = endpoint.map(|endpoint| endpoint.serve(&admin, &keeper));
        // Nothing else is taken meanwhile: saved after what was loaded since, it would take its place.
        keeper.save(may_persist(section)).await;
        drop(serving);
        Ok(keeper)
    }

    /// The document that is running.
    pub(super) fn document(&self) -> Arc<Document> {
        self.running.current()
    }

    /// Where `target` is in `document`.
    pub(super) fn locate(document: &Document, target: Target) -> Result<Pointer, Refused> {
        match target {
            Target::At(place) => Ok(place),
            Target::Id { id, rest } => document.locate(&id, &rest).ok_or(Refused::UnknownId(id)),
        }
    }

    /// Makes a change, or none: `false` if it changes nothing. It is made even if nobody waits for it any more.
    pub(super) async fn change(self: &Arc<Self>, change: Change) -> Result<bool, Refused> {
        let this = Arc::clone(self);
        let made = async move {
            let made = Arc::clone(&this).make(change).await;
            if let Err(Refused::Config(_) | Refused::Admin(_)) = &made {
                this.engine.refused();
            }
            made
        };
        self.detached("change of the configuration", made).await?
    }

    /// Does `work` to its end, even if nobody waits for it any more.
    pub(super) async fn detached<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Refused> {
        let (told, outcome) = oneshot::channel();
        self.tasks.spawn(name, async move {
            let _nobody_waits = told.send(work.await);
        });
        outcome.await.map_err(|_| Refused::Fault)
    }

    /// Whether the running configuration is what `source` held when it was last read.
    pub(super) fn is_from(&self, source: &Source) -> bool {
        self.lock_source().as_ref() == Some(source)
    }

    /// Asks for the end of the process.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Cancelled when somebody has asked for the end.
    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    pub(super) fn surroundings(&self) -> Arc<dyn Surroundings + Send + Sync> {
        Arc::clone(&self.settings.surroundings)
    }

    /// The proxy.
    pub(super) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Gives up the endpoint. Requests under way are still answered.
    pub(super) async fn close(&self) {
        *self.serving.lock().await = None;
    }

    /// Where the endpoint is.
    pub(super) async fn address(&self) -> Option<String> {
        let serving = self.serving.lock().await;
        serving.as_ref().map(Serving::place)
    }

    async fn make(self: Arc<Self>, change: Change) -> Result<bool, Refused> {
        let mut serving = self.serving.lock().await;
        if self.stop.is_cancelled() {
            return Err(Refused::Stopping);
        }
        if let Some(file) = &change.if_source
            && self
                .lock_source()
                .as_ref()
                .is_none_or(|source| source.file != *file)
        {
            return Err(Refused::Source(file.clone()));
        }
        let (before, origin) = (self.running.current(), change.origin.clone());
        // A large document takes a while, and everybody else is served by this thread.
        let drafted = task::spawn_blocking(move || draft(&before, change)).await;
        let next = drafted.unwrap_or(Err(Refused::Fault))?;
        let changed = next.is_some();
        if let Some(next) = next {
            let (document, config) = *next;
            let may_persist = may_persist(config.admin.as_ref());
            self.apply(&mut serving, document, config).await?;
            self.note(origin);
            self.save(may_persist).await;
        } else {
            info!("config is unchanged");
            self.note(origin);
        }
        Ok(changed)
    }

    /// Runs `config`, which is `document`, or leaves everything as it was. The endpoint's new place is taken first and
    /// served last.
    async fn apply(
        self: &Arc<Self>,
        serving: &mut Option<Serving>,
        document: Document,
        config: Config,
    ) -> Result<(), Refused> {
        // A document of nothing says nothing about the endpoint either: whoever ran it there finds it there, by the same
        // rules. Caddy moves it to its default address, where others may be let in.
        let says_where = !document.is_empty();
        let wanted = if says_where {
            Endpoint::wanted(config.admin.as_ref(), &self.settings.default_address)?
        } else {
            None
        };
        let stays = |address: &ListenAddress| serving.as_ref().is_some_and(|serving| serving.is_at(address));
        let taken = match wanted.clone().filter(|address| !stays(address)) {
            Some(address) => Some(Endpoint::bind(address, serving.as_ref()).await?),
            None => None,
        };
        let admin = config.admin.clone().unwrap_or_default();
        let applied = self.engine.load(config).await.map_err(Refused::Build)?;
        for warning in &applied.warnings {
            warn!("{warning}");
        }
        info!(
            revision = applied.revision,
            added = ?applied.added,
            removed = ?applied.removed,
            kept = applied.kept,
            "the configuration is loaded"
        );
        self.running.publish(document);
        match (taken, wanted) {
            (Some(endpoint), _) => *serving = Some(endpoint.serve(&admin, self)),
            (None, None) if says_where => *serving = None,
            (None, None) => {}
            (None, Some(address)) => {
                if let Some(serving) = serving {
                    serving.go_on(&admin, address);
                }
            }
        }
        Ok(())
    }

    fn note(&self, origin: Origin) {
        let mut source = self.lock_source();
        match origin {
            Origin::File(file) => *source = Some(file),
            Origin::Api(sent) if sent == *source => {}
            Origin::Api(_) => *source = None,
        }
    }

    /// Saves the running configuration, if it may be. A failure is no failure of the change.
    async fn save(&self, may_persist: bool) {
        let document = self.document();
        let Some(path) = self.settings.autosave.clone() else {
            return;
        };
        if document.is_empty() || !may_persist {
            return;
        }
        let file = path.display().to_string();
        let saved = task::spawn_blocking(move || autosave::save(&path, document.text())).await;
        match saved {
            Ok(Ok(())) => info!(file, "saved the configuration; `run --resume` loads it"),
            Ok(Err(error)) => {
                warn!(file, %error, "cannot save the configuration; a restart will not know it")
            }
            Err(error) => error!(file, %error, "saving the configuration failed"),
        }
    }

    fn lock_source(&self) -> std::sync::MutexGuard<'_, Option<Source>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything about a change that needs nothing but time.
fn draft(before: &Document, change: Change) -> Result<Draft, Refused> {
    let Change {
        edit,
        place,
        content,
        if_match,
        force,
        ..
    } = change;
    if let Some(field) = if_match {
        before.check_match(&field)?;
    }
    let place = Keeper::locate(before, place)?;
    let (next, config) = match content {
        Content::Model(config) => (
            Document::of_model(config.to_json()).map_err(EditError::from)?,
            Some(config),
        ),
        Content::Json(body) => (before.edited(edit, &place, &body)?, None),
    };
    if !force && next.is_same(before) {
        return Ok(None);
    }
    let config = match config {
        Some(config) => *config,
        None => next.decode().map_err(Refused::Config)?,
    };
    Ok(Some(Box::new((next, config))))
}

/// Whether the configuration may be kept on disk: unless `admin.config.persist` is `false`.
fn may_persist(section: Option<&model::Admin>) -> bool {
    let settings = section.and_then(|admin| admin.config.as_ref());
    settings.and_then(|settings| settings.persist) != Some(false)
}

fn one_line(errors: &BuildErrors) -> String {
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    all.join("; ")
}

// === impl Settings ===

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("default_address", &self.default_address)
            .field("autosave", &self.autosave)
            .finish_non_exhaustive()
    }
}

// === impl Refused ===

impl Refused {
    /// The status of the answer. Caddy answers a bad configuration with 500 where it is edited and with 400 where it is
    /// loaded; it is always the client who is at fault.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Match(error) => error.status(),
            Self::Edit(error) => error.status(),
            Self::UnknownId(_) => StatusCode::NOT_FOUND,
            Self::Config(_) | Self::Admin(_) | Self::Build(_) => StatusCode::BAD_REQUEST,
            Self::Source(_) => StatusCode::PRECONDITION_FAILED,
            Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Fault => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
