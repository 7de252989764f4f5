//! What an idle connection costs: the growth of the proxy's memory with ten thousand of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::launch::{Running, pinned};
use super::meter::{self, Clocks};
use super::peers::{MANY, Peer, Place};
use super::report::{Row, Sample};

/// Connections that are held.
const CONNECTIONS: usize = 10_000;

/// Connections before the first look at the memory, so that what a proxy allocates once does not count.
const WARM: usize = 64;

/// How long a proxy may take to give back what it can.
const SETTLE: Duration = Duration::from_secs(2);

/// The client that holds the connections, a process of its own.
#[derive(Debug, clap::Args)]
pub(crate) struct ClientOptions {
    /// The proxy.
    target: SocketAddr,
}

/// What the client reports when all connections are open.
#[derive(Debug, Serialize, Deserialize)]
struct Opened {
    connections: usize,
    seconds: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Opens connections, one request each, and holds them until its input ends.
pub(crate) fn client(options: &ClientOptions) -> Result<ExitCode> {
    let mut held = Vec::with_capacity(CONNECTIONS + WARM);
    open(options.target, WARM, &mut held)?;
    println!("warm");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let start = Instant::now();
    let mut times = open(options.target, CONNECTIONS, &mut held)?;
    times.sort_unstable();
    let at = |percent: usize| {
        times
            .get(times.len() * percent / 100)
            .map_or(0.0, |time| time.as_secs_f64() * 1e6)
    };
    let seconds = start.elapsed().as_secs_f64();
    let opened = Opened {
        connections: times.len(),
        seconds,
        p50_us: at(50),
        p99_us: at(99),
    };
    println!("{}", serde_json::to_string(&opened)?);
    std::io::stdin().lock().read_line(&mut String::new())?;
    drop(held);
    Ok(ExitCode::SUCCESS)
}

/// Opens `count` connections and gives the time that each took, its first answer included.
fn open(target: SocketAddr, count: usize, held: &mut Vec<TcpStream>) -> Result<Vec<Duration>> {
    let request = format!("GET /128 HTTP/1.1\r\nHost: {target}\r\n\r\n");
    let mut buffer = [0; 4096];
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let start = Instant::now();
        let mut stream = TcpStream::connect(target).with_context(|| format!("connection {number}"))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        while !answer.ends_with(&[b'x'; 128]) {
            let count = stream.read(&mut buffer)?;
            ensure!(count > 0, "connection {number} was closed");
            answer.extend_from_slice(&buffer[..count]);
        }
        times.push(start.elapsed());
        held.push(stream);
    }
    Ok(times)
}

/// Measures one proxy, freshly started.
pub(crate) fn measure(peer: &Peer, place: &Place, target: &Path) -> Result<Row> {
    let server = peer.start(place, MANY)?;
    let mut command = pinned(place.lane.load, &target.join("release/xtask"));
    command.args(["idle", &format!("127.0.0.1:{}", server.ports.plain)]);
    let mut client = Running::start(
        "idle-client",
        {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command
        },
        &place.directory,
    )?;
    let mut input = client.child().stdin.take().context("no pipe to the client")?;
    let mut output = BufReader::new(client.child().stdout.take().context("no pipe from the client")?);
    let mut next = || -> Result<String> {
        let mut line = String::new();
        output.read_line(&mut line)?;
        Ok(line)
    };
    ensure!(
        next()?.trim() == "warm",
        "{}: {}",
        peer.proxy,
        client.last_words()
    );
    let pids = server.pids();
    let (before, clocks) = (meter::rss_kib(&pids), Clocks::read(&pids, &client.pids())?);
    writeln!(input)?;
    let line = next()?;
    let spent = Clocks::read(&pids, &client.pids())?.since(&clocks);
    let opened: Opened =
        serde_json::from_str(&line).with_context(|| format!("{}: {}", peer.proxy, client.last_words()))?;
    thread::sleep(SETTLE);
    let after = meter::rss_kib(&pids);
    let each = (after.saturating_sub(before)) as f64 / opened.connections as f64;
    let sample = Sample {
        cpu_us: spent.proxy_us / opened.connections as f64,
        rps: opened.connections as f64 / opened.seconds,
        p50_ms: opened.p50_us / 1000.0,
        p99_ms: opened.p99_us / 1000.0,
        rss_mib: after as f64 / 1024.0,
        proxy_cpu: spent.proxy_share,
        foreign_cpu: spent.foreign,
        errors: 0.0,
    };
    let row = Row::idle(peer.proxy, sample, each);
    println!("{row}");
    Ok(row)
}
