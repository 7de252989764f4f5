//! Tokens that are checked here: `jwtValidation` and `jwtValidationKeys`.

use std::sync::Arc;

use eskip::Arg;
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use tracing::debug;

use super::issuer::{issuer, keys_at, keys_of};
use super::keys::{KeySet, Terms, Worthless};
use super::latest::{Coming, Latest, Now, Shared};
use super::{Claims, Info, Refusal, bearer};
use crate::filters::Means;
use crate::filters::outside::Redirects;

/// Lets requests with a token pass that the issuer has signed.
#[derive(Debug)]
struct Jwt {
    keys: Arc<Latest<KeySet>>,
    terms: Arc<Terms>,
}

type Sets = Arc<Shared<KeySet>>;

pub(super) fn add(all: &mut Filters, means: &Means) {
    let sets = Sets::default();
    let (theirs, around) = (Arc::clone(&sets), means.clone());
    all.add(
        "jwtValidation",
        (
            "lets requests with a bearer token pass that an issuer has signed, whose keys are found by its OpenID configuration",
            r#"jwtValidation("https://issuer.example.org")"#,
        ),
        move |args| Jwt::of_issuer(args, &theirs, &around),
    );
    let around = means.clone();
    all.add(
        "jwtValidationKeys",
        (
            "lets requests with a bearer token pass that is signed with one of the keys at a URL",
            r#"jwtValidationKeys("https://issuer.example.org/keys.json")"#,
        ),
        move |args| Jwt::of_keys(args, &sets, &around),
    );
}

// === impl Jwt ===

impl Jwt {
    fn of_issuer(args: &[Arg], sets: &Sets, means: &Means) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let issuer = issuer(&mut args, &means.outside)?;
        args.end()?;
        let terms = Terms {
            issuer: Some(issuer.clone()),
            subject: true,
        };
        let name = format!("issuer {issuer}");
        let keys = sets.of(&name, || {
            let outside = Arc::clone(&means.outside);
            Latest::new(&name, &means.tasks, move || {
                Box::pin(keys_of(issuer.clone(), Arc::clone(&outside)))
            })
        });
        Ok(Self {
            keys,
            terms: Arc::new(terms),
        })
    }

    fn of_keys(args: &[Arg], sets: &Sets, means: &Means) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let server = means.outside.server(&mut args, Redirects::Follow)?;
        args.end()?;
        let name = format!("keys {}", server.url);
        let keys = sets.of(&name, || {
            // A query may hold a key.
            let host = format!("keys of {}", server.url.host_str().unwrap_or_default());
            Latest::new(&host, &means.tasks, move || Box::pin(keys_at(server.clone())))
        });
        Ok(Self {
            keys,
            terms: Arc::default(),
        })
    }

    /// Judges the token when the keys that are being fetched are there.
    fn later(&self, coming: Coming<KeySet>) -> Flow {
        let terms = Arc::clone(&self.terms);
        Flow::after(coming.value(), move |keys, cx| {
            let opened = keys.map_or(Err(Worthless::UnknownKey), |keys| open(&keys, cx));
            pass(opened, &terms, cx)
        })
    }
}

impl Filter for Jwt {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if bearer(&cx.request.headers).is_none() {
            return Refusal::Missing.answer();
        }
        let keys = match self.keys.now(cx.env.now()) {
            Now::There(keys) => keys,
            Now::Coming(coming) => return self.later(coming),
            Now::Missing => return Refusal::Invalid.answer(),
        };
        match open(&keys, cx) {
            // The issuer may have a new one.
            Err(Worthless::UnknownKey) if let Some(coming) = self.keys.newer(cx.env.now()) => {
                self.later(coming)
            }
            opened => pass(opened, &self.terms, cx),
        }
    }

    fn wants(&self) -> Wants {
        // It asks another server.
        Wants::REQUEST.and_acts()
    }
}

fn open(keys: &KeySet, cx: &FilterContext<'_>) -> Result<Claims, Worthless> {
    keys.open(bearer(&cx.request.headers).unwrap_or_default())
}

/// Lets a request pass whose token says what it must.
fn pass(opened: Result<Claims, Worthless>, terms: &Terms, cx: &mut FilterContext<'_>) -> Flow {
    let judged = opened.and_then(|claims| terms.judge(&claims, cx.env.wall()).map(|()| claims));
    match judged {
        Ok(claims) => {
            Info::new(claims).keep(cx);
            Flow::Next
        }
        Err(why) => {
            debug!(%why, "a token is refused");
            Refusal::Invalid.answer()
        }
    }
}

#[cfg(test)]
mod tests;
