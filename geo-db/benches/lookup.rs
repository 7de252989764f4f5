//! What a look-up costs, and a table: `GEO_ARCHIVE=<file> cargo bench -p geo-db --bench lookup`.
//!
//! Times are of the CPU, as Linux counts them: those of look-ups are per address, independent of each other, with
//! random host bits inside of prefixes picked at random.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops by panicking"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, and is told where its data is"
)]

use std::{
    fs,
    hint::black_box,
    io::Read,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use flate2::read::GzDecoder;
use geo_db::{
    Database, Table,
    archive::{self, Limits},
};
use ip_network::IpNetwork;
use ip_network_table::IpNetworkTable;
use ipnet::IpNet;

const LOOKUPS: usize = 10_000_000;

fn main() {
    let Ok(path) = std::env::var("GEO_ARCHIVE") else {
        println!("skipped: GEO_ARCHIVE names no archive");
        return;
    };
    let begun = cpu();
    let table = archive::read(fs::File::open(&path).unwrap(), &Limits::default()).unwrap();
    println!(
        "archive to table: {:?}, peak {} KiB",
        cpu().saturating_sub(begun),
        peak()
    );
    println!("{:?}, {} bytes", table.counts(), table.bytes());

    let listed = listed(&path);
    let countries: Vec<_> = table.countries().map(|(code, _)| code).collect();
    let prefixes = listed
        .iter()
        .zip(countries.iter().cycle())
        .map(|(prefix, code)| (*prefix, *code));
    let prefixes: Vec<_> = prefixes.collect();
    let begun = cpu();
    black_box(Table::new(prefixes).unwrap());
    println!("prefixes to table: {:?}", cpu().saturating_sub(begun));

    let mut other = IpNetworkTable::new();
    for prefix in &listed {
        other.insert(
            IpNetwork::new(prefix.network(), prefix.prefix_len()).unwrap(),
            1_u8,
        );
    }
    for (family, ipv4) in [("IPv4", true), ("IPv6", false)] {
        let of_family: Vec<_> = listed
            .iter()
            .filter(|prefix| prefix.addr().is_ipv4() == ipv4)
            .collect();
        let mut random = Random(1);
        let addresses: Vec<IpAddr> = (0..1 << 20)
            .map(|_| {
                let picked = random.below(of_family.len());
                random.inside(of_family[picked])
            })
            .collect();
        let ns = time(&addresses, |address| table.lookup(address).is_some());
        let others = time(&addresses, |address| other.longest_match(address).is_some());
        println!("{family}, inside listed prefixes: {ns:.1} ns; ip_network_table {others:.1} ns");
    }
    stalls(table);
}

/// Prints the longest look-up while another thread puts a table in place of another a thousand times.
fn stalls(table: Table) {
    let table = Arc::new(table);
    let database = Database::default();
    let swap = || database.replace(Arc::clone(&table), "bench", SystemTime::UNIX_EPOCH);
    swap();
    let address = IpAddr::from([8, 8, 8, 8]);
    let (mut longest, mut slow, mut count) = (Duration::ZERO, 0, 0_u64);
    thread::scope(|scope| {
        let swaps = scope.spawn(|| (0..1000).for_each(|_| swap()));
        while !swaps.is_finished() || count < 1_000_000 {
            let begun = Instant::now();
            black_box(database.lookup(address));
            let took = begun.elapsed();
            longest = longest.max(took);
            slow += u64::from(took > Duration::from_millis(1));
            count += 1;
        }
    });
    println!("1000 swaps during {count} look-ups: the longest took {longest:?}, {slow} more than 1 ms");
}

/// Nanoseconds for one address, the least of five runs.
fn time(addresses: &[IpAddr], look: impl Fn(IpAddr) -> bool) -> f64 {
    let run = || {
        let begun = cpu();
        let found = addresses
            .iter()
            .cycle()
            .take(LOOKUPS)
            .filter(|address| look(**address))
            .count();
        black_box(found);
        cpu().saturating_sub(begun)
    };
    let best = (0..5).map(|_| run()).min().unwrap_or_default();
    best.as_nanos() as f64 / LOOKUPS as f64
}

/// All prefixes of the archive, by the lists in plain text that stand beside the JSON.
fn listed(path: &str) -> Vec<IpNet> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(path).unwrap()));
    let mut listed = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry
            .path()
            .unwrap()
            .extension()
            .is_some_and(|extension| extension == "txt")
        {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            listed.extend(text.lines().filter_map(|line| line.parse::<IpNet>().ok()));
        }
    }
    listed
}

/// The CPU time that this process has taken; what others do on the machine does not count.
fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// The most memory that this process has taken, in KiB; 0 where the system does not tell.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or_default()
}

/// Xorshift: the addresses are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn inside(&mut self, prefix: &IpNet) -> IpAddr {
        match prefix {
            IpNet::V4(prefix) => {
                let host = prefix.hostmask().to_bits() & (self.next() >> 32) as u32;
                Ipv4Addr::from_bits(prefix.network().to_bits() | host).into()
            }
            IpNet::V6(prefix) => {
                let random = u128::from(self.next()) << 64 | u128::from(self.next());
                let host = prefix.hostmask().to_bits() & random;
                Ipv6Addr::from_bits(prefix.network().to_bits() | host).into()
            }
        }
    }
}
