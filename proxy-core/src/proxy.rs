//! The proxy as a whole: built, asked for its addresses, run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use caddy_config::Config;
use eskip::filters::Filters;
use eskip::routing::Predicates;
use jiff::tz::TimeZone;
use route_sources::{Kind, Snapshots};
use tokio::sync::mpsc;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::BuildErrors;
use crate::config::compile::{self, Surroundings};
use crate::control::{Control, Reconciler};
use crate::environment::Environment;
use crate::explain::{self, ExplainError, Explanation, Inquiry};
use crate::filters::{self, Means};
use crate::forward::pipeline::Handler;
use crate::forward::view::View;
use crate::forward::worker::Worker;
use crate::geo::Sources;
use crate::log::LogFiles;
use crate::metrics::Metrics;
use crate::skipper::{self, supply::RouteSource};
use crate::snapshot::Snapshot;
use crate::stats::Stats;
use crate::thread::{self, Thread};
use crate::tls::Certificates;
use crate::upstream::discovery::{Consuls, Directories};
use crate::upstream::health::Prober;
use crate::upstream::load::Slots;
use crate::upstream::resolve::{ResolveSettings, ResolverSet};

/// What a proxy is built with, besides its configuration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads, each with its own listening sockets, connections and pools. At least 1. Default 1.
    pub workers: usize,
    /// Where the internal certificate authority is kept. Default `None`: it is made anew each time.
    pub data_dir: Option<PathBuf>,
    /// Whether to listen on the addresses of the configuration. Default `true`; `false` for a proxy inside
    /// another server, which uses [`Proxy::handler`].
    pub listen: bool,
    /// The shortest time between two look-ups of an upstream's name, whatever its TTL. Default 1 second.
    pub dns_floor: Duration,
    /// The longest time between two look-ups of a name. Default 30 seconds.
    pub dns_ceiling: Duration,
    /// Whether a line of an HTTP/1 request's head may end with a line feed alone, for clients that cannot do
    /// better. Chunks and answers keep their line ends. Default `false`: whoever stands in front of this proxy may
    /// see other lines, and so other requests.
    pub bare_line_feeds: bool,
    /// Whether a request that no route answers gets 404, by way of the routes for errors. Default `false`: an empty
    /// 200, as in Caddy.
    pub strict: bool,
    /// Log files that are open, for who writes some of them too. Default: none.
    pub log_files: LogFiles,
    /// The filters that routes of an `eskip` handler may have. Default: all that there are; add more to
    /// these, since `Filters::default()` has none that needs sockets, files or timers.
    pub filters: Filters,
    /// The predicates that they may have. Default: all that there are, with the time zone of the system for `Cron`.
    pub predicates: Predicates,
    /// Where the routes of an `eskip` handler may come from beside files, texts and URLs: it names the source. Default:
    /// none.
    pub route_sources: Vec<Arc<dyn RouteSource>>,
    /// Sources of hosts of the program that the proxy is part of, beside those that the configuration names; at most one of a
    /// kind, and none of a kind that the configuration has. Their hosts are served by servers with `route_sources`. Default:
    /// none.
    pub host_sources: Vec<(Kind, Snapshots)>,
    /// What the placeholders `{env.NAME}` stand for. Default: nothing.
    pub environment: Environment,
}

/// A proxy whose configuration is compiled and whose sockets are bound.
///
/// Connections that come between [`Proxy::build`] and [`Proxy::run`] wait in the sockets' queues.
#[derive(Debug)]
pub struct Proxy {
    reconciler: Arc<Reconciler>,
    shared: Arc<Snapshot<View>>,
    threads: Vec<Thread>,
    embedded: Arc<Worker>,
    resolvers: Arc<ResolverSet>,
    prober: Arc<Prober>,
    consuls: Arc<Consuls>,
    geo: Arc<Sources>,
    certificates: Arc<Certificates>,
    host_sources: Vec<(Kind, Snapshots)>,
    warnings: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Everything in flight was finished within the grace period.
    pub drained: bool,
    /// Connections that were still open when the grace period ended.
    pub connections_left: usize,
    /// Requests that were still in flight then.
    pub requests_left: usize,
    /// Workers that ended before they were asked to. Not 0 is a fault.
    pub workers_failed: usize,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: 1,
            data_dir: None,
            listen: true,
            dns_floor: Duration::from_secs(1),
            dns_ceiling: Duration::from_secs(30),
            bare_line_feeds: false,
            strict: false,
            log_files: LogFiles::default(),
            filters: filters::registry(&Means::default()),
            predicates: Predicates::new(TimeZone::system()),
            route_sources: Vec::new(),
            host_sources: Vec::new(),
            environment: Environment::default(),
        }
    }
}

// === impl Proxy ===

