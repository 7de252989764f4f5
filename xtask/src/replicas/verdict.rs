//! What is there at the end, and what should be.

use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::replica::{Door, Revision};
use super::writer::{Writer, Written};
use crate::count::read_head;

/// Tables that still differ by then stay so.
const PATIENCE: Duration = Duration::from_secs(30);

/// What replicas had seen of a store that is gone.
#[derive(Debug, Default)]
pub(super) struct Seen {
    each: Vec<Revision>,
}

/// What was found.
#[derive(Debug, Default)]
struct Found {
    /// What a replica serves is not what was written last.
    lost: Vec<String>,
    /// The same, but the store was gone before any replica had seen it.
    unseen: Vec<String>,
    /// A host was deleted, and not every replica had seen that when the store was gone.
    revived: Vec<String>,
}

// === impl Seen ===

impl Seen {
    pub(super) fn of(doors: &[Door]) -> Self {
        Self {
            each: doors.iter().filter_map(Door::applied).collect(),
        }
    }

    /// Whether a write of the store that is gone had reached somebody.
    fn by_any(&self, written: &Written) -> bool {
        self.counts(written) != Some(0)
    }

    fn by_all(&self, written: &Written) -> bool {
        self.counts(written).is_none_or(|count| count == self.each.len())
    }

    /// How many have seen it; `None` if it was written to another store.
    fn counts(&self, written: &Written) -> Option<usize> {
        let is_old = self.each.first()?.epoch == written.revision.epoch;
        let count = self
            .each
            .iter()
            .filter(|seen| seen.has(&written.revision))
            .count();
        is_old.then_some(count)
    }
}

/// Prints what became of all writes. Whether nothing was lost.
pub(super) fn told(writer: &Writer, doors: &[Door], seen: &Seen) -> Result<bool> {
    let (hosts, same) = same_table(doors)?;
    let found = found(writer, doors, seen)?;
    let tell = |what: &str, hosts: &[String]| {
        println!("  {:<14} {}", what, hosts.len());
        hosts.iter().take(10).for_each(|host| println!("    {host}"));
    };
    println!(
        "  tables         {}, of {hosts} hosts",
        if same { "the same" } else { "NOT the same" }
    );
    println!("  acknowledged   {}", writer.done.len());
    tell("lost", &found.lost);
    tell("lost unseen", &found.unseen);
    tell("revived", &found.revived);
    Ok(same && found.lost.is_empty())
}

/// Whether all replicas say the same of all hosts.
fn same_table(doors: &[Door]) -> Result<(usize, bool)> {
    let begin = Instant::now();
    loop {
        let tables = doors.iter().map(Door::table).collect::<Result<Vec<_>>>()?;
        let (hosts, _) = tables.first().copied().unwrap_or_default();
        let same = tables.windows(2).all(|pair| pair.first() == pair.last());
        if same || begin.elapsed() > PATIENCE {
            return Ok((hosts, same));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Asks every replica for every host.
fn found(writer: &Writer, doors: &[Door], seen: &Seen) -> Result<Found> {
    let mut found = Found::default();
    for (host, written) in writer.expected() {
        let served = doors
            .iter()
            .map(|door| door.serves(&host))
            .collect::<Result<Vec<_>, _>>()?;
        if served.iter().all(|served| *served == written.value) {
            continue;
        }
        let what = format!("{host}: wanted {:?}, served {served:?}", written.value);
        if !seen.by_any(&written) {
            found.unseen.push(what);
        } else if written.value.is_none() && !seen.by_all(&written) {
            found.revived.push(what);
        } else {
            found.lost.push(what);
        }
    }
    ensure!(!writer.done.is_empty(), "nothing was written");
    Ok(found)
}

/// A server that says `ok`, for as long as this process runs.
pub(super) fn origin() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                while read_head(&mut stream).is_ok() && stream.get_mut().write_all(answer).is_ok() {}
            });
        }
    });
    Ok(address)
}

/// An address that nobody asks.
pub(super) fn nowhere() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}
