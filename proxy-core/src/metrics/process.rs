//! Figures that the system knows of the process. Where it has no `/proc`, there are none.

use std::fs;

use super::exposition::Exposition;
use super::names;

/// How many parts of a second the system counts CPU time in. Linux tells programs so on every architecture.
const TICKS: u64 = 100;

/// What `/proc/self/stat` says behind the name of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    /// User and system time, in ticks.
    cpu: u64,
    /// When the process was started, in ticks since the system was.
    start: u64,
    virtual_bytes: u64,
}

/// Writes what is known.
pub(super) fn write(page: &mut Exposition) {
    if let Some(stat) = read("/proc/self/stat").as_deref().and_then(stat) {
        page.family(&names::PROCESS_CPU).fraction(&[], stat.cpu, TICKS);
        if let Some(boot) = read("/proc/stat").as_deref().and_then(boot_time) {
            let start = boot.saturating_mul(TICKS).saturating_add(stat.start);
            page.family(&names::PROCESS_START_TIME)
                .fraction(&[], start, TICKS);
        }
        page.family(&names::PROCESS_VIRTUAL_MEMORY)
            .sample(&[], stat.virtual_bytes);
    }
    if let Some(bytes) = read("/proc/self/status").as_deref().and_then(resident_bytes) {
        page.family(&names::PROCESS_RESIDENT_MEMORY).sample(&[], bytes);
    }
    if let Some(most) = read("/proc/self/limits").as_deref().and_then(most_descriptors) {
        page.family(&names::PROCESS_MAX_FDS).sample(&[], most);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // One of them reads the directory.
        let open = open.count().saturating_sub(1) as u64;
        page.family(&names::PROCESS_OPEN_FDS).sample(&[], open);
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn stat(text: &str) -> Option<Stat> {
    // The name stands in brackets and may hold anything.
    let (_, behind) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = behind.split(' ').collect();
    let number = |index: usize| fields.get(index)?.trim().parse::<u64>().ok();
    // Counted from the state, which is the third field of all.
    Some(Stat {
        cpu: number(11)?.checked_add(number(12)?)?,
        start: number(19)?,
        virtual_bytes: number(20)?,
    })
}

fn boot_time(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

fn resident_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn most_descriptors(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_read() {
        let text = "42 (door) (way) S 1 2 3 4 5 6 7 8 9 10 700 50 13 14 15 16 17 18 12345 1048576 21 22\n";
        let expected = Stat {
            cpu: 750,
            start: 12345,
            virtual_bytes: 1_048_576,
        };
        assert_eq!(stat(text), Some(expected));
        assert_eq!(
            boot_time("cpu 1 2\nbtime 1700000000\nprocesses 5\n"),
            Some(1_700_000_000)
        );
        assert_eq!(
            resident_bytes("VmPeak: 1 kB\nVmRSS:\t   2048 kB\n"),
            Some(2_097_152)
        );
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 4096                 files\n";
        assert_eq!(most_descriptors(limits), Some(1024));
    }

    #[test]
    fn other_words_are_no_figures() {
        for text in ["", "42 (x) S 1", "nonsense"] {
            assert_eq!(stat(text), None);
            assert_eq!(
                (boot_time(text), resident_bytes(text), most_descriptors(text)),
                (None, None, None)
            );
        }
    }
}
