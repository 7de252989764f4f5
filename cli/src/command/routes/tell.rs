//! What a proxy tells of its hosts, as tables or as JSON.

use hyper::{Method, StatusCode};
use serde_json::Value;

use super::proxy::{self, Proxy};
use super::{answer, table};
use crate::api::Request;
use crate::exit::{Failure, Outcome};
use crate::{output, runtime};

/// Hosts that are asked for at once.
const PAGE: usize = 1000;

// === list ===

pub(super) fn list(proxy: &Proxy, as_json: bool) -> Outcome {
    runtime::block_on(async {
        let (mut hosts, mut after, mut failed) = (Vec::new(), String::new(), None);
        loop {
            let path = format!("/routes?limit={PAGE}&after={}", proxy::encoded(&after));
            let mut page = answer::value(proxy.ask(Request::new(Method::GET, path)).await?, proxy)?;
            if let Some(Value::Array(page)) = page.get_mut("hosts").map(Value::take) {
                hosts.extend(page);
            }
            if let Some(error) = page.get("store_error").and_then(Value::as_str) {
                failed = Some(error.to_owned());
            }
            match page.get("next").and_then(Value::as_str) {
                // It only ever goes on.
                Some(next) if next > after.as_str() => after = next.to_owned(),
                _ => break,
            }
        }
        if as_json {
            output::print_line(format!("{:#}", Value::Array(hosts)))?;
        } else {
            output::print(&host_table(&hosts))?;
        }
        match failed {
            None => Ok(()),
            Some(error) => Err(Failure::Report(format!("error: versions are not known: {error}"))),
        }
    })
}

fn host_table(hosts: &[Value]) -> String {
    let mut rows = vec![row(&["HOST", "SOURCE", "VERSION", "STATE"])];
    for host in hosts {
        let mut state = text(host, "state");
        for name in ["reason", "unreadable"] {
            let more = text(host, name);
            if !more.is_empty() {
                state.push_str(&format!("; {}", one_line(&more)));
                break;
            }
        }
        let alias = text(host, "alias_of");
        if !alias.is_empty() {
            state.push_str(&format!("; alias of {alias}"));
        }
        rows.push(vec![
            text(host, "host"),
            text(host, "source"),
            text(host, "version"),
            state,
        ]);
    }
    table::lines(&rows)
}

// === history ===

pub(super) fn history(proxy: &Proxy, host: &str, as_json: bool) -> Outcome {
    let path = format!("/routes/{}/history", proxy::encoded(host));
    runtime::block_on(async {
        let mut said = answer::value(proxy.ask(Request::new(Method::GET, path)).await?, proxy)?;
        let changes = said.get_mut("changes").map(Value::take).unwrap_or_default();
        if as_json {
            return output::print_line(format!("{changes:#}"));
        }
        let mut rows = vec![row(&["REVISION", "WHEN", "AUTHOR", "WHAT"])];
        for change in changes.as_array().into_iter().flatten() {
            let what = match text(change, "kind").as_str() {
                "put" if change.get("kept") == Some(&Value::Bool(false)) => {
                    "written, not kept any more".to_owned()
                }
                "put" => format!("version {}", text(change, "revision")),
                "rollback" => format!("back to version {}", text(change, "version")),
                "delete" => "removed".to_owned(),
                other => other.to_owned(),
            };
            let when = change
                .get("at")
                .and_then(Value::as_u64)
                .map(date)
                .unwrap_or_default();
            rows.push(vec![text(change, "revision"), when, text(change, "author"), what]);
        }
        output::print(&table::lines(&rows))
    })
}