impl Proxy {
    /// Compiles `config` and binds its addresses.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, all at once; then nothing stays bound.
    pub fn build(config: &Config, options: &Options) -> Result<Self, BuildErrors> {
        let shared = Arc::new(Snapshot::new(View::default()));
        let surroundings = surroundings(options)?;
        let mut workers = Vec::new();
        let mut new_worker = || {
            let metrics = Arc::clone(&surroundings.metrics);
            let places = Arc::clone(surroundings.resolvers.places());
            let worker = Arc::new(Worker::new(workers.len(), Arc::clone(&shared), metrics, places));
            surroundings.slots.add_worker(Arc::clone(&worker.tally));
            workers.push(Arc::clone(&worker));
            worker
        };
        let count = if options.listen { options.workers.max(1) } else { 0 };
        let (threads, channels) = (0..count).map(|_| Thread::new(new_worker())).unzip();
        let embedded = new_worker();
        let (resolvers, prober, consuls, geo, certificates) = (
            Arc::clone(&surroundings.resolvers),
            Arc::clone(&surroundings.prober),
            Arc::clone(&surroundings.consuls),
            Arc::clone(&surroundings.geo),
            Arc::clone(&surroundings.certificates),
        );
        let metrics = Arc::clone(&surroundings.metrics);
        let views = Arc::downgrade(&shared);
        surroundings.certificates.host_keys().ask(move |name| {
            let view = views.upgrade()?.current();
            Some(view.hosts.get(name)?.key()?.current())
        });
        let given = options.host_sources.iter().map(|(kind, _)| *kind).collect();
        let reconciler = Reconciler::new(surroundings, Arc::clone(&shared), workers, channels, given);
        let applied = reconciler.begin(config)?;
        let reconciler = Arc::new(reconciler);
        metrics.ask(Arc::downgrade(&reconciler) as _);
        Ok(Self {
            embedded,
            reconciler,
            shared,
            threads,
            resolvers,
            prober,
            consuls,
            geo,
            certificates,
            host_sources: options.host_sources.clone(),
            warnings: applied.warnings,
        })
    }

    /// Compiles `config` as [`Proxy::build`] does, without binding. Certificates are read and logs opened.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, all at once.
    pub fn check(config: &Config, options: &Options) -> Result<Vec<String>, BuildErrors> {
        Ok(compile::compile(config, &surroundings(options)?)?.warnings)
    }

    /// What `config` would do with a request: the way of a real one through the same compiled routes, but nothing is
    /// sent, logged or bound. Passwords are compared; names are not looked up.
    ///
    /// # Errors
    ///
    /// A configuration that would not run, or a URL that no server would get.
    pub async fn explain(
        config: &Config,
        options: &Options,
        inquiry: &Inquiry,
    ) -> Result<Explanation, ExplainError> {
        explain::explain(config, &surroundings(options)?, inquiry).await
    }

    /// Replaces the configuration while the proxy runs. Get it before [`Proxy::run`].
    pub fn control(&self) -> Control {
        Control(Arc::clone(&self.reconciler))
    }

    /// What replaces what runs.
    #[cfg(test)]
    pub(crate) fn reconciler(&self) -> Arc<Reconciler> {
        Arc::clone(&self.reconciler)
    }

