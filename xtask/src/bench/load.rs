//! Load generators: wrk for HTTP/1, h2load for HTTP/2, and how to read what they print.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::launch::pinned;
use super::peers::Place;
use super::workload::Ask;

/// How requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// wrk, one thread, 64 connections.
    Http1 {
        /// POST 16 KiB instead of GET.
        post: bool,
        /// Ask for the end of the connection with each request.
        close: bool,
    },
    /// h2load, 16 connections, 16 streams each.
    Http2,
}

/// What a generator counted.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub(crate) struct Counted {
    /// Answers received.
    pub(crate) requests: f64,
    /// Answers each second.
    pub(crate) rps: f64,
    /// Median time to the whole answer, in microseconds.
    pub(crate) p50_us: f64,
    /// The time that one answer in a hundred exceeds.
    pub(crate) p99_us: f64,
    /// Requests without a good answer.
    pub(crate) errors: f64,
}

/// Makes wrk print figures that a program can read. It is never called per request.
const SCRIPT: &str = r#"
function init(args)
  if args[1] == "post" then
    wrk.method = "POST"
    wrk.body = string.rep("x", 16384)
  end
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"rps":%f,"p50_us":%f,"p99_us":%f,"errors":%d}\n',
    summary.requests, summary.requests / summary.duration * 1e6,
    latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
"#;

// === impl Load ===

impl Load {
    /// GET with connections kept alive.
    pub(crate) const GET: Self = Self::Http1 {
        post: false,
        close: false,
    };
    /// POST with connections kept alive.
    pub(crate) const POST: Self = Self::Http1 {
        post: true,
        close: false,
    };
    /// GET, a connection each.
    pub(crate) const CLOSE: Self = Self::Http1 {
        post: false,
        close: true,
    };

    /// Loads `ask.url` for `seconds`.
    pub(crate) fn run(ask: &Ask, seconds: u32, place: &Place) -> Result<Counted> {
        let counted = match ask.load {
            Self::Http1 { post, close } => wrk(&ask.url, post, close, seconds, place),
            Self::Http2 => h2load(&ask.url, seconds, place),
        };
        let counted = counted.with_context(|| format!("no figures from {}", ask.url))?;
        ensure!(counted.requests > 0.0, "no answer at all from {}", ask.url);
        Ok(counted)
    }
}

fn wrk(url: &str, post: bool, close: bool, seconds: u32, place: &Place) -> Result<Counted> {
    let script = place.directory.join("wrk.lua");
    fs::write(&script, SCRIPT)?;
    let mut command = pinned(place.lane.load, Path::new("wrk"));
    command
        .args(["-t1", "-c64", &format!("-d{seconds}s"), "-s"])
        .arg(script);
    if close {
        command.args(["-H", "Connection: close"]);
    }
    command.args([url, "--", if post { "post" } else { "get" }]);
    let output = printed(command)?;
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("RESULT "))
        .context(output.clone())?;
    Ok(serde_json::from_str(line)?)
}

fn h2load(url: &str, seconds: u32, place: &Place) -> Result<Counted> {
    let log = place.directory.join("h2load.log");
    // h2load appends.
    drop(fs::remove_file(&log));
    let port = url
        .split(':')
        .nth(2)
        .and_then(|rest| rest.split('/').next())
        .context("an address without a port")?;
    let mut command = pinned(place.lane.load, Path::new("h2load"));
    command.args([
        "-t1",
        "-c16",
        "-m16",
        &format!("-D{seconds}"),
        &format!("--connect-to=127.0.0.1:{port}"),
    ]);
    command.arg(format!("--log-file={}", log.display())).arg(url);
    let output = printed(command)?;
    ensure!(
        output.contains("Application protocol: h2"),
        "not HTTP/2:\n{output}"
    );
    let (requests, rps, errors) = parse_h2load(&output).context(output.clone())?;
    let mut times = parse_log(&fs::read_to_string(&log)?);
    times.sort_unstable();
    let at = |percent: usize| {
        times
            .get(times.len() * percent / 100)
            .copied()
            .unwrap_or_default() as f64
    };
    Ok(Counted {
        requests,
        rps,
        p50_us: at(50),
        p99_us: at(99),
        errors,
    })
}

fn printed(mut command: Command) -> Result<String> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(text)
}

/// Answers, answers per second, and requests that failed.
fn parse_h2load(text: &str) -> Option<(f64, f64, f64)> {
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    let rate = line("finished in ")?
        .split(", ")
        .nth(1)?
        .strip_suffix(" req/s")?
        .parse()
        .ok()?;
    let counts: Vec<(&str, f64)> = line("requests: ")?.split(", ").filter_map(count).collect();
    let of = |name: &str| counts.iter().find(|(n, _)| *n == name).map(|(_, count)| *count);
    Some((
        of("succeeded")?,
        rate,
        of("failed")? + of("errored")? + of("timeout")?,
    ))
}

fn count(part: &str) -> Option<(&str, f64)> {
    let (number, name) = part.split_once(' ')?;
    Some((name, number.parse().ok()?))
}

/// Response times in microseconds: the third column.
fn parse_log(text: &str) -> Vec<u64> {
    text.lines()
        .filter_map(|line| line.split_whitespace().nth(2)?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h2load_is_read() {
        let text = "finished in 2.00s, 46091.50 req/s, 6.5MB/s\nrequests: 92183 total, 92439 started, 92183 done, 92180 succeeded, 3 failed, 1 errored, 0 timeout\n";
        assert_eq!(parse_h2load(text), Some((92180.0, 46091.5, 4.0)));
        assert_eq!(parse_h2load("nothing"), None);
    }

    #[test]
    fn the_log_has_times_in_its_third_column() {
        assert_eq!(
            parse_log("1700000000\t200\t812\n1700000001\t200\t34\n"),
            [812, 34]
        );
    }

    #[test]
    fn the_line_of_our_wrk_script_is_read() {
        let line = r#"{"requests":10,"rps":5.0,"p50_us":700.0,"p99_us":1300.0,"errors":0}"#;
        assert_eq!(serde_json::from_str::<Counted>(line).unwrap().p99_us, 1300.0);
    }
}
