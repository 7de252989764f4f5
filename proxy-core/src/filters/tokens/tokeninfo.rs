//! Tokens that one server of the whole proxy knows: `oauthTokeninfo` and its kin.

use std::sync::Arc;

use eskip::Arg;
use eskip::filters::{
    Args, Filter, FilterContext, FilterSettings, FilterSpec, Filters, Flow, RouteSettings, Wants,
};
use eskip::routing::{About, ArgsError};
use http::{HeaderValue, header};
use serde_json::Value;

use super::demand::{Demand, How, What};
use super::optout::{OptOut, end};
use super::service::{Around, At, Service};
use super::{Info, Refusal, flow};
use crate::filters::Means;
use crate::filters::outside::{Outside, Redirects};

/// Lets requests pass whose token says what it must.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) service: Arc<Service>,
    pub(super) demand: Arc<Demand>,
}

/// Lets requests with a valid token pass.
#[derive(Debug)]
struct Validate {
    service: Arc<Service>,
    opt_out: OptOut,
    /// What others are told.
    body: Option<Arc<str>>,
}

/// One kind of these filters.
struct Spec {
    name: &'static str,
    about: About,
    create: Create,
    outside: Arc<Outside>,
    around: Arc<Around>,
}

type Create = fn(&[Arg], Arc<Service>) -> Result<Box<dyn Filter>, ArgsError>;

/// A name, its two texts in the manual, and what makes one.
type Kind = (&'static str, &'static str, &'static str, Create);

const KINDS: [Kind; 5] = [
    (
        "oauthTokeninfoAnyScope",
        "lets requests pass whose bearer token has one of the scopes, as the server of tokeninfo_url says",
        r#"oauthTokeninfoAnyScope("read", "write")"#,
        |args, service| checks(args, service, What::Scopes, How::Any),
    ),
    (
        "oauthTokeninfoAllScope",
        "lets requests pass whose bearer token has all of the scopes, as the server of tokeninfo_url says",
        r#"oauthTokeninfoAllScope("read", "write")"#,
        |args, service| checks(args, service, What::Scopes, How::All),
    ),
    (
        "oauthTokeninfoAnyKV",
        "lets requests pass of whose bearer token the server of tokeninfo_url says one of these names and values",
        r#"oauthTokeninfoAnyKV("realm", "employees", "realm", "services")"#,
        |args, service| checks(args, service, What::Pairs, How::Any),
    ),
    (
        "oauthTokeninfoAllKV",
        "lets requests pass of whose bearer token the server of tokeninfo_url says all of these names and values",
        r#"oauthTokeninfoAllKV("realm", "employees", "client_id", "shop")"#,
        |args, service| checks(args, service, What::Pairs, How::All),
    ),
    (
        "oauthTokeninfoValidate",
        "lets requests pass whose bearer token is valid, as the server of tokeninfo_url says; does nothing if a filter before has checked it, or the settings leave the route or the host alone",
        r#"oauthTokeninfoValidate("{optOutAnnotations: [oauth.disabled], optOutHosts: ['^public[.]'], unauthorizedResponse: 'please log in'}")"#,
        Validate::create,
    ),
];

pub(super) fn add(all: &mut Filters, means: &Means) {
    let around = Arc::default();
    for (name, does, example, create) in KINDS {
        all.register(Spec {
            name,
            about: About { does, example },
            create,
            outside: Arc::clone(&means.outside),
            around: Arc::clone(&around),
        });
    }
}

// === impl Spec ===

impl FilterSpec for Spec {
    fn name(&self) -> &'static str {
        self.name
    }

    fn create(&self, args: &[Arg]) -> Result<Box<dyn Filter>, ArgsError> {
        self.create_with(args, &FilterSettings::default())
    }

    fn create_with(&self, args: &[Arg], settings: &FilterSettings) -> Result<Box<dyn Filter>, ArgsError> {
        let url = settings.tokeninfo_url.as_deref().ok_or_else(|| {
            ArgsError(
                "there is no server to ask about tokens: `tokeninfo_url` or --oauth2-tokeninfo-url names it"
                    .to_owned(),
            )
        })?;
        let server = self.outside.server_at(url, Redirects::Stay);
        let server = server.map_err(|error| ArgsError(format!("tokeninfo_url: {error}")))?;
        let service = Service {
            at: At::Tokeninfo(server),
            around: Arc::clone(&self.around),
        };
        (self.create)(args, Arc::new(service))
    }

    fn about(&self) -> About {
        self.about
    }
}

fn checks(args: &[Arg], service: Arc<Service>, what: What, how: How) -> Result<Box<dyn Filter>, ArgsError> {
    let demand = Arc::new(Demand::read(&mut Args::new(args), what, how)?);
    Ok(Box::new(Checks { service, demand }))
}

// === impl Checks ===

impl Filter for Checks {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let demand = Arc::clone(&self.demand);
        self.service.ask(cx, move |said, cx| match said {
            Ok(info) if demand.is_met(&info.0) => {
                info.keep(cx);
                Flow::Next
            }
            Ok(_) => Refusal::Lacking.answer(),
            Err(refusal) => refusal.answer(),
        })
    }

    fn wants(&self) -> Wants {
        // It asks another server.
        Wants::REQUEST.and_acts()
    }
}

// === impl Validate ===

impl Validate {
    fn create(args: &[Arg], service: Arc<Service>) -> Result<Box<dyn Filter>, ArgsError> {
        let mut args = Args::new(args);
        let mut settings = flow::settings(args.text("settings")?)?;
        args.end()?;
        let opt_out = OptOut::take(&mut settings)?;
        let body = match settings.remove("unauthorizedResponse") {
            None => None,
            Some(Value::String(text)) => Some(text.into()),
            Some(_) => return Err(ArgsError("unauthorizedResponse: expected a text".to_owned())),
        };
        end(&settings)?;
        Ok(Box::new(Self {
            service,
            opt_out,
            body,
        }))
    }
}

impl Filter for Validate {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if cx.exchange.kept::<Info>().is_some() || self.opt_out.is_out(cx) {
            return Flow::Next;
        }
        let body = self.body.clone();
        self.service.ask(cx, move |said, cx| match said {
            Ok(info) => {
                info.keep(cx);
                Flow::Next
            }
            Err(refusal) => told(refusal.answer(), body.as_deref()),
        })
    }

    fn wants(&self) -> Wants {
        // It asks another server.
        Wants::REQUEST.and_acts()
    }

    fn settle(&self, route: &mut RouteSettings) {
        self.opt_out.settle(route);
    }
}

/// The same answer, with a text.
fn told(flow: Flow, text: Option<&str>) -> Flow {
    match (flow, text) {
        (Flow::Serve(mut response), Some(text)) => {
            *response.body_mut() = text.to_owned().into();
            let kind = HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            Flow::Serve(response)
        }
        (flow, _) => flow,
    }
}

#[cfg(test)]
mod tests;
