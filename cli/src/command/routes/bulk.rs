//! Many documents at once: all of a store into a file, and back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hyper::{Method, StatusCode};
use serde_json::Value;

use super::answer;
use super::input::{self, Checked};
use super::proxy::{self, Proxy};
use crate::api::Request;
use crate::exit::{self, Failure, Outcome};
use crate::{output, runtime};

/// Documents that are asked for at once.
const PAGE: usize = 1000;

/// How documents are written.
pub(super) struct Plan {
    /// Nothing is.
    pub(super) dry_run: bool,
    /// Others are removed.
    pub(super) replace: bool,
    /// How long replicas are waited for, after the last change.
    pub(super) wait: Option<String>,
}

/// A document that a store has.
struct Stored {
    version: u64,
    text: String,
}

/// One change that an import makes.
enum Change<'c> {
    Put {
        checked: &'c Checked,
        /// The version that is there.
        before: Option<u64>,
    },
    Delete {
        host: String,
        before: u64,
    },
}

// === export ===

pub(super) fn export(proxy: &Proxy, as_lines: bool) -> Outcome {
    runtime::block_on(async {
        let stored = stored(proxy).await?;
        let mut unreadable = Vec::new();
        let mut first = true;
        if !as_lines {
            output::print("[")?;
        }
        for (host, document) in &stored {
            let Ok(value) = serde_json::from_str::<Value>(&document.text) else {
                unreadable.push(host.as_str());
                continue;
            };
            if as_lines {
                output::print_line(value)?;
            } else {
                let comma = if std::mem::take(&mut first) { "\n" } else { ",\n" };
                output::print(&format!("{comma}{value}"))?;
            }
        }
        if !as_lines {
            output::print("\n]\n")?;
        }
        if unreadable.is_empty() {
            return Ok(());
        }
        Err(Failure::Report(format!(
            "error: what is stored for {} is no JSON, and left out",
            unreadable.join(", ")
        )))
    })
}

/// All documents of the store, by host.
async fn stored(proxy: &Proxy) -> Result<BTreeMap<String, Stored>, Failure> {
    let (mut all, mut after) = (BTreeMap::new(), String::new());
    loop {
        let path = format!("/routes/documents?limit={PAGE}&after={}", proxy::encoded(&after));
        let page = answer::value(proxy.ask(Request::new(Method::GET, path)).await?, proxy)?;
        for document in page
            .get("documents")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let field = |name: &str| document.get(name).and_then(Value::as_str);
            let version = document.get("version").and_then(Value::as_u64);
            if let (Some(host), Some(text), Some(version)) = (field("host"), field("text"), version) {
                let text = text.to_owned();
                all.insert(host.to_owned(), Stored { version, text });
            }
        }
        match page.get("next").and_then(Value::as_str) {
            Some(next) if next > after.as_str() => after = next.to_owned(),
            _ => return Ok(all),
        }
    }
}

// === import ===

pub(super) fn import(proxy: &Proxy, file: Option<&Path>, plan: &Plan) -> Outcome {
    let read = input::checked(file)?;
    runtime::block_on(async {
        check(proxy, &read).await?;
        let stored = stored(proxy).await?;
        let changes = changes(&read, &stored, plan.replace);
        let left = read.len()
            - changes
                .iter()
                .filter(|change| matches!(change, Change::Put { .. }))
                .count();
        if !plan.dry_run {
            make(proxy, &changes, plan.wait.as_deref()).await?;
        }
        for change in &changes {
            output::print_line(change.told(plan.dry_run))?;
        }
        let plural = if left == 1 { "" } else { "s" };
        exit::say(&format!(
            "{} changed, {left} document{plural} as before",
            changes.len()
        ));
        Ok(())
    })
}

/// Has the proxy look at every document, since it may not be able to serve what is written well.
async fn check(proxy: &Proxy, read: &[Checked]) -> Result<(), Failure> {
    let mut errors = Vec::new();
    for checked in read {
        let request = Request::new(Method::POST, "/routes/validate").with_json(checked.text.clone());
        let answer = proxy.ask(request).await?;
        let is_about_it = answer.status == StatusCode::UNPROCESSABLE_ENTITY;
        match answer::done(answer, proxy) {
            Ok(_) => {}
            Err(Failure::Report(text)) if is_about_it => {
                let host = checked.document.host();
                errors.extend(text.lines().map(|line| match line.strip_prefix("error: ") {
                    Some(line) => format!("error: {host}: {line}"),
                    None => line.to_owned(),
                }));
            }
            Err(failure) => return Err(failure),
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::Report(errors.join("\n")))
}

/// What an import changes. Documents that say the same are left as they are.
fn changes<'c>(read: &'c [Checked], stored: &BTreeMap<String, Stored>, replace: bool) -> Vec<Change<'c>> {
    let mut changes = Vec::new();
    let mut named = BTreeSet::new();
    for checked in read {
        let host = checked.document.host().as_str();
        named.insert(host);
        let there = stored.get(host);
        let says_same = |there: &&Stored| {
            let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
            parsed(&there.text).is_some_and(|value| Some(value) == parsed(&checked.text))
        };
        if there.filter(says_same).is_none() {
            let before = there.map(|there| there.version);
            changes.push(Change::Put { checked, before });
        }
    }
    if replace {
        let others = stored.iter().filter(|(host, _)| !named.contains(host.as_str()));
        changes.extend(others.map(|(host, there)| Change::Delete {
            host: host.clone(),
            before: there.version,
        }));
    }
    changes
}

/// Makes the changes one after the other, each of the version that it was decided on.
async fn make(proxy: &Proxy, changes: &[Change<'_>], wait: Option<&str>) -> Result<(), Failure> {
    let last = changes.len().saturating_sub(1);
    for (number, change) in changes.iter().enumerate() {
        let wait = wait.filter(|_| number == last);
        let request = proxy::patient(change.request(wait), wait);
        let made = match proxy.ask(request).await {
            Ok(answer) => answer::done(answer, proxy),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = made {
            let (all, host) = (changes.len(), change.host());
            return Err(Failure::Report(format!(
                "{failure}\n  {number} of {all} changes were made, and then {host} failed"
            )));
        }
    }
    Ok(())
}

// === impl Change ===

impl Change<'_> {
    fn request(&self, wait: Option<&str>) -> Request {
        let wait = wait.map(|wait| format!("?wait={wait}")).unwrap_or_default();
        let path = format!("/routes/{}{wait}", proxy::encoded(self.host()));
        match self {
            Self::Put { checked, before } => {
                let request = Request::new(Method::PUT, path).with_json(checked.text.clone());
                match before {
                    Some(version) => request.with("if-match", format!("\"{version}\"")),
                    None => request.with("if-none-match", "*".to_owned()),
                }
            }
            Self::Delete { before, .. } => {
                Request::new(Method::DELETE, path).with("if-match", format!("\"{before}\""))
            }
        }
    }

    fn host(&self) -> &str {
        match self {
            Self::Put { checked, .. } => checked.document.host().as_str(),
            Self::Delete { host, .. } => host,
        }
    }

    fn told(&self, ahead: bool) -> String {
        let what = match (self, ahead) {
            (Self::Put { before: None, .. }, true) => "would be added",
            (Self::Put { before: None, .. }, false) => "added",
            (Self::Put { .. }, true) => "would be changed",
            (Self::Put { .. }, false) => "changed",
            (Self::Delete { .. }, true) => "would be removed",
            (Self::Delete { .. }, false) => "removed",
        };
        format!("{} {what}", self.host())
    }
}
