//! What the replicas go through.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};

use super::clients::Clients;
use super::network::Weather;
use super::replica::{Door, Replica, Revision};
use super::server::{Kind, Server};
use super::verdict::{self, Seen};
use super::writer::{LASTING, Writer, Written};

/// Replicas that share the store.
const REPLICAS: usize = 3;

/// How long the store is away, and how long a replica is cut off in each way.
const AWAY: Duration = Duration::from_secs(3);

/// The time between two writes while there is trouble.
const PAUSE: Duration = Duration::from_millis(15);

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// Who has not come to the same routes by then never does.
const PATIENCE: Duration = Duration::from_secs(90);

/// Everything that runs.
#[derive(Debug)]
pub(super) struct Trial {
    kind: Kind,
    program: PathBuf,
    directory: PathBuf,
    store: Server,
    replicas: Vec<Replica>,
    writer: Writer,
    /// What the replicas had seen of the first store when it was gone for good.
    seen: Seen,
}

// === impl Trial ===

impl Trial {
    pub(super) fn start(
        binary: &Path,
        kind: Kind,
        program: &Path,
        directory: &Path,
        seed: u64,
    ) -> Result<Self> {
        let store = Server::start(kind, program, directory.join("first"))?;
        let one = |number| {
            Replica::start(
                binary,
                &directory.join(format!("replica-{number}")),
                kind,
                store.port(),
            )
        };
        let replicas = (0..REPLICAS).map(one).collect::<Result<Vec<_>>>()?;
        let doors = replicas.iter().map(|replica| replica.door.clone()).collect();
        Ok(Self {
            kind,
            program: program.to_owned(),
            directory: directory.to_owned(),
            writer: Writer::new(doors, verdict::origin()?, seed),
            store,
            replicas,
            seen: Seen::default(),
        })
    }

    /// Whether nothing was lost.
    pub(super) fn run(mut self, writes: u64) -> Result<bool> {
        let mut quiet = Vec::new();
        for _ in 0..LASTING {
            quiet.push(self.measured()?);
        }
        let clients = Clients::start(&self.doors());
        for _ in LASTING..writes / 4 {
            quiet.push(self.measured()?);
        }
        quiet.sort_unstable();
        let middle = quiet.get(quiet.len() / 2).copied().unwrap_or_default();
        println!(
            "  quiet          {} writes reach every replica in {middle:.1?} (median), {:.1?} (max)",
            quiet.len(),
            quiet.last().copied().unwrap_or_default()
        );
        let part = (writes - writes / 4) / 3;
        self.under(part, "restart", Self::restart)?;
        self.under(part, "partition", Self::partition)?;
        self.under(writes - writes / 4 - 2 * part, "failover", Self::fail_over)?;
        for replica in &mut self.replicas {
            replica.must_run()?;
        }
        let requests = clients.end();
        println!("  requests       {requests}");
        let is_whole = verdict::told(&self.writer, &self.doors(), &self.seen)?;
        Ok(is_whole && requests.failures() == 0 && requests.done > 0)
    }

    fn doors(&self) -> Vec<Door> {
        self.replicas.iter().map(|replica| replica.door.clone()).collect()
    }

