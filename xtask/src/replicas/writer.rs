//! Whoever writes routes: through each replica in turn, each write until one acknowledges it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::replica::{Door, Revision};

/// Hosts that are only ever rewritten, so that there is always somebody to answer for them.
pub(super) const LASTING: u64 = 100;

/// Hosts that are deleted, too.
const PASSING: u64 = 40;

/// How long a write is tried again.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// A write that was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) host: String,
    /// Its number, or nothing if it deleted the host.
    pub(super) value: Option<u64>,
    pub(super) revision: Revision,
}

/// It knows what was written, and what is to be there.
#[derive(Debug)]
pub(super) struct Writer {
    doors: Vec<Door>,
    origin: SocketAddr,
    random: u64,
    pub(super) done: Vec<Written>,
    /// Tries that were not acknowledged, and were made again through another replica.
    pub(super) refused: u64,
    /// Hosts whose write was not acknowledged at first. It may come late, so nobody writes them again for a while.
    pub(super) doubtful: BTreeSet<String>,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(doors: Vec<Door>, origin: SocketAddr, seed: u64) -> Self {
        Self {
            doors,
            origin,
            random: seed,
            done: Vec::new(),
            refused: 0,
            doubtful: BTreeSet::new(),
        }
    }

    /// The next write, the first ones to each host that lasts.
    pub(super) fn write(&mut self) -> Result<Written> {
        let number = self.done.len() as u64;
        let (host, value) = if number < LASTING {
            (lasting(number), Some(number))
        } else {
            self.choose(number)
        };
        let begin = Instant::now();
        let revision = loop {
            let turn = number + self.refused;
            if let Some(revision) = self.attempt(turn, &host, value) {
                break revision;
            }
            self.refused += 1;
            self.doubtful.insert(host.clone());
            ensure!(begin.elapsed() < PATIENCE, "nobody takes a write of {host}");
            thread::sleep(PAUSE);
        };
        let written = Written {
            host,
            value,
            revision,
        };
        self.done.push(written.clone());
        Ok(written)
    }

    /// What was written last to each host.
    pub(super) fn expected(&self) -> BTreeMap<String, Written> {
        let all = self.done.iter();
        all.map(|written| (written.host.clone(), written.clone()))
            .collect()
    }

    fn choose(&mut self, number: u64) -> (String, Option<u64>) {
        loop {
            let (pick, kind) = (self.random(), self.random());
            let (host, value) = match kind % 8 {
                0 => (passing(pick), None),
                1 | 2 => (passing(pick), Some(number)),
                _ => (lasting(pick % LASTING), Some(number)),
            };
            let is_there = || {
                let last = self.done.iter().rev().find(|written| written.host == host);
                last.is_some_and(|last| last.value.is_some())
            };
            if !self.doubtful.contains(&host) && (value.is_some() || is_there()) {
                return (host, value);
            }
        }
    }

    /// The revision of the write, if it was acknowledged.
    fn attempt(&self, turn: u64, host: &str, value: Option<u64>) -> Option<Revision> {
        let index = usize::try_from(turn % self.doors.len() as u64).unwrap_or_default();
        let door = self.doors.get(index)?;
        let path = format!("/routes/{host}");
        let asked = match value {
            Some(number) => door.ask("PUT", &path, &self.document(host, number)),
            None => door.ask("DELETE", &path, ""),
        };
        match asked.ok()? {
            (200, said) => Revision::read(said.get("revision")?),
            // An earlier try has deleted it, though nobody was told.
            (404, _) if value.is_none() => door.stored(),
            _ => None,
        }
    }

    fn document(&self, host: &str, number: u64) -> String {
        format!(
            "{{\"host\": \"{host}\", \"upstreams\": [{{\"address\": \"{}\"}}], \
             \"headers\": {{\"response\": {{\"set\": [{{\"name\": \"X-Write\", \"value\": \"{number}\"}}]}}}}}}",
            self.origin
        )
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

pub(super) fn lasting(number: u64) -> String {
    format!("host-{number}.test")
}

fn passing(pick: u64) -> String {
    format!("now-and-then-{}.test", pick % PASSING)
}
