//! The agent: an application's replicas, and the routes to them.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use shipwick_routes::sync::{Settings, Source, Syncer};
use shipwick_routes::{AdminAddress, App, Desired, RenderOptions, Rollout, Upstream};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::REPLICAS;
use super::replica::Replica;

const APP: &str = "web";

/// The time between two looks of the agent.
const TICK: Duration = Duration::from_secs(1);

/// An agent with one application.
pub(super) struct Agent {
    replicas: Vec<Replica>,
    database: Database,
    syncer: Arc<Syncer<Database>>,
    runtime: Runtime,
    /// The looks.
    supervisor: JoinHandle<()>,
    stop: CancellationToken,
}

#[derive(Clone)]
struct Database(Arc<Mutex<Desired>>);

// === impl Agent ===

impl Agent {
    /// Deploys the application to the proxy that is configured at `socket` and listens on `port`.
    pub(super) fn start(socket: &Path, port: u16) -> Result<Self> {
        let admin: AdminAddress = format!("unix/{}", socket.display()).parse()?;
        let database = Database(Arc::new(Mutex::new(Desired::new(admin.clone()))));
        let settings = Settings {
            render: RenderOptions {
                listen: vec![format!("127.0.0.1:{port}")],
                plain_http: true,
                ..RenderOptions::default()
            },
            tick: TICK,
            ..Settings::default()
        };
        let syncer = Arc::new(Syncer::new(admin, database.clone(), settings));
        let stop = CancellationToken::new();
        let (looks, told) = (Arc::clone(&syncer), stop.clone());
        let own = runtime()?;
        let supervisor = thread::spawn(move || own.block_on(looks.run(told)));
        let agent = Self {
            replicas: (0..REPLICAS).map(|_| Replica::start()).collect::<Result<_>>()?,
            database,
            syncer,
            runtime: runtime()?,
            supervisor,
            stop,
        };
        agent.record(false)?;
        agent.sync()?;
        Ok(agent)
    }

    /// Every replica is replaced by a new one, one after the other.
    pub(super) fn redeploy(&mut self, step: Duration) -> Result<()> {
        let syncer = Arc::clone(&self.syncer);
        let rollout = syncer.begin_rollout(APP, Some(self.serving()?))?;
        for at in 0..REPLICAS {
            let predecessor = std::mem::replace(&mut self.replicas[at], Replica::start()?);
            self.runtime.block_on(rollout.serve(self.serving()?))?;
            predecessor.stop();
            thread::sleep(step);
        }
        self.record(false)?;
        rollout.finish();
        Ok(())
    }

    /// Half of the replicas are replaced, then the rollout fails: what was replaced is started again, and routed to before
    /// the new ones go.
    pub(super) fn roll_back(&mut self, step: Duration) -> Result<()> {
        let syncer = Arc::clone(&self.syncer);
        let rollout = syncer.begin_rollout(APP, Some(self.serving()?))?;
        for at in 0..REPLICAS / 2 {
            let predecessor = std::mem::replace(&mut self.replicas[at], Replica::start()?);
            self.runtime.block_on(rollout.serve(self.serving()?))?;
            predecessor.stop();
            thread::sleep(step);
        }
        let mut failed = Vec::new();
        for at in 0..REPLICAS / 2 {
            failed.push(std::mem::replace(&mut self.replicas[at], Replica::start()?));
        }
        // The old deployment is what is recorded; its replicas have other addresses now.
        self.record(false)?;
        self.runtime.block_on(rollout.abandon())?;
        failed.into_iter().for_each(Replica::stop);
        thread::sleep(step);
        Ok(())
    }

    /// First nothing is routed to it, then its replicas are stopped.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.record(true)?;
        self.sync()?;
        self.replicas.drain(..).for_each(Replica::stop);
        Ok(())
    }

    pub(super) fn start_again(&mut self) -> Result<()> {
        self.replicas = (0..REPLICAS).map(|_| Replica::start()).collect::<Result<_>>()?;
        self.record(false)?;
        self.sync()
    }

    /// A replica dies; the next look leaves it out. Gives the requests that it had.
    pub(super) fn crash(&mut self) -> Result<u64> {
        let lost = self.replicas.remove(0).crash();
        self.record(false)?;
        Ok(lost)
    }

    pub(super) fn replace_crashed(&mut self) -> Result<()> {
        self.replicas.push(Replica::start()?);
        self.record(false)?;
        self.sync()
    }

    pub(super) fn end(self) {
        self.stop.cancel();
        drop(self.supervisor.join());
        self.replicas.into_iter().for_each(Replica::stop);
    }

    fn sync(&self) -> Result<()> {
        self.runtime.block_on(self.syncer.sync())?;
        Ok(())
    }

    fn serving(&self) -> Result<Rollout> {
        let each = self
            .replicas
            .iter()
            .map(|replica| Upstream::new("127.0.0.1", replica.port()));
        let upstreams: Vec<Upstream> = each.collect::<Result<_, _>>()?;
        Ok(Rollout {
            domain: None,
            replicas: upstreams
                .into_iter()
                .map(shipwick_routes::Replica::running)
                .collect(),
        })
    }

    /// Writes down what serves from now on.
    fn record(&self, stopped: bool) -> Result<()> {
        let app = App {
            domain: Some("web.example.com".parse().context("the domain")?),
            stopped,
            replicas: Some(self.serving()?.replicas),
            ..App::default()
        };
        let mut desired = self.database.0.lock().unwrap_or_else(PoisonError::into_inner);
        desired.apps.insert(APP.to_owned(), app);
        Ok(())
    }
}

// === impl Database ===

impl Source for Database {
    type Error = Infallible;

    async fn desired(&self) -> Result<Desired, Infallible> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn runtime() -> Result<Runtime> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.context("cannot start a runtime")
}