    /// Writes once: the time from the acknowledgement until requests see it at every replica.
    fn measured(&mut self) -> Result<Duration> {
        let written = self.writer.write()?;
        let begin = Instant::now();
        for replica in &self.replicas {
            while replica.door.serves(&written.host)? != written.value {
                ensure!(begin.elapsed() < PATIENCE, "{} is not served", written.host);
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(begin.elapsed())
    }

    /// Makes so many writes while there is trouble, which gives the moment of its end.
    fn under(
        &mut self,
        writes: u64,
        name: &str,
        trouble: impl FnOnce(&mut Self, &AtomicU64) -> Result<Instant>,
    ) -> Result<()> {
        let done = AtomicU64::new(0);
        let doors = self.doors();
        let mut writer = std::mem::replace(&mut self.writer, Writer::new(Vec::new(), verdict::nowhere(), 0));
        let refused = writer.refused;
        let (written, time) = thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let written = write_all(&mut writer, writes, &done);
                // Whoever waits for a number of writes waits no longer.
                done.store(u64::MAX, Ordering::Relaxed);
                written
            });
            let time = trouble(self, &done).and_then(|end| converged(&doors, end));
            let written = writing.join().map_err(|_| anyhow!("the writer panicked"));
            (written.and_then(|written| written), time)
        });
        self.writer = writer;
        written?;
        println!(
            "  {name:<14} {writes} writes, {} tries were not acknowledged; all replicas were up to date {:.0?} after its end",
            self.writer.refused - refused,
            time?
        );
        // What was doubtful has come by now, or never will.
        let last = self.writer.done.last().cloned().context("nothing was written")?;
        self.reached(&last)?;
        self.writer.doubtful.clear();
        Ok(())
    }

    fn reached(&self, written: &Written) -> Result<()> {
        let begin = Instant::now();
        for replica in &self.replicas {
            while !replica
                .door
                .applied()
                .is_some_and(|applied| applied.has(&written.revision))
            {
                ensure!(
                    begin.elapsed() < PATIENCE,
                    "a replica does not reach {:?}",
                    written.revision
                );
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// The store crashes, and begins again with what it had.
    fn restart(&mut self, done: &AtomicU64) -> Result<Instant> {
        wait_for(done, 30);
        self.store.crash()?;
        thread::sleep(AWAY);
        self.store.begin()?;
        Ok(Instant::now())
    }

    /// One replica hears nothing from the store any more, then its connections are cut.
    fn partition(&mut self, done: &AtomicU64) -> Result<Instant> {
        wait_for(done, 30);
        let last = self.replicas.last().context("there is no replica")?;
        for weather in [Weather::Stalled, Weather::Cut] {
            last.network.set(weather);
            thread::sleep(AWAY);
        }
        last.network.set(Weather::Fine);
        Ok(Instant::now())
    }

    /// The store is gone for good, and another one is there that knows nothing. One replica has not heard the last that
    /// the others know.
    fn fail_over(&mut self, done: &AtomicU64) -> Result<Instant> {
        let next = Server::start(self.kind, &self.program, self.directory.join("second"))?;
        wait_for(done, 10);
        let last = self.replicas.last().context("there is no replica")?;
        last.network.set(Weather::Stalled);
        wait_for(done, 25);
        self.store.crash()?;
        self.replicas
            .iter()
            .for_each(|replica| replica.network.set(Weather::Cut));
        thread::sleep(AWAY);
        self.seen = Seen::of(&self.doors());
        for replica in &self.replicas {
            replica.network.lead_to(next.port());
            replica.network.set(Weather::Fine);
        }
        self.store = next;
        Ok(Instant::now())
    }
}

fn write_all(writer: &mut Writer, writes: u64, done: &AtomicU64) -> Result<()> {
    for _ in 0..writes {
        writer.write()?;
        done.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
    }
    Ok(())
}

fn wait_for(done: &AtomicU64, writes: u64) {
    while done.load(Ordering::Relaxed) < writes {
        thread::sleep(LOOK);
    }
}

/// The time since `end` until every replica has what the store had when it answered all of them again.
fn converged(doors: &[Door], end: Instant) -> Result<Duration> {
    let mut stored: Vec<Option<Revision>> = vec![None; doors.len()];
    loop {
        ensure!(
            end.elapsed() < PATIENCE,
            "the replicas do not come to the same routes"
        );
        for (stored, door) in stored.iter_mut().zip(doors) {
            if stored.is_none() {
                *stored = door.stored();
            }
        }
        let known: Vec<&Revision> = stored.iter().flatten().collect();
        let newest = known.iter().max_by_key(|revision| revision.number);
        let all = |newest: &Revision| {
            doors
                .iter()
                .all(|door| door.applied().is_some_and(|applied| applied.has(newest)))
        };
        if known.len() == doors.len() && newest.is_some_and(|newest| all(newest)) {
            return Ok(end.elapsed());
        }
        thread::sleep(LOOK);
    }
}
