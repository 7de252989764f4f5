//! `doorway store`: a look at a store of routes, without a proxy.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use anyhow::Context as _;
use caddy_config::StoreUrl;
use route_store::{CheckReport, Store, StoreSettings, open};

use crate::args::{StoreCommand, StoreFrom};
use crate::exit::{Failure, Outcome};
use crate::settings::Environment;
use crate::{output, runtime};

/// The variable that holds the URL if nothing else is said.
const URL: &str = "DOORWAY_STORE_URL";

/// Carries out one of the commands.
pub(crate) fn store(command: &StoreCommand, environment: &Environment) -> Outcome {
    match command {
        StoreCommand::Migrate(from) => migrate(from, environment),
        StoreCommand::Check { from, json } => check(from, *json, environment),
    }
}

fn migrate(from: &StoreFrom, environment: &Environment) -> Outcome {
    runtime::block_on(async {
        let store = opened(from, environment)?;
        let report = store.migrate().await.map_err(anyhow::Error::new)?;
        let said = if report.from == report.to {
            format!("the {} store has layout {}, the newest", report.kind, report.to)
        } else {
            format!(
                "the {} store had layout {} and has {} now",
                report.kind, report.from, report.to
            )
        };
        output::print_line(said)
    })
}

fn check(from: &StoreFrom, as_json: bool, environment: &Environment) -> Outcome {
    runtime::block_on(async {
        let store = opened(from, environment)?;
        // Looking changes nothing: a database that is not there is not made.
        if let Some(missing) = missing_file(from, environment) {
            return Err(Failure::Report(format!(
                "error: there is no file {}; check the path, or make it with `doorway store migrate`",
                missing.display()
            )));
        }
        let report = store.check().await.map_err(anyhow::Error::new)?;
        if as_json {
            let json = serde_json::to_value(&report).context("the report is no JSON")?;
            output::print_line(format!("{json:#}"))?;
        } else {
            output::print(&told(&report))?;
        }
        if report.unreadable.is_empty() {
            return Ok(());
        }
        let lines = report.unreadable.iter();
        let lines: Vec<String> = lines
            .map(|one| format!("error: {}: {}", one.host, one.reason))
            .collect();
        Err(Failure::Report(lines.join("\n")))
    })
}

/// The file of a SQLite store, if it is not there.
fn missing_file(from: &StoreFrom, environment: &Environment) -> Option<PathBuf> {
    let named = || environment.get(from.url_env.as_deref().unwrap_or(URL));
    let text = from.url.as_deref().or_else(named)?;
    let path = text.trim().strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = PathBuf::from(path.split('?').next().unwrap_or(path));
    (!path.exists()).then_some(path)
}

fn told(report: &CheckReport) -> String {
    let mut text = format!("{:<10} {}, layout {}\n", "store", report.kind, report.layout);
    if let Some(revision) = &report.revision {
        text.push_str(&format!(
            "{:<10} {} of epoch {}\n",
            "revision", revision.number, revision.epoch
        ));
    }
    text.push_str(&format!("{:<10} {}\n", "routes", report.routes));
    for (version, count) in &report.schema_versions {
        text.push_str(&format!("{:<10} {count} in version {version}\n", ""));
    }
    text.push_str(&format!(
        "{:<10} {}, {} behind\n",
        "replicas", report.replicas, report.behind
    ));
    text
}

/// The store. It need not be there yet: what is asked of it finds out.
fn opened(from: &StoreFrom, environment: &Environment) -> Result<Arc<dyn Store>, Failure> {
    let text = match (&from.url, &from.url_env) {
        (Some(url), _) => url.as_str(),
        (None, name) => {
            let name = name.as_deref().unwrap_or(URL);
            let missing = || Failure::Usage(format!("no URL, and the environment has no variable {name}"));
            environment.get(name).ok_or_else(missing)?
        }
    };
    let url: StoreUrl = text.trim().parse().map_err(|error| {
        Failure::Usage(format!(
            "{error}: write redis://, rediss://, sqlite: or postgres://, and where it is"
        ))
    })?;
    let kind = url.kind().as_str().parse().map_err(anyhow::Error::new)?;
    let settings = StoreSettings {
        prefix: from.prefix.clone(),
        ..StoreSettings::new(kind, url.expose())
    };
    // Only a store in memory asks for the time.
    Ok(open(&settings, UNIX_EPOCH).map_err(anyhow::Error::new)?)
}
