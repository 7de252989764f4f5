//! Tokens that the issuer of the arguments knows, as RFC 7662 has it: `oauthTokenintrospection` and its kin.

use std::sync::Arc;

use eskip::Arg;
use eskip::filters::{Args, Filter, FilterSettings, FilterSpec, Filters};
use eskip::routing::{About, ArgsError};

use super::credentials::Credentials;
use super::demand::{Demand, How, What};
use super::issuer::{introspection_of, issuer};
use super::latest::{Latest, Shared};
use super::service::{Around, At, Service};
use super::tokeninfo::Checks;
use crate::filters::Means;
use crate::filters::outside::Server;

/// What a filter of a name needs, and its texts in the manual.
struct Kind {
    name: &'static str,
    what: What,
    how: How,
    /// Whether the proxy says who it is.
    secure: bool,
    about: (&'static str, &'static str),
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "oauthTokenintrospectionAnyClaims",
        what: What::Claims,
        how: How::Any,
        secure: false,
        about: (
            "lets requests pass of whose bearer token its issuer, when it is asked, says one of these claims",
            r#"oauthTokenintrospectionAnyClaims("https://issuer.example.org", "email", "phone")"#,
        ),
    },
    Kind {
        name: "oauthTokenintrospectionAllClaims",
        what: What::Claims,
        how: How::All,
        secure: false,
        about: (
            "lets requests pass of whose bearer token its issuer, when it is asked, says all of these claims",
            r#"oauthTokenintrospectionAllClaims("https://issuer.example.org", "email", "phone")"#,
        ),
    },
    Kind {
        name: "oauthTokenintrospectionAnyKV",
        what: What::Pairs,
        how: How::Any,
        secure: false,
        about: (
            "lets requests pass of whose bearer token its issuer, when it is asked, says one of these names and values",
            r#"oauthTokenintrospectionAnyKV("https://issuer.example.org", "realm", "a", "realm", "b")"#,
        ),
    },
    Kind {
        name: "oauthTokenintrospectionAllKV",
        what: What::Pairs,
        how: How::All,
        secure: false,
        about: (
            "lets requests pass of whose bearer token its issuer, when it is asked, says all of these names and values",
            r#"oauthTokenintrospectionAllKV("https://issuer.example.org", "realm", "a", "client_id", "shop")"#,
        ),
    },
    Kind {
        name: "secureOauthTokenintrospectionAnyClaims",
        what: What::Claims,
        how: How::Any,
        secure: true,
        about: (
            "as `oauthTokenintrospectionAnyClaims`, asked with an id and a secret: texts, `secretRef:` and the path of a file, or empty for OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET of the environment",
            r#"secureOauthTokenintrospectionAnyClaims("https://issuer.example.org", "doorway", "not-secret", "email")"#,
        ),
    },
    Kind {
        name: "secureOauthTokenintrospectionAllClaims",
        what: What::Claims,
        how: How::All,
        secure: true,
        about: (
            "as `oauthTokenintrospectionAllClaims`, asked with an id and a secret: texts, `secretRef:` and the path of a file, or empty for OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET of the environment",
            r#"secureOauthTokenintrospectionAllClaims("https://issuer.example.org", "doorway", "not-secret", "email", "phone")"#,
        ),
    },
    Kind {
        name: "secureOauthTokenintrospectionAnyKV",
        what: What::Pairs,
        how: How::Any,
        secure: true,
        about: (
            "as `oauthTokenintrospectionAnyKV`, asked with an id and a secret: texts, `secretRef:` and the path of a file, or empty for OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET of the environment",
            r#"secureOauthTokenintrospectionAnyKV("https://issuer.example.org", "doorway", "not-secret", "realm", "a")"#,
        ),
    },
    Kind {
        name: "secureOauthTokenintrospectionAllKV",
        what: What::Pairs,
        how: How::All,
        secure: true,
        about: (
            "as `oauthTokenintrospectionAllKV`, asked with an id and a secret: texts, `secretRef:` and the path of a file, or empty for OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET of the environment",
            r#"secureOauthTokenintrospectionAllKV("https://issuer.example.org", "doorway", "not-secret", "realm", "a")"#,
        ),
    },
];

/// One kind of these filters.
struct Spec {
    kind: Kind,
    known: Known,
}

/// What all of these filters share.
#[derive(Clone)]
struct Known {
    means: Means,
    endpoints: Arc<Shared<Server>>,
    around: Arc<Around>,
}

pub(super) fn add(all: &mut Filters, means: &Means) {
    let known = Known {
        means: means.clone(),
        endpoints: Arc::default(),
        around: Arc::default(),
    };
    for kind in KINDS {
        let known = known.clone();
        all.register(Spec { kind, known });
    }
}

// === impl Spec ===

impl FilterSpec for Spec {
    fn name(&self) -> &'static str {
        self.kind.name
    }

    fn create(&self, args: &[Arg]) -> Result<Box<dyn Filter>, ArgsError> {
        self.create_with(args, &FilterSettings::default())
    }

    fn create_with(&self, args: &[Arg], settings: &FilterSettings) -> Result<Box<dyn Filter>, ArgsError> {
        let filter = self.kind.create(args, &self.known, settings)?;
        Ok(Box::new(filter))
    }

    fn about(&self) -> About {
        let (does, example) = self.kind.about;
        About { does, example }
    }
}

// === impl Kind ===

impl Kind {
    fn create(&self, args: &[Arg], known: &Known, settings: &FilterSettings) -> Result<Checks, ArgsError> {
        let mut args = Args::new(args);
        let issuer = issuer(&mut args, &known.means.outside)?;
        let client = if self.secure {
            Some(Credentials::read(&mut args, |name| settings.variable(name))?)
        } else {
            None
        };
        let demand = Demand::read(&mut args, self.what, self.how)?;
        let endpoint = known.endpoints.of(&issuer, || {
            let (issuer, outside) = (issuer.clone(), Arc::clone(&known.means.outside));
            let name = format!("introspection by {issuer}");
            Latest::new(&name, &known.means.tasks, move || {
                Box::pin(introspection_of(issuer.clone(), Arc::clone(&outside)))
            })
        });
        let service = Service {
            at: At::Introspection {
                issuer,
                endpoint,
                client,
            },
            around: Arc::clone(&known.around),
        };
        Ok(Checks {
            service: Arc::new(service),
            demand: Arc::new(demand),
        })
    }
}

#[cfg(test)]
mod tests;
