//! What a look-up costs in a table of many routes, and the table: `cargo bench -p eskip --bench tree`.
//!
//! Paths have 2 to 15 random segments of 1 to 10 letters, one of eight being a wildcard; half of the look-ups are of paths
//! that no route is for. Beside it the crate matchit with the same routes, as far as it takes them: it neither allows two
//! names at one place nor goes on to the next route where one is refused.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "a benchmark stops by panicking"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use eskip::routing::{Asked, PathPattern, PathTree, Predicates, RouteTable, TableOptions};
use http::{HeaderMap, Method};

const SIZES: [usize; 3] = [100, 10_000, 100_000];

/// A generator of numbers that are random enough; the same for each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn segment(&mut self) -> String {
        let length = 1 + self.below(10);
        (0..length)
            .map(|_| char::from(b'a' + u8::try_from(self.below(26)).unwrap()))
            .collect()
    }

    /// A pattern, and a path that it matches.
    fn route(&mut self) -> (String, String) {
        let (mut pattern, mut path) = (String::new(), String::new());
        for number in 0..2 + self.below(14) {
            let segment = self.segment();
            path.push_str(&format!("/{segment}"));
            if self.below(8) == 0 {
                pattern.push_str(&format!("/:p{number}"));
            } else {
                pattern.push_str(&format!("/{segment}"));
            }
        }
        (pattern, path)
    }
}

fn benches(criterion: &mut Criterion) {
    for size in SIZES {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (routes, hits): (Vec<String>, Vec<String>) = (0..size).map(|_| random.route()).unzip();
        let misses = (0..size).map(|_| random.route().1);
        let mut paths: Vec<String> = hits.into_iter().chain(misses).collect();
        // In no order.
        for at in (1..paths.len()).rev() {
            let with = usize::try_from(random.below(u64::try_from(at).unwrap() + 1)).unwrap();
            paths.swap(at, with);
        }
        // One behind the other: the path of a request was read just before it is looked up.
        let text: String = paths.concat();
        let mut start = 0;
        let paths: Vec<&str> = paths
            .iter()
            .map(|path| {
                start += path.len();
                &text[start - path.len()..start]
            })
            .collect();
        let patterns = || routes.iter().map(|route| PathPattern::path(route).unwrap());
        let mut group = criterion.benchmark_group(format!("{size} routes"));
        group.sample_size(20);
        group.bench_function("build", |bencher| {
            bencher.iter(|| PathTree::new(&patterns().collect::<Vec<_>>(), false));
        });
        let tree = PathTree::new(&patterns().collect::<Vec<_>>(), false);
        let found = paths
            .iter()
            .filter(|path| tree.find(path, |found| found.first().copied()).is_some());
        assert!(found.count() >= size);
        let mut next = paths.iter().cycle();
        group.bench_function("look-up", |bencher| {
            bencher.iter(|| tree.find(black_box(next.next().unwrap()), |found| found.first().copied()));
        });
        let mut other = matchit::Router::new();
        for route in &routes {
            let written: Vec<String> = route
                .split('/')
                .map(|part| {
                    part.strip_prefix(':')
                        .map_or_else(|| part.to_owned(), |name| format!("{{{name}}}"))
                })
                .collect();
            // Those that conflict are left out.
            let _refused = other.insert(written.join("/"), ());
        }
        let mut next = paths.iter().cycle();
        group.bench_function("look-up with matchit", |bencher| {
            bencher.iter(|| other.at(black_box(next.next().unwrap())).is_ok());
        });
    }
}

/// Whole tables: of routes with paths, and of routes that have a host each and nothing else.
fn tables(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tables");
    group.sample_size(10);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let text: String = (0..100_000)
        .map(|number| format!("r{number}: Path(\"{}\") -> <shunt>;\n", random.route().0))
        .collect();
    let routes = eskip::parse(&text).unwrap();
    let predicates = Predicates::default();
    let build = |routes: &[eskip::Route]| {
        let each = routes.iter().map(|route| (route, ()));
        RouteTable::build(each, &predicates, TableOptions::default()).0
    };
    group.bench_function("build 100,000 routes with paths", |bencher| {
        bencher.iter(|| build(&routes))
    });
    let text: String = (0..10_000)
        .map(|number| {
            format!("r{number}: Host(/^(app-{number}[.]example[.]org[.]?(:[0-9]+)?)$/) -> <shunt>;\n")
        })
        .collect();
    let table = build(&eskip::parse(&text).unwrap());
    let (method, headers) = (Method::GET, HeaderMap::new());
    let hosts: Vec<String> = (0..10_000)
        .map(|number| format!("app-{}.example.org", number * 7 % 10_000))
        .collect();
    let mut next = hosts.iter().cycle();
    group.sample_size(100);
    group.bench_function("look-up among 10,000 routes with hosts", |bencher| {
        bencher.iter(|| {
            let asked = Asked {
                host: next.next().unwrap(),
                ..Asked::new(&method, &headers)
            };
            table.find(black_box(&asked)).is_some()
        });
    });
}

criterion_group!(group, benches, tables);
criterion_main!(group);
