//! `cargo xtask shipwick`: what clients notice while an agent rolls an application out, over and over, takes rollouts
//! back half-way, stops it, and loses a replica; with Doorway and, if it is here, with Caddy.
//!
//! The agent is shipwick-routes: each swap returns when the proxy has the routes, then the predecessor is told to stop.
//! It finishes what it is doing, and closes its idle connections. Clients open a connection for every fifth request.

mod agent;
mod clients;
mod replica;

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::contest::{Choice, Contender, Kind, free_port};
use crate::count::Count;
use crate::metadata::Metadata;
use agent::Agent;
use clients::Clients;

/// The replicas of the application.
const REPLICAS: usize = 4;

/// The time from one step of a rollout to the next: a container starts and passes its first check.
const STEP: Duration = Duration::from_millis(120);

/// How long clients look at what follows a stop or a crash.
const AFTER: Duration = Duration::from_secs(3);

/// How often.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many rollouts succeed, and how many are taken back half-way.
    #[arg(long, default_value_t = 20)]
    rollouts: u32,
    /// How many replicas crash.
    #[arg(long, default_value_t = 5)]
    crashes: u32,
    #[command(flatten)]
    choice: Choice,
}

/// Rolls out, and prints what was noticed. Fails if a client of Doorway noticed what it should not.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let directory = metadata.target_directory.join("shipwick");
    let mut unnoticed = true;
    for contender in options.choice.contenders(&metadata)? {
        let clean = measure(&contender, &directory.join(contender.kind.name()), options)?;
        unnoticed &= contender.kind != Kind::Doorway || clean;
    }
    ensure!(unnoticed, "clients of Doorway noticed what they should not");
    Ok(ExitCode::SUCCESS)
}

/// Whether nothing was lost that need not be.
fn measure(contender: &Contender, directory: &Path, options: &Options) -> Result<bool> {
    let port = free_port()?;
    let socket = directory.join("admin.sock");
    let caddyfile = format!(
        "{{\n\tadmin unix/{}\n\tpersist_config off\n}}\nhttp://:{port} {{\n\tbind 127.0.0.1\n\trespond 404\n}}\n",
        socket.display()
    );
    let mut proxy = contender.start(directory, &caddyfile, port)?;
    let mut agent = Agent::start(&socket, port)?;
    println!("{}:", contender.kind.name());
    let mut clean = true;

    let redeploys = watched(port, || {
        (0..options.rollouts).try_for_each(|_| agent.redeploy(STEP))
    })?;
    println!("  {:>3} redeploys  {redeploys}", options.rollouts);
    let rollbacks = watched(port, || {
        (0..options.rollouts).try_for_each(|_| agent.roll_back(STEP))
    })?;
    println!("  {:>3} rollbacks  {rollbacks}", options.rollouts);
    clean &= redeploys.failures() == 0 && rollbacks.failures() == 0;

    let stops = watched(port, || {
        agent.stop()?;
        thread::sleep(AFTER);
        agent.start_again()
    })?;
    println!("  a stop         {stops}");
    // Those that are told so, and nobody else.
    clean &= stops.failed.keys().all(|reason| reason == clients::UNAVAILABLE);

    let mut in_flight = 0;
    let crashes = watched(port, || {
        for _ in 0..options.crashes {
            // The one that dies has something to do.
            thread::sleep(STEP * 4);
            in_flight += agent.crash()?;
            thread::sleep(AFTER);
            agent.replace_crashed()?;
        }
        Ok(())
    })?;
    println!(
        "  {:>3} crashes    {crashes} ({in_flight} in flight on the replicas that died)",
        options.crashes
    );
    clean &= crashes.failures() <= in_flight;
    proxy.must_run()?;
    agent.end();
    Ok(clean)
}

/// What clients count while `work` is done.
fn watched(port: u16, work: impl FnOnce() -> Result<()>) -> Result<Count> {
    let clients = Clients::start(port);
    let done = work();
    let count = clients.end();
    done.map(|()| count)
}