/// A second since 1970 as a date of UTC.
fn date(at: u64) -> String {
    let (days, second) = (at / 86_400, at % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date that is so many days behind the first of January 1970. Years begin with March here, so that leap days are at
/// their ends.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

// === status ===

pub(super) fn status(proxy: &Proxy, as_json: bool) -> Outcome {
    runtime::block_on(async {
        let asked = proxy.ask(Request::new(Method::GET, "/routes/status")).await?;
        let mut status = answer::value(asked, proxy)?;
        let replicas = proxy.ask(Request::new(Method::GET, "/replicas")).await?;
        // Without a store there are none, and if it is away that is told already.
        if replicas.status == StatusCode::OK {
            let mut replicas = answer::value(replicas, proxy)?;
            status["replicas"] = replicas.get_mut("replicas").map(Value::take).unwrap_or_default();
        }
        if as_json {
            output::print_line(format!("{status:#}"))?;
        } else {
            output::print(&status_table(&status))?;
        }
        match status.pointer("/store/error").and_then(Value::as_str) {
            None => Ok(()),
            Some(error) => Err(Failure::Report(format!("error: {error}"))),
        }
    })
}

fn status_table(status: &Value) -> String {
    let number = |pointer: &str| {
        let number = status.pointer(pointer).and_then(Value::as_u64);
        number.map_or_else(|| "none".to_owned(), |number| number.to_string())
    };
    let mut rows = vec![vec!["applied".to_owned(), number("/applied/revision/number")]];
    if let Some(kind) = status.pointer("/store/kind").and_then(Value::as_str) {
        rows.push(vec![
            "store".to_owned(),
            format!("{kind}, revision {}", number("/store/revision/number")),
        ]);
    }
    let sources = status.get("sources").and_then(Value::as_array);
    for source in sources.into_iter().flatten() {
        let invalid = source
            .get("invalid")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let mut said = format!("{} routes", text(source, "routes"));
        if invalid > 0 {
            said.push_str(&format!(", {invalid} invalid"));
        }
        let stale = text(source, "stale");
        if !stale.is_empty() {
            said.push_str(&format!(", stale: {}", one_line(&stale)));
        }
        rows.push(vec![format!("source {}", text(source, "kind")), said]);
    }
    for (name, label) in [
        ("conflicts", "conflicts"),
        ("collisions", "collisions"),
        ("without_upstreams", "without upstreams"),
        ("unbuilt", "not built"),
    ] {
        if let Some(all) = status
            .get(name)
            .and_then(Value::as_array)
            .filter(|all| !all.is_empty())
        {
            rows.push(vec![label.to_owned(), all.len().to_string()]);
        }
    }
    let replicas = status.get("replicas").and_then(Value::as_array);
    for replica in replicas.into_iter().flatten() {
        let at = replica
            .pointer("/revision/number")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let current = if replica.get("current") == Some(&Value::Bool(true)) {
            ", current"
        } else {
            ""
        };
        let said = format!(
            "{}, revision {at}{current}, {}",
            text(replica, "hostname"),
            text(replica, "version")
        );
        rows.push(vec![format!("replica {}", text(replica, "id")), said]);
    }
    table::lines(&rows)
}

// === changes ===

/// One line about a change that was made.
pub(super) fn change(said: &Value, what: &str) -> String {
    let host = text(said, "host");
    let revision = said
        .pointer("/revision/number")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let mut line = format!("{host} {what}");
    if let Some(version) = said.get("version").and_then(Value::as_u64) {
        line.push_str(&format!(": version {version}"));
    }
    line.push_str(&format!(", revision {revision}"));
    if let Some(replicas) = said.get("replicas").and_then(Value::as_u64) {
        let plural = if replicas == 1 { "" } else { "s" };
        line.push_str(&format!(", applied by {replicas} replica{plural}"));
    }
    line
}

// === helpers ===

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// A field as text; nothing if there is none.
fn text(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_are_dates_of_utc() {
        for (at, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_704_067_199, "2023-12-31T23:59:59Z"),
            (1_796_083_200, "2026-12-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(at), expected);
        }
    }

    #[test]
    fn hosts_are_told_with_what_is_wrong_with_them() {
        let hosts = [
            json!({ "host": "a.test", "source": "store", "version": 12, "state": "served" }),
            json!({ "host": "b.test", "source": "store", "version": 3, "state": "kept", "reason": "newer", "unreadable": "x" }),
            json!({ "host": "w.test", "source": "docker", "state": "served", "alias_of": "a.test" }),
        ];
        assert_eq!(
            host_table(&hosts),
            "HOST    SOURCE  VERSION  STATE\na.test  store   12       served\nb.test  store   3        kept; newer\n\
             w.test  docker           served; alias of a.test\n"
        );
    }

    #[test]
    fn a_change_is_told_in_one_line() {
        let said = json!({ "host": "a.test", "version": 3, "revision": { "epoch": "0", "number": 4 }, "replicas": 1 });
        assert_eq!(
            change(&said, "written"),
            "a.test written: version 3, revision 4, applied by 1 replica"
        );
    }
}
