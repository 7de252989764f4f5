//! The project's own tasks, run as `cargo xtask <task>`.
//!
//! `ci` is everything a change must pass; `tidy`, `codegen`, `test`, `consul`, `skipper`, `fuzz`, `bench`, `chaos`,
//! `names`, `stall`, `reload`, `replicas`, `shipwick` and `wire` are its parts and its relatives.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for the terminal speaks through it"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a tool reads its environment, measures time and waits for processes"
)]

mod bench;
mod chaos;
mod ci;
mod codegen;
mod consul;
mod contest;
mod count;
mod fuzz;
mod metadata;
mod names;
mod process;
mod reload;
mod replicas;
mod shipwick;
mod skipper;
mod stall;
mod test;
mod tidy;
mod wire;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The tasks of the Doorway workspace")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Everything that a change must pass, in order of cost; stops at the first failure.
    Ci,
    /// Checks what compilers do not: crate and module edges, sizes, licences, debris.
    Tidy,
    /// Writes the parts of the documents that code knows better.
    Codegen(codegen::Options),
    /// The whole test suite, and what this machine could not run.
    Test,
    /// Unpacks a Consul agent for the tests into `target/tools`, from Debian.
    Consul,
    /// Builds Skipper for the comparison with it into `target/tools`, with Go; takes minutes, so no part of `ci`.
    Skipper,
    /// Runs the fuzz targets for a while each.
    Fuzz(fuzz::Options),
    /// Doorway beside nginx, HAProxy and Caddy: CPU per request, latency, memory.
    Bench(bench::Options),
    /// What clients notice while upstreams misbehave, with Doorway and with Caddy.
    Chaos(chaos::Options),
    /// What clients notice of a resolver in trouble, with Doorway and with Caddy.
    Names(names::Options),
    /// What the proxy holds in memory of large messages that do not go on, with Doorway and with Caddy.
    Stall(stall::Options),
    /// What clients notice of 500 reloads, with Doorway and with Caddy.
    Reload(reload::Options),
    /// Three Doorways that share a store of routes, which is restarted, cut off and replaced by an empty one.
    Replicas(replicas::Options),
    /// What clients notice of rollouts by shipwick-routes, and of what goes wrong, with Doorway and with Caddy.
    Shipwick(shipwick::Options),
    /// Requests well-formed and not: what Doorway, nginx, HAProxy and Caddy make of them.
    Wire(wire::Options),
    /// The server that the bench puts behind the proxies.
    #[command(hide = true)]
    Origin,
    /// Holds many idle connections open.
    #[command(hide = true)]
    Idle(bench::idle::ClientOptions),
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Ci => ci::run(),
        Task::Tidy => tidy::run(),
        Task::Codegen(options) => codegen::run(options),
        Task::Test => test::run(),
        Task::Consul => consul::run(),
        Task::Skipper => skipper::run(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Chaos(options) => chaos::run(&options),
        Task::Names(options) => names::run(&options),
        Task::Stall(options) => stall::run(&options),
        Task::Reload(options) => reload::run(&options),
        Task::Replicas(options) => replicas::run(&options),
        Task::Shipwick(options) => shipwick::run(&options),
        Task::Wire(options) => wire::run(&options),
        Task::Origin => bench::origin::serve(),
        Task::Idle(options) => bench::idle::client(&options),
    }
}
