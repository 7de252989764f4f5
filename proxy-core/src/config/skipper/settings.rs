//! What an `eskip` handler says beside its routes, checked.

use std::path::PathBuf;
use std::sync::Arc;

use caddy_config as model;
use eskip::filters::{Breaker, BreakerKind, FilterSettings};
use eskip::{Call, DefaultFilters, Edit};
use http::StatusCode;

use super::super::compile::Compiler;
use crate::skipper::settings::{Change, Input, LOOPBACKS, POLL, Settings};
use crate::skipper::supply::Supply;
use crate::skipper::table::Rules;
use crate::upstream::health::ShedSettings;

/// `Err`: something is wrong; it was noted.
pub(super) fn settings(compiler: &mut Compiler<'_>, handler: &model::Eskip) -> Result<Settings, ()> {
    let before = compiler.errors.len();
    let files = handler.files.iter().map(|path| Input::File(PathBuf::from(path)));
    let inline = handler.inline.iter().cloned().map(Input::Inline);
    let urls = handler.urls.iter().cloned().map(Input::Url);
    let given = supplies(compiler, &handler.sources).into_iter().map(Input::Given);
    let status = handler
        .default_status
        .and_then(|status| StatusCode::from_u16(status).ok());
    let settings = Settings {
        inputs: files.chain(inline).chain(urls).chain(given).collect(),
        poll: handler.poll.filter(|poll| !poll.is_zero()).unwrap_or(POLL),
        defaults: DefaultFilters {
            prepend: filters(compiler, &handler.default_filters_prepend),
            append: filters(compiler, &handler.default_filters_append),
        },
        clones: changes(compiler, &handler.clone_routes),
        edits: changes(compiler, &handler.edit_routes),
        rules: Rules {
            preserve_host: handler.preserve_host,
            normalize_host: handler.normalize_host,
            most_loopbacks: match handler.max_loopbacks {
                None | Some(0) => LOOPBACKS,
                Some(most) => u32::try_from(most).unwrap_or(0),
            },
            default_status: status.unwrap_or(StatusCode::NOT_FOUND),
        },
        ignore_trailing_slash: handler.ignore_trailing_slash,
        insecure: handler.insecure,
        forward: handler.forward_backend.clone(),
        filters: filter_settings(handler),
        disabled: handler.disabled_filters.clone(),
        shed: handler.passive_health.as_ref().map(shed),
        breakers: handler.breakers.iter().map(breaker).collect(),
    };
    if compiler.errors.len() == before {
        Ok(settings)
    } else {
        Err(())
    }
}

/// The sources of these names.
fn supplies(compiler: &mut Compiler<'_>, names: &[String]) -> Vec<Arc<Supply>> {
    let mut all = Vec::new();
    for name in names {
        match compiler.surroundings.skipper.supply(name) {
            Some(supply) => all.push(supply),
            None => compiler.wrong("no source of routes that this program has", name),
        }
    }
    all
}

fn filter_settings(handler: &model::Eskip) -> FilterSettings {
    let mut settings = FilterSettings::default();
    settings.tokeninfo_url.clone_from(&handler.tokeninfo_url);
    settings
}

fn filters(compiler: &mut Compiler<'_>, texts: &[String]) -> Vec<Call> {
    let mut all = Vec::new();
    for text in texts {
        match eskip::parse_filters(text) {
            Ok(mut filters) => all.append(&mut filters),
            Err(errors) => compiler.wrong("no list of filters", &format!("{text}` ({errors})")),
        }
    }
    all
}

fn changes(compiler: &mut Compiler<'_>, texts: &[String]) -> Vec<Change> {
    let mut all = Vec::new();
    for text in texts {
        let edit = text.parse::<Edit>().map_err(|error| error.to_string());
        let change = edit.and_then(|edit| {
            let pattern = model::regexp::compile(edit.pattern()).map_err(|error| error.to_string())?;
            Ok(Change { edit, pattern })
        });
        match change {
            Ok(change) => all.push(change),
            Err(why) => compiler.wrong("no change of routes", &format!("{text}` ({why})")),
        }
    }
    all
}

fn shed(health: &model::EskipPassiveHealth) -> ShedSettings {
    let part = |number: Option<&serde_json::Number>, default| {
        number.and_then(serde_json::Number::as_f64).unwrap_or(default)
    };
    ShedSettings {
        period: health.period,
        min_requests: health.min_requests,
        min: part(health.min_drop_probability.as_ref(), 0.0),
        max: part(Some(&health.max_drop_probability), 1.0),
        most_unhealthy: part(health.max_unhealthy_endpoints_ratio.as_ref(), 1.0),
    }
}

fn breaker(breaker: &model::EskipBreaker) -> (Option<String>, Breaker) {
    let kind = match breaker.kind {
        model::EskipBreakerKind::Consecutive { failures } => BreakerKind::Consecutive { failures },
        model::EskipBreakerKind::Rate { failures, window } => BreakerKind::Rate { failures, window },
        model::EskipBreakerKind::Disabled => BreakerKind::Disabled,
    };
    let settings = Breaker {
        kind: Some(kind),
        timeout: breaker.timeout,
        half_open: breaker.half_open_requests,
        idle_ttl: breaker.idle_ttl,
    };
    (breaker.host.clone(), settings)
}
