//! Listens to a walk and writes its steps down.

use std::sync::{Mutex, PoisonError};

use doors_routing::GeoDecision;

use super::names::Names;
use super::report::{self, Destination, Outcome, Refusal, Step};
use crate::error::Failure;
use crate::forward::rehearsal::{self, Ending};
use crate::request::Context;
use crate::routing::routes::{Handler, Route};
use crate::routing::trace::Tracer;

/// The steps so far. A shared reference listens.
#[derive(Debug)]
pub(super) struct Recorder<'n> {
    names: &'n Names<'n>,
    steps: Mutex<Vec<Step>>,
}

// === impl Recorder ===

impl<'n> Recorder<'n> {
    pub(super) fn new(names: &'n Names<'n>) -> Self {
        Self {
            names,
            steps: Mutex::default(),
        }
    }

    /// Notes that an upstream would be asked, and that its answer is assumed.
    pub(super) fn assumed(&self, destination: rehearsal::Destination) {
        self.push(Step::Asked {
            destination: Destination::from(destination),
        });
    }

    /// All of it.
    pub(super) fn finish(self, ending: Ending) -> (Vec<Step>, Outcome) {
        let steps = self.steps.into_inner().unwrap_or_else(PoisonError::into_inner);
        (steps, Outcome::from(ending))
    }

    fn push(&self, step: Step) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push(step);
    }

    fn path(&self, route: &Route) -> String {
        self.names
            .get(route)
            .map_or_else(|| "?".to_owned(), |named| named.path.clone())
    }

    /// What each of its sets lacks.
    fn refusals(&self, route: &Route, cx: &mut Context) -> Vec<Refusal> {
        let models = self
            .names
            .get(route)
            .map(|named| named.matchers)
            .unwrap_or_default();
        let mut refusals = Vec::new();
        for (set, model) in route.matchers.iter().zip(models) {
            if let Ok(Some(matcher)) = set.refused_by(cx) {
                refusals.push(Refusal {
                    matcher,
                    wants: report::matcher(model, matcher),
                });
            }
        }
        refusals
    }
}

impl<'v> Tracer<'v> for &Recorder<'_> {
    fn elsewhere(&mut self, routes: &'v [Route]) {
        let Some(first) = routes.first() else { return };
        self.push(Step::Elsewhere {
            first: self.path(first),
            routes: routes.len(),
        });
    }

    fn excluded(&mut self, route: &'v Route) {
        self.push(Step::Excluded {
            route: self.path(route),
        });
    }

    fn refused(&mut self, route: &'v Route, cx: &mut Context) {
        let by = self.refusals(route, cx);
        self.push(Step::PassedOver {
            route: self.path(route),
            by,
        });
    }

    fn entered(&mut self, route: &'v Route) {
        let models = self
            .names
            .get(route)
            .map(|named| named.matchers)
            .unwrap_or_default();
        self.push(Step::Taken {
            route: self.path(route),
            matchers: models.iter().map(report::matchers).collect(),
        });
    }

    fn runs(&mut self, handler: &'v Handler, depth: usize, cx: &Context) {
        let (handler, note) = described(handler, cx);
        self.push(Step::Runs { handler, depth, note });
    }

    fn failed(&mut self, failure: &Failure) {
        self.push(Step::Failed {
            status: failure.status.as_u16(),
            message: match failure.message() {
                said if said.is_empty() => failure.to_string(),
                said => said,
            },
        });
    }
}

/// The handler's name in JSON, and what it does with this request, as far as that can be said in a few words.
fn described(handler: &Handler, cx: &Context) -> (&'static str, Option<String>) {
    let note = match handler {
        Handler::Rewrite(rewrite) => {
            // What is none is told when it fails.
            let new = rewrite.of(cx).unwrap_or_default();
            let method = new.method.as_ref().unwrap_or(&cx.parts.method);
            let target = new
                .target
                .as_ref()
                .map_or_else(|| cx.target(), |target| target.as_str());
            Some(format!("to {method} {}", report::masked(target)))
        }
        Handler::Geo(geo) => Some(match geo.decide(cx) {
            GeoDecision::Pass(reason) => format!("passes: {reason}"),
            GeoDecision::Redirect(redirect) => format!(
                "from {}, so to {}",
                redirect.country.escape_ascii(),
                report::masked(&redirect.location())
            ),
        }),
        Handler::LimitBody(most) => Some(format!("at most {most} bytes")),
        _ => None,
    };
    let name = match handler {
        Handler::Authenticate(_) => "authentication",
        Handler::CopyResponse(_) => "copy_response",
        Handler::CopyFields(_) => "copy_response_headers",
        Handler::Doors(_) => "doors_handler",
        Handler::Encode(_) => "encode",
        Handler::Geo(_) => "doors_geo",
        Handler::Headers(_) => "headers",
        Handler::Invoke(_) => "invoke",
        Handler::LimitBody(_) | Handler::SetBody(_) => "request_body",
        Handler::Map(_) => "map",
        Handler::Metrics(_) => "metrics",
        Handler::Proxy(_) => "reverse_proxy",
        Handler::Raise(_) => "error",
        Handler::Rewrite(_) => "rewrite",
        Handler::Skipper(_) => "eskip",
        Handler::Static(_) => "static_response",
        Handler::Subroute(_) => "subroute",
        Handler::Vars(_) => "vars",
    };
    (name, note)
}
