//! Waiting until every live replica has applied a change.

use std::time::Duration;

use http::StatusCode;
use route_store::{Replica, Revision};
use serde_json::{Value, json};
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;

use super::Refused;
use super::error::with_more;
use super::query::wrong;
use crate::admin::reply::Reply;
use crate::control::SourcesApi;

/// How long is waited if nothing is said.
const USUAL: Duration = Duration::from_secs(30);

/// How long one may wait.
const LONGEST: Duration = Duration::from_secs(600);

/// The time between two looks at the replicas, which grows from the first to the second.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(500);

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait(Duration);

/// Who has not applied a revision yet.
#[derive(Debug, Default)]
struct Lag {
    /// Whether this very replica is among them.
    here: bool,
    others: Vec<Replica>,
    applied: usize,
    /// Why the replicas are not known.
    store_error: Option<String>,
}

// === impl Wait ===

impl Wait {
    /// The value of `wait`.
    pub(super) fn parse(text: &str) -> Result<Self, Refused> {
        if text.is_empty() {
            return Ok(Self(USUAL));
        }
        let duration = caddy_config::duration(text).filter(|wait| !wait.is_zero() && *wait <= LONGEST);
        duration
            .map(Self)
            .ok_or_else(|| wrong("`wait` is a duration of at most 10m, such as 30s"))
    }
}

/// The `answer` once every live replica, this one among them, has applied `revision`; 504 with those that have not if that takes
/// too long. What was written stays written.
pub(super) async fn applied(
    api: &SourcesApi,
    wait: Wait,
    revision: Revision,
    mut answer: Value,
    stop: &CancellationToken,
) -> Reply {
    let deadline = Instant::now() + wait.0;
    let mut pause = SOON;
    loop {
        let lag = Lag::of(api, revision).await;
        if lag.is_none() {
            answer["replicas"] = lag.applied.into();
            return Reply::value(&answer);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let slept = stop.run_until_cancelled(time::sleep(pause.min(left))).await;
        if left.is_zero() || slept.is_none() {
            let why = if slept.is_none() {
                "this proxy is stopping".to_owned()
            } else {
                format!(
                    "not every replica has applied it within {} s",
                    wait.0.as_secs_f64()
                )
            };
            return late(&why, &lag, answer);
        }
        pause = (pause * 2).min(LATER);
    }
}

fn late(why: &str, lag: &Lag, mut answer: Value) -> Reply {
    let one = |replica: &Replica| {
        json!({
            "id": replica.id,
            "hostname": replica.hostname,
            "version": replica.version,
            "revision": replica.revision,
        })
    };
    answer["lagging"] = lag.others.iter().map(one).collect();
    answer["lagging_here"] = lag.here.into();
    answer["replicas"] = lag.applied.into();
    if let Some(error) = &lag.store_error {
        answer["store_error"] = error.as_str().into();
    }
    with_more(
        StatusCode::GATEWAY_TIMEOUT,
        &format!("it is written, but {why}"),
        &answer,
    )
}

// === impl Lag ===

impl Lag {
    async fn of(api: &SourcesApi, revision: Revision) -> Self {
        let here = !api.view.applied().is_some_and(|applied| has(applied, revision));
        let asked = match &api.store {
            Some(store) => store.replicas().await,
            None => Ok(Vec::new()),
        };
        match asked {
            Ok(replicas) => {
                let all = replicas.len();
                let others: Vec<Replica> = replicas
                    .into_iter()
                    .filter(|replica| !has(replica.revision, revision))
                    .collect();
                Self {
                    here,
                    applied: all - others.len(),
                    others,
                    store_error: None,
                }
            }
            Err(error) => Self {
                here,
                store_error: Some(error.to_string()),
                ..Self::default()
            },
        }
    }

    fn is_none(&self) -> bool {
        !self.here && self.others.is_empty() && self.store_error.is_none()
    }
}

/// Whether who is at `applied` has what was written at `revision`.
fn has(applied: Revision, revision: Revision) -> bool {
    applied.epoch == revision.epoch && applied.number >= revision.number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_durations_of_a_reasonable_length() {
        assert_eq!(Wait::parse("").unwrap(), Wait(USUAL));
        assert_eq!(Wait::parse("250ms").unwrap(), Wait(Duration::from_millis(250)));
        for wrong in ["0", "0s", "soon", "1h", "-1s"] {
            assert!(Wait::parse(wrong).is_err(), "{wrong}");
        }
    }
}