    /// The TCP addresses that are listened on, with the ports that the system chose for port 0.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.reconciler.tcp_addresses()
    }

    /// What works but should be looked at, such as overlapping CIDRs.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The root certificate of the internal authority in DER form, if a site uses it.
    pub fn internal_root(&self) -> Option<Vec<u8>> {
        self.certificates.internal_root().map(|root| root.to_vec())
    }

    /// A handler for another server's runtime: it answers as the server `name` of the configuration does
    /// (`srv0` is the first of a Caddyfile), and is a tower service, which axum can mount. `None` if there is no such
    /// server.
    ///
    /// [`Proxy::run`] must run beside it, in the same runtime: it looks names up, asks for routes that are elsewhere, checks
    /// upstreams and closes idle connections. Without it requests are still answered, but only by what the configuration
    /// itself has: addresses, not names, and routes that stand in files or in the configuration.
    pub fn handler(&self, name: &str) -> Option<Handler> {
        let view = self.shared.current();
        let known = view.servers.iter().any(|server| server.name == name);
        known.then(|| Handler::named(Arc::clone(&self.embedded), name))
    }

    /// A reader of the counters, which outlives the run.
    pub fn stats(&self) -> impl Fn() -> Stats + Send + Sync + 'static {
        let workers = self
            .threads
            .iter()
            .map(|thread| thread.worker())
            .chain([&self.embedded]);
        let counters: Vec<_> = workers.map(|worker| Arc::clone(&worker.counters)).collect();
        move || {
            let mut sum = Stats::default();
            counters.iter().for_each(|counters| counters.add_to(&mut sum));
            sum
        }
    }

    /// Serves until `stop` is cancelled, then accepts nothing more, lets what is in flight finish within
    /// the grace period and says what was left. Needs a tokio runtime with time and I/O; requests run on
    /// the workers' own threads.
    ///
    /// If the future is dropped, the workers drain on their own.
    pub async fn run(self, stop: CancellationToken) -> Report {
        for warning in &self.warnings {
            warn!("{warning}");
        }
        for address in self.reconciler.addresses() {
            info!(%address, "listening");
        }
        let closing = CancellationToken::new();
        let _workers_stop_when_dropped = closing.clone().drop_guard();
        let background = CancellationToken::new();
        let mut looked_after = pin!(async {
            tokio::join!(
                Arc::clone(&self.resolvers).run(background.clone()),
                Arc::clone(&self.prober).run(background.clone()),
                Arc::clone(&self.consuls).run(background.clone()),
                Arc::clone(&self.geo).run(background.clone()),
                Arc::clone(&self.certificates).run(background.clone()),
                Arc::clone(&self.reconciler).run(background.clone()),
                Arc::clone(&self.reconciler).follow_routes(background.clone()),
                Arc::clone(&self.reconciler).follow_host_keys(background.clone()),
                Arc::clone(&self.reconciler).run_sources(self.host_sources, background.clone()),
                Arc::clone(&self.embedded).sweep(background.clone()),
            );
        });
        let ending = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.reconciler.stopped() => {}
                () = closing.cancelled() => {}
            }
            self.reconciler.stop();
            let delay = self.reconciler.announce_stop();
            if !delay.is_zero() {
                info!(?delay, "listeners stay open before they close");
                closing.run_until_cancelled(time::sleep(delay)).await;
            }
            closing.cancel();
            self.reconciler.close().await;
            std::future::pending::<()>().await;
        };
        // Requests that wait in the sockets' queues are to find what was known before.
        self.geo.restore().await;
        // The same for hosts, but sources that say nothing are not waited for long.
        tokio::select! {
            _ = time::timeout(FIRST_ROUTES, self.reconciler.complete()) => {}
            () = stop.cancelled() => {}
            () = looked_after.as_mut() => {}
        }
        let (ended, mut reports) = mpsc::unbounded_channel();
        for thread in self.threads {
            thread.start(closing.clone(), ended.clone());
        }
        self.reconciler.threads_start();
        drop(ended);
        let served = async {
            let mut sum = Report {
                drained: true,
                ..Report::default()
            };
            while let Some(report) = reports.recv().await {
                if report.workers_failed > 0 {
                    // The others would serve on, but on a part of the connections nobody answers.
                    closing.cancel();
                }
                sum = sum.and(report);
            }
            closing.cancelled().await;
            sum.and(thread::drain(&self.embedded).await)
        };
        let report = tokio::select! {
            report = served => report,
            () = ending => Report::default(),
            () = looked_after.as_mut() => Report { workers_failed: 1, ..Report::default() },
        };
        // What sources gave is kept for the next start.
        background.cancel();
        self.reconciler.end_sources(LAST_ROUTES).await;
        report
    }
}

/// The longest time that sources of routes get for the first that they say, before requests are accepted.
const FIRST_ROUTES: Duration = Duration::from_secs(10);

/// The longest time that they get for what they have to do at the end.
const LAST_ROUTES: Duration = Duration::from_secs(2);

fn surroundings(options: &Options) -> Result<Surroundings, BuildErrors> {
    let settings = ResolveSettings::default()
        .with_floor(options.dns_floor)
        .with_ceiling(options.dns_ceiling);
    Ok(Surroundings {
        resolvers: Arc::new(ResolverSet::new(settings)),
        certificates: Arc::new(compile::certificates(options.data_dir.clone())?),
        log_files: options.log_files.clone(),
        // One more is for requests of another server.
        metrics: Arc::new(Metrics::new(options.workers.max(1) + 1)),
        passwords: Arc::default(),
        slots: Slots::default(),
        prober: Arc::default(),
        breakers: Arc::default(),
        sheds: Arc::default(),
        backend_limits: Arc::default(),
        gates: Arc::default(),
        directories: Directories::default(),
        consuls: Arc::default(),
        geo: Arc::new(Sources::new(
            options.data_dir.as_deref(),
            &options.environment,
            options.workers.max(1) + 1,
        )),
        skipper: Arc::new(skipper::source::Sources::new(&options.route_sources)),
        filters: options.filters.clone(),
        predicates: options.predicates.clone(),
        environment: options.environment.clone(),
        data: options.data_dir.clone(),
        plain: Arc::default(),
        bare_line_feeds: options.bare_line_feeds,
        strict: options.strict,
    })
}

// === impl Report ===

impl Report {
    fn and(self, other: Self) -> Self {
        Self {
            drained: self.drained && other.drained,
            connections_left: self.connections_left + other.connections_left,
            requests_left: self.requests_left + other.requests_left,
            workers_failed: self.workers_failed + other.workers_failed,
        }
    }
}

#[cfg(test)]
mod many_hosts;
