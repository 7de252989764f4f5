//! What the kernel knows about processes: CPU time, memory, kinship. Linux only.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

/// Microseconds of one tick in `/proc`: the kernel reports in hundredths of a second to all programs.
const TICK_US: f64 = 10_000.0;

/// CPU clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    at: Instant,
    proxy: u64,
    ours: u64,
    machine: u64,
}

/// What happened between two readings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// CPU microseconds of the proxy.
    pub(crate) proxy_us: f64,
    /// The proxy's share of its CPU, 0 to 1.
    pub(crate) proxy_share: f64,
    /// CPUs that others used: neither the proxy nor the bench.
    pub(crate) foreign: f64,
}

// === impl Clocks ===

impl Clocks {
    /// Reads all clocks. `proxy` and `helpers` are processes; this one and its ended children count as helpers.
    pub(crate) fn read(proxy: &[u32], helpers: &[u32]) -> Result<Self> {
        let ticks = |pids: &[u32]| {
            pids.iter()
                .filter_map(|pid| stat(*pid))
                .map(|stat| stat.own)
                .sum::<u64>()
        };
        let own = stat(std::process::id()).context("no /proc here")?;
        Ok(Self {
            at: Instant::now(),
            proxy: ticks(proxy),
            ours: ticks(helpers) + own.own + own.children,
            machine: busy(&fs::read_to_string("/proc/stat")?),
        })
    }

    /// The difference to an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Spent {
        let wall_us = (self.at - earlier.at).as_secs_f64() * 1e6;
        let micros = |now: u64, then: u64| now.saturating_sub(then) as f64 * TICK_US;
        let proxy_us = micros(self.proxy, earlier.proxy);
        let known = proxy_us + micros(self.ours, earlier.ours);
        Spent {
            proxy_us,
            proxy_share: proxy_us / wall_us,
            foreign: ((micros(self.machine, earlier.machine) - known) / wall_us).max(0.0),
        }
    }
}

/// The parts of `/proc/<pid>/stat` that matter here.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: u32,
    /// User and system ticks.
    own: u64,
    /// The same of children that ended and were waited for.
    children: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The program's name may hold spaces and parentheses, so fields count from the last one.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        own: number(11)? + number(12)?,
        children: number(13)? + number(14)?,
    })
}

/// Busy ticks of the whole machine: all but idle and waiting; time of guests is part of the user's already.
fn busy(text: &str) -> u64 {
    let first = text.lines().next().unwrap_or_default();
    let fields: Vec<u64> = first
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    fields
        .iter()
        .take(8)
        .enumerate()
        .filter(|(index, _)| ![3, 4].contains(index))
        .map(|(_, ticks)| ticks)
        .sum()
}

/// `root` and everything below it.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().parse().ok();
        if let Some((pid, stat)) = pid.and_then(|pid| Some((pid, stat(pid)?))) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut all = vec![root];
    let mut next = 0;
    while let Some(pid) = all.get(next).copied() {
        all.extend(children.get(&pid).into_iter().flatten());
        next += 1;
    }
    all
}

/// Whether a process exists and is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != 'Z')
}

/// Resident memory of the processes together, in KiB.
pub(crate) fn rss_kib(pids: &[u32]) -> u64 {
    memory_kib(pids, "VmRSS:")
}

/// The same without what is read from files: what the processes have made themselves.
pub(crate) fn anon_kib(pids: &[u32]) -> u64 {
    memory_kib(pids, "RssAnon:")
}

fn memory_kib(pids: &[u32], name: &str) -> u64 {
    let status = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/status")).ok();
    pids.iter()
        .filter_map(status)
        .filter_map(|text| field(&text, name)?.split(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// The CPUs that this process may run on.
pub(crate) fn allowed_cpus() -> Result<Vec<u32>> {
    let text = fs::read_to_string("/proc/self/status").context("the bench needs Linux")?;
    let list = field(&text, "Cpus_allowed_list:").context("the kernel does not say which CPUs we may use")?;
    parse_list(list).context("an unreadable list of CPUs")
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

/// `0-2,5` is 0, 1, 2, 5.
fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_behind_the_name() {
        let line = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 0 0 0 10 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(
            parse_stat(line),
            Some(Stat {
                state: 'S',
                parent: 7,
                own: 30,
                children: 7
            })
        );
        assert_eq!(parse_stat("42 (x"), None);
    }

    #[test]
    fn idle_time_is_not_busy_and_guests_count_once() {
        assert_eq!(busy("cpu  1 2 4 100 100 8 16 32 1000 1000\ncpu0 9 9 9 9\n"), 63);
    }

    #[test]
    fn lists_of_cpus_have_ranges() {
        assert_eq!(parse_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_list("x"), None);
    }

    #[test]
    fn this_process_is_alive_and_uses_memory() {
        let me = std::process::id();
        assert!(is_alive(me) && tree(me).contains(&me) && rss_kib(&[me]) > 100);
    }
}
