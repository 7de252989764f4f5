//! Runs of one workload, round-robin between the proxies.

use anyhow::Result;

use super::load::Load;
use super::meter::{self, Clocks};
use super::origin::Origin;
use super::peers::{Place, Server};
use super::report::{Row, Sample};
use super::workload::{Ask, Workload};

/// Foreign CPU above which a run is repeated, in CPUs.
const QUIET: f64 = 0.12;

/// How often a disturbed run is repeated at most.
const REPEATS: usize = 2;

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    runs: usize,
    seconds: u32,
}

/// One row in the making.
struct Lane<'a> {
    server: &'a Server,
    ask: Ask,
    samples: Vec<Sample>,
}

// === impl Pace ===

impl Pace {
    /// For figures to compare.
    pub(crate) const FULL: Self = Self { runs: 3, seconds: 5 };
    /// To see that it works.
    pub(crate) const QUICK: Self = Self { runs: 3, seconds: 2 };
}

/// Measures `workload` on all servers that have a place for it.
pub(crate) fn run(
    workload: Workload,
    servers: &[Server],
    origin: &Origin,
    place: &Place,
    pace: Pace,
) -> Result<Vec<Row>> {
    let asks = |server| {
        move |ask| Lane {
            server,
            ask,
            samples: Vec::new(),
        }
    };
    let mut lanes: Vec<Lane<'_>> = servers
        .iter()
        .flat_map(|server| workload.asks(server).into_iter().map(asks(server)))
        .collect();
    for server in servers.iter().filter(|server| workload.asks(server).is_empty()) {
        println!("cannot: {workload} with {}", server.proxy);
    }
    for lane in &lanes {
        Load::run(&lane.ask, 1, place)?;
    }
    for _ in 0..pace.runs {
        for lane in &mut lanes {
            lane.samples
                .push(lane.measure_quietly(origin, place, pace.seconds)?);
        }
    }
    let rows: Vec<Row> = lanes
        .iter()
        .filter_map(|lane| Row::median(lane.ask.name, lane.server.proxy, &lane.samples))
        .collect();
    for row in &rows {
        println!("{row}");
    }
    Ok(rows)
}

// === impl Lane ===

impl Lane<'_> {
    /// Repeats a run while others use the machine, and keeps the quietest.
    fn measure_quietly(&self, origin: &Origin, place: &Place, seconds: u32) -> Result<Sample> {
        let mut best = self.measure(origin, place, seconds)?;
        for _ in 0..REPEATS {
            if best.foreign_cpu <= QUIET {
                break;
            }
            let next = self.measure(origin, place, seconds)?;
            if next.foreign_cpu < best.foreign_cpu {
                best = next;
            }
        }
        Ok(best)
    }

    fn measure(&self, origin: &Origin, place: &Place, seconds: u32) -> Result<Sample> {
        let (proxy, helpers) = (self.server.pids(), place.helpers(origin));
        let before = Clocks::read(&proxy, &helpers)?;
        let counted = Load::run(&self.ask, seconds, place)?;
        let spent = Clocks::read(&proxy, &helpers)?.since(&before);
        Ok(Sample {
            cpu_us: spent.proxy_us / counted.requests,
            rps: counted.rps,
            p50_ms: counted.p50_us / 1000.0,
            p99_ms: counted.p99_us / 1000.0,
            rss_mib: meter::rss_kib(&proxy) as f64 / 1024.0,
            proxy_cpu: spent.proxy_share,
            foreign_cpu: spent.foreign,
            errors: counted.errors,
        })
    }
}
