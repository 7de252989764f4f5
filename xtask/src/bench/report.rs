//! Figures: medians, the table, the ratios, and the rows of `bench.json`.

use std::fmt;

use serde::Serialize;

use super::peers::Proxy;

/// One run of one workload on one proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// CPU microseconds of the proxy per request.
    pub(crate) cpu_us: f64,
    /// Requests each second.
    pub(crate) rps: f64,
    /// Median latency.
    pub(crate) p50_ms: f64,
    /// 99th percentile of the latency.
    pub(crate) p99_ms: f64,
    /// Resident memory at the end of the run.
    pub(crate) rss_mib: f64,
    /// The proxy's share of its CPU. Well below 1, the load was the limit and only `cpu_us` compares.
    pub(crate) proxy_cpu: f64,
    /// CPUs that strangers used meanwhile.
    pub(crate) foreign_cpu: f64,
    /// Requests without a good answer.
    pub(crate) errors: f64,
}

/// The result for one workload and proxy.
///
/// In the rows of `idle`, a request is the opening of a connection with one request on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    workload: &'static str,
    proxy: &'static str,
    cpu_us: f64,
    rps: f64,
    p50_ms: f64,
    p99_ms: f64,
    rss_mib: f64,
    cpu_us_min: f64,
    cpu_us_max: f64,
    proxy_cpu: f64,
    foreign_cpu: f64,
    errors: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_connection_kib: Option<f64>,
}

/// What a ratio or a difference must not exceed.
struct Bar {
    workload: &'static str,
    peer: Proxy,
    limit: f64,
}

/// Goals for CPU per request, as ratios to a peer in the same run.
const BARS: [Bar; 14] = [
    Bar::new("a", Proxy::Nginx, 1.4),
    Bar::new("a", Proxy::Caddy, 0.3),
    Bar::new("b", Proxy::Nginx, 1.4),
    Bar::new("b", Proxy::Caddy, 0.3),
    Bar::new("c", Proxy::Nginx, 1.4),
    Bar::new("c", Proxy::Caddy, 0.3),
    Bar::new("d", Proxy::Haproxy, 1.0),
    Bar::new("a-full", Proxy::Nginx, 1.4),
    Bar::new("a-full", Proxy::Caddy, 0.3),
    Bar::new("b-full", Proxy::Nginx, 1.4),
    Bar::new("b-full", Proxy::Caddy, 0.3),
    Bar::new("c-full", Proxy::Nginx, 1.4),
    Bar::new("c-full", Proxy::Caddy, 0.3),
    Bar::new("d-full", Proxy::Haproxy, 1.0),
];

/// What the routing of a Doors system request may cost on top of a plain request, in CPU microseconds.
const DOORS_LIMIT_US: f64 = 1.5;

// === impl Row ===

impl Row {
    /// The median of each figure; the most foreign CPU and all errors. `None` without samples.
    pub(crate) fn median(workload: &'static str, proxy: Proxy, samples: &[Sample]) -> Option<Self> {
        let figure = |of: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let middle = |of: fn(&Sample) -> f64| figure(of).get(samples.len() / 2).copied();
        Some(Self {
            workload,
            proxy: proxy.name(),
            cpu_us: middle(|s| s.cpu_us)?,
            rps: middle(|s| s.rps)?,
            p50_ms: middle(|s| s.p50_ms)?,
            p99_ms: middle(|s| s.p99_ms)?,
            rss_mib: middle(|s| s.rss_mib)?,
            cpu_us_min: figure(|s| s.cpu_us).first().copied()?,
            cpu_us_max: figure(|s| s.cpu_us).last().copied()?,
            proxy_cpu: middle(|s| s.proxy_cpu)?,
            foreign_cpu: figure(|s| s.foreign_cpu).last().copied()?,
            errors: samples.iter().map(|s| s.errors).sum(),
            idle_connection_kib: None,
        })
    }

    /// The row of the idle workload: `each` is KiB per connection.
    pub(crate) fn idle(proxy: Proxy, sample: Sample, each: f64) -> Self {
        Self {
            workload: "idle",
            proxy: proxy.name(),
            cpu_us: sample.cpu_us,
            rps: sample.rps,
            p50_ms: sample.p50_ms,
            p99_ms: sample.p99_ms,
            rss_mib: sample.rss_mib,
            cpu_us_min: sample.cpu_us,
            cpu_us_max: sample.cpu_us,
            proxy_cpu: sample.proxy_cpu,
            foreign_cpu: sample.foreign_cpu,
            errors: sample.errors,
            idle_connection_kib: Some(each),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = format!("{:.1}-{:.1}", self.cpu_us_min, self.cpu_us_max);
        write!(
            f,
            "{:<9}{:<9}{:>8.2} {range:>13}",
            self.workload, self.proxy, self.cpu_us
        )?;
        write!(
            f,
            "{:>9.0}{:>9.2}{:>9.2}{:>8.1}",
            self.rps, self.p50_ms, self.p99_ms, self.rss_mib
        )?;
        write!(f, "{:>7.2}{:>9.2}", self.proxy_cpu, self.foreign_cpu)?;
        if let Some(each) = self.idle_connection_kib {
            write!(f, "  {each:.2} KiB per idle connection")?;
        }
        if self.errors > 0.0 {
            write!(f, "  {} ERRORS", self.errors)?;
        }
        Ok(())
    }
}

/// What is good to know about the peers' configurations.
const NOTE: &str = "note: nginx and HAProxy have 32 KiB buffers (nginx 64 KiB for the body of a request); nginx checks no \
                    health of its own accord, and speaks no HTTP/2 to upstreams\n";

/// All rows under one head.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "\nworkload proxy   CPU us/req   (min-max)    req/s   p50 ms   p99 ms RSS MiB  CPU  foreign\n",
    );
    for row in rows {
        text.push_str(&format!("{row}\n"));
    }
    let tuned = [Proxy::Nginx.name(), Proxy::Haproxy.name()];
    if rows.iter().any(|row| tuned.contains(&row.proxy)) {
        text.push_str(NOTE);
    }
    text
}

