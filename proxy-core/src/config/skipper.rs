//! `eskip`: Skipper's routes.

mod clusters;
mod settings;

use std::collections::HashSet;
use std::sync::Arc;

use caddy_config as model;
use eskip::filters::{FilterSettings, Filters, RouteSettings};
use eskip::routing::{InvalidReason, InvalidRoute, RouteTable, TableOptions};
use eskip::{Call, EditError, Name};

use self::clusters::Clustering;
use super::compile::{Compiler, Surroundings};
use super::error::BuildError;
use crate::clock;
use crate::skipper::settings::{Change, Settings};
use crate::skipper::source::{LoadError, Source};
use crate::skipper::table::{Backend, HashedBy, Placed, Route, Table};

/// The table of a handler: the one that is there if it says the same as before.
pub(super) fn table(compiler: &mut Compiler<'_>, handler: &model::Eskip) -> Option<Arc<Table>> {
    let around = compiler.surroundings;
    let source = around
        .skipper
        .of(handler, || settings::settings(compiler, handler));
    let source = source.ok()?;
    if let Some(table) = source.current() {
        return Some(table);
    }
    let (_, wrong) = source.read();
    let mut is_valid = true;
    for error in wrong {
        match error {
            // It may come yet, as the answers of servers may.
            LoadError::Unread(why) => compiler.warn(&format!(
                "eskip: {why}; until it can be read, requests are answered with 503"
            )),
            LoadError::Syntax(report) => {
                let server = compiler.server.clone();
                compiler.errors.push(BuildError::Routes { server, report });
                is_valid = false;
            }
        }
    }
    if !is_valid {
        return None;
    }
    let table = build(around, &source);
    for invalid in &table.invalid {
        compiler.warn(&format!("eskip: {invalid}"));
    }
    source.settle(&table);
    Some(table)
}

/// A table of what `source` has read.
pub(crate) fn build(surroundings: &Surroundings, source: &Arc<Source>) -> Arc<Table> {
    let settings = &source.settings;
    let (mut routes, is_complete) = source.routes();
    let mut invalid = change(settings, &mut routes);
    invalid.extend(drop_repeated(&mut routes));
    let mut filters = surroundings.filters.clone();
    filters.configure(told(surroundings, settings));
    filters.disable(settings.disabled.iter().cloned());
    let mut compiler = Compiler::new(surroundings);
    let mut clustering = Clustering::new(&mut compiler, settings);
    let mut made = Vec::with_capacity(routes.len());
    for route in &routes {
        match self::route(&filters, &mut clustering, route) {
            Ok(value) => made.push((route, value)),
            Err(reason) => invalid.push(refused(route.id.as_ref(), reason)),
        }
    }
    let options = TableOptions {
        ignore_trailing_slash: settings.ignore_trailing_slash,
    };
    let (table, refused) = RouteTable::build(made, &surroundings.predicates, options);
    invalid.extend(refused);
    let clusters = clustering.finish();
    let left_out = left_out(&invalid);
    routes.retain(|route| !left_out.contains(&route.id.as_ref()));
    drop(left_out);
    Arc::new(Table {
        source: Arc::clone(source),
        routes: table,
        clusters,
        listed: routes,
        invalid,
        made: clock::wall(),
        is_complete,
        rules: settings.rules,
    })
}

/// What filters are told beside their arguments.
fn told(surroundings: &Surroundings, settings: &Settings) -> FilterSettings {
    let (mut told, environment) = (settings.filters.clone(), surroundings.environment.clone());
    told.variables = Some(Arc::new(move |name| environment.get(name)));
    told
}

/// What is the same for all routes: filters around theirs, then routes that are added, then what is changed.
fn change(settings: &Settings, routes: &mut Vec<eskip::Route>) -> Vec<InvalidRoute> {
    settings.defaults.apply(routes);
    let mut invalid = Vec::new();
    let error = |id: Option<Name>, error: EditError| InvalidRoute {
        id,
        reason: InvalidReason::Edit(error.to_string()),
    };
    for Change { edit, pattern } in &settings.clones {
        let errors = eskip::clone_routes(routes, |text| pattern.replace_all(text, edit.replacement()));
        invalid.extend(errors.into_iter().map(|(id, why)| error(id, why)));
    }
    for Change { edit, pattern } in &settings.edits {
        let errors = eskip::edit_routes(routes, |text| pattern.replace_all(text, edit.replacement()));
        invalid.extend(errors.into_iter().map(|(id, why)| error(id.cloned(), why)));
    }
    invalid
}

/// Of routes with one id the last counts, even if nothing can be made of it: an earlier one would not be what was asked
/// for.
fn drop_repeated(routes: &mut Vec<eskip::Route>) -> Vec<InvalidRoute> {
    let mut seen = HashSet::new();
    let is_last: Vec<bool> = routes.iter().rev().map(|route| seen.insert(&route.id)).collect();
    let (mut is_last, mut dropped) = (is_last.into_iter().rev(), Vec::new());
    routes.retain(|route| {
        let stays = is_last.next().unwrap_or(true);
        if !stays {
            dropped.push(refused(route.id.as_ref(), InvalidReason::Repeated));
        }
        stays
    });
    dropped
}

/// A route without its predicates.
fn route(
    filters: &Filters,
    clustering: &mut Clustering<'_, '_>,
    route: &eskip::Route,
) -> Result<Route, InvalidReason> {
    let make = |call: &Call| filters.create(call).map(Placed::from);
    let placed: Vec<Placed> = route.filters.iter().map(make).collect::<Result<_, _>>()?;
    let mut said = RouteSettings::default();
    for one in &placed {
        one.filter.settle(&mut said);
    }
    let backend = match &route.backend {
        eskip::Backend::Shunt => Backend::Shunt,
        eskip::Backend::Loopback => Backend::Loopback,
        eskip::Backend::Dynamic => clustering.dynamic(&said)?,
        eskip::Backend::Forward => clustering.forward(&said)?,
        eskip::Backend::Network(address) => clustering.network(address, &said)?,
        eskip::Backend::Balanced(balanced) => clustering.balanced(balanced, &said)?,
    };
    Ok(Route {
        // What only says how the backend is asked is not met by requests.
        filters: placed
            .into_iter()
            .filter(|placed| placed.wants.request || placed.wants.response)
            .collect(),
        backend,
        hashed_by: is_hashed(&route.backend)
            .then(|| said.hash_key.map_or(HashedBy::Source, HashedBy::Template)),
        // Another proxy is told whom the request is for.
        preserve_host: said
            .preserve_host
            .or_else(|| said.backend_is_proxy.then_some(true)),
        read_timeout: said.read_timeout,
        write_timeout: said.write_timeout,
        access_log: said.access_log,
    })
}

fn is_hashed(backend: &eskip::Backend) -> bool {
    let eskip::Backend::Balanced(balanced) = backend else {
        return false;
    };
    balanced.algorithm.as_deref() == Some("consistentHash")
}

fn refused(id: Option<&Name>, reason: InvalidReason) -> InvalidRoute {
    InvalidRoute {
        id: id.cloned(),
        reason,
    }
}

/// The ids of routes that are not in the table. One that is there twice is: the later one.
fn left_out(invalid: &[InvalidRoute]) -> HashSet<Option<&Name>> {
    let is_out =
        |refused: &&InvalidRoute| !matches!(refused.reason, InvalidReason::Repeated | InvalidReason::Edit(_));
    invalid
        .iter()
        .filter(is_out)
        .map(|refused| refused.id.as_ref())
        .collect()
}
