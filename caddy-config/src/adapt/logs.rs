//! Loggers, and which requests go to which.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    cx::Cx,
    options::Options,
    server::{Pairing, Served},
    site,
};
use crate::model::{Log, LogLevel, Logging, ServerLogs};

const DEFAULT: &str = "default";

/// `logging`: the loggers that options and sites define. Requests that have a logger of their own are left out of
/// the default one.
pub(super) fn logging(pairings: &[Pairing<'_>], options: &Options, cx: &mut Cx<'_>) -> Option<Logging> {
    let mut logs: BTreeMap<String, Log> = BTreeMap::new();
    for (name, log) in &options.logs {
        logs.extend(log.clone().map(|log| (name.clone(), log)));
    }
    let site_logs = pairings
        .iter()
        .flat_map(|pairing| &pairing.sites)
        .flat_map(|served| &served.site.logs);
    let mut seen = BTreeSet::new();
    for (site_log, span) in site_logs {
        let Some(log) = site_log.log.clone() else { continue };
        if seen.insert(*span)
            && let Some(first) = logs.insert(site_log.name.clone(), log.clone())
            && first != log
        {
            let help = "give one of them another name".to_owned();
            cx.error(
                *span,
                format!("the log `{}` is defined twice, in different ways", site_log.name),
                help,
            );
        }
    }
    let apart: BTreeSet<&String> = logs
        .iter()
        .filter(|(name, _)| *name != DEFAULT)
        .flat_map(|(_, log)| &log.include)
        .collect();
    let apart: Vec<String> = apart.into_iter().cloned().collect();
    if options.debug {
        logs.entry(DEFAULT.to_owned()).or_default();
        for log in logs.values_mut() {
            log.level.get_or_insert_with(|| LogLevel::Debug.into());
        }
    }
    if !apart.is_empty() {
        let default = logs.entry(DEFAULT.to_owned()).or_default();
        default.exclude.extend(apart);
        default.exclude.sort();
        default.exclude.dedup();
    }
    Some(logs)
        .filter(|logs| !logs.is_empty())
        .map(|logs| Logging { sink: None, logs })
}

/// `logs` of a server: which of its hosts are logged where. `None` if none of its sites has a log.
pub(super) fn server_logs(sites: &[Served<'_>]) -> Option<ServerLogs> {
    if sites.iter().all(|served| served.site.logs.is_empty()) {
        return None;
    }
    let mut logs = ServerLogs::default();
    for Served { site, keys } in sites {
        let named = keys
            .iter()
            .map(|key| &key.address.host)
            .filter(|host| !host.is_empty());
        let hosts: BTreeSet<&String> = named.collect();
        for (log, _) in site.logs.iter().filter(|(log, _)| !log.no_hostname) {
            if site::has_every_host(keys) && log.hostnames.is_empty() {
                logs.default_logger_name = Some(log.name.clone()).filter(|name| !name.is_empty());
                continue;
            }
            let chosen: Vec<&String> = if log.hostnames.is_empty() {
                hosts.iter().copied().collect()
            } else {
                log.hostnames.iter().collect()
            };
            for host in chosen {
                logs.logger_names
                    .entry(host.clone())
                    .or_default()
                    .push(log.name.clone());
            }
        }
        if site.logs.is_empty() {
            logs.skip_unmapped_hosts |= site::has_every_host(keys);
            // Caddy keeps the port here and then compares without it, so that such hosts are logged after all.
            logs.skip_hosts.extend(hosts.into_iter().cloned());
        }
    }
    logs.skip_hosts.sort();
    Some(logs)
}