/// Doorway beside each peer, then the bars.
pub(crate) fn ratios(rows: &[Row]) -> String {
    let mut text = String::from("\nDoorway as a multiple of its peers, CPU per request (p99)\n");
    for own in rows.iter().filter(|row| row.proxy == Proxy::Doorway.name()) {
        let peers = Proxy::ALL.into_iter().filter(|peer| *peer != Proxy::Doorway);
        let beside = peers.filter_map(|peer| {
            let other = find(rows, own.workload, peer)?;
            Some(format!(
                "  {peer} {:.2} ({:.2})",
                own.cpu_us / other.cpu_us,
                own.p99_ms / other.p99_ms
            ))
        });
        let beside: String = beside.collect();
        if !beside.is_empty() {
            text.push_str(&format!("{:<9}{beside}\n", own.workload));
        }
    }
    for bar in BARS {
        text.extend(bar.verdict(rows));
    }
    text.extend(doors_verdict(rows));
    text
}

fn find<'a>(rows: &'a [Row], workload: &str, proxy: Proxy) -> Option<&'a Row> {
    rows.iter()
        .find(|row| row.workload == workload && row.proxy == proxy.name())
}

// === impl Bar ===

impl Bar {
    const fn new(workload: &'static str, peer: Proxy, limit: f64) -> Self {
        Self {
            workload,
            peer,
            limit,
        }
    }

    fn verdict(&self, rows: &[Row]) -> Option<String> {
        let own = find(rows, self.workload, Proxy::Doorway)?;
        let ratio = own.cpu_us / find(rows, self.workload, self.peer)?.cpu_us;
        let verdict = if ratio <= self.limit { "met" } else { "MISSED" };
        Some(format!(
            "bar: {} at most {} x {}: {ratio:.2}, {verdict}\n",
            self.workload, self.limit, self.peer
        ))
    }
}

fn doors_verdict(rows: &[Row]) -> Option<String> {
    let system = find(rows, "doors", Proxy::Doorway)?;
    let more = system.cpu_us - find(rows, "plain", Proxy::Doorway)?.cpu_us;
    let verdict = if more <= DOORS_LIMIT_US { "met" } else { "MISSED" };
    Some(format!(
        "bar: a Doors system request at most {DOORS_LIMIT_US} us more than a plain one: {more:.2}, {verdict}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workload: &'static str, proxy: Proxy, cpu_us: f64) -> Row {
        Row::median(
            workload,
            proxy,
            &[Sample {
                cpu_us,
                p99_ms: 1.0,
                ..Sample::default()
            }],
        )
        .unwrap()
    }

    #[test]
    fn a_row_has_the_median_of_each_figure() {
        let sample = |cpu_us, rps, errors| Sample {
            cpu_us,
            rps,
            errors,
            ..Sample::default()
        };
        let samples = [
            sample(3.0, 10.0, 1.0),
            sample(1.0, 30.0, 0.0),
            sample(2.0, 20.0, 2.0),
        ];
        let row = Row::median("a", Proxy::Nginx, &samples).unwrap();
        assert_eq!((row.cpu_us, row.rps, row.errors), (2.0, 20.0, 3.0));
        assert_eq!((row.cpu_us_min, row.cpu_us_max), (1.0, 3.0));
        assert_eq!(Row::median("a", Proxy::Nginx, &[]), None);
    }

    #[test]
    fn a_bar_is_met_or_missed() {
        let rows = [
            row("a", Proxy::Doorway, 14.0),
            row("a", Proxy::Nginx, 10.0),
            row("a", Proxy::Caddy, 28.0),
        ];
        let text = ratios(&rows);
        assert!(text.contains("a at most 1.4 x nginx: 1.40, met"), "{text}");
        assert!(text.contains("a at most 0.3 x caddy: 0.50, MISSED"), "{text}");
    }

    #[test]
    fn a_build_is_compared_with_the_one_before_it() {
        let rows = [row("a", Proxy::Doorway, 9.0), row("a", Proxy::Before, 10.0)];
        assert!(ratios(&rows).contains("a          before 0.90 (1.00)\n"));
    }

    #[test]
    fn a_doors_request_is_compared_with_a_plain_one() {
        let rows = [
            row("plain", Proxy::Doorway, 10.0),
            row("doors", Proxy::Doorway, 11.6),
        ];
        assert!(ratios(&rows).contains("1.60, MISSED"));
    }

    #[test]
    fn the_json_has_the_promised_fields() {
        let value = serde_json::to_value(row("a", Proxy::Haproxy, 1.0)).unwrap();
        for field in [
            "workload", "proxy", "cpu_us", "rps", "p50_ms", "p99_ms", "rss_mib",
        ] {
            assert!(value.get(field).is_some(), "{field}");
        }
        assert_eq!(value["proxy"], "haproxy");
    }
}
