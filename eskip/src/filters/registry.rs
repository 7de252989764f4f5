//! The kinds of filters that routes may name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::filter::Filter;
use crate::routing::{About, ArgsError, Predicates};
use crate::{Arg, Call};

/// A kind of filter.
pub trait FilterSpec: Send + Sync {
    /// Its name in routes.
    fn name(&self) -> &'static str;

    /// A filter with these arguments.
    ///
    /// # Errors
    ///
    /// Arguments that say nothing.
    fn create(&self, args: &[Arg]) -> Result<Box<dyn Filter>, ArgsError>;

    /// The same, for filters that need more than arguments. Default: they need no more.
    ///
    /// # Errors
    ///
    /// Arguments that say nothing, or settings that are missing.
    fn create_with(&self, args: &[Arg], settings: &FilterSettings) -> Result<Box<dyn Filter>, ArgsError> {
        let _ = settings;
        self.create(args)
    }

    /// What the manual says of it.
    fn about(&self) -> About {
        About::default()
    }
}

/// What whoever runs the proxy tells filters, beside the arguments that routes have.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct FilterSettings {
    /// Where the `oauthTokeninfo` filters ask about tokens. Default: nowhere, and routes with them are invalid.
    pub tokeninfo_url: Option<String>,
    /// Variables of the environment, for the filters that take something from there. Default: there are none.
    pub variables: Option<LookUp>,
}

/// Gives the value of a name, if there is one.
pub type LookUp = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Why there is no filter.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// There is no filter of that name.
    #[error("unknown_filter: filter {0:?} not found")]
    Unknown(String),
    /// The name is that of a predicate.
    #[error("unknown_filter: trying to use {0:?} as filter, but it is only available as predicate")]
    IsPredicate(String),
    /// Skipper has it, and this proxy has not.
    #[error("unknown_filter: filter {name:?} is not supported: {why}")]
    Unsupported {
        /// Its name.
        name: String,
        /// Why, and what there is instead.
        why: &'static str,
    },
    /// Whoever runs the proxy does not want it.
    #[error("unknown_filter: filter {0:?} is disabled")]
    Disabled(String),
    /// The arguments say nothing.
    #[error("invalid_filter_params: failed to create filter {name}(): {why}")]
    Args {
        /// The filter.
        name: String,
        /// What is wrong with them.
        why: ArgsError,
    },
}

/// The kinds of filters that routes may name.
///
/// `Default` has those that need nothing but the request and its answer. Those that need sockets, files or timers are
/// added by whoever has them.
#[derive(Clone)]
pub struct Filters {
    specs: BTreeMap<&'static str, Arc<dyn FilterSpec>>,
    disabled: Vec<String>,
    settings: FilterSettings,
}

/// Makes a filter of a function.
struct Spec<F>(&'static str, About, F);

/// What Skipper has and nobody here: filters by name, and why.
const UNSUPPORTED: &[(&str, &[&str])] = &[
    (
        "scripts are not run; there are filters for most of what they do",
        &["lua"],
    ),
    ("requests are not signed for AWS", &["awsSigv4"]),
    (
        "Open Policy Agent is not asked; `webhook` asks a service of your own",
        &[
            "opaAuthorizeRequest",
            "opaAuthorizeRequestWithBody",
            "opaServeResponse",
            "opaServeResponseWithReqBody",
        ],
    ),
    (
        "log-ins by OpenID Connect and OAuth grants are not made; `webhook` asks a service of your own",
        &[
            "grantCallback",
            "grantClaimsQuery",
            "grantLogout",
            "oauthGrant",
            "oauthOidcAllClaims",
            "oauthOidcAnyClaims",
            "oauthOidcUserInfo",
            "oidcClaimsQuery",
        ],
    ),
    (
        "rates are limited by each proxy for itself: `ratelimit`, `clientRatelimit`, `backendRatelimit`",
        &[
            "clusterClientRatelimit",
            "clusterLeakyBucketRatelimit",
            "clusterRatelimit",
            "ratelimitFailClosed",
        ],
    ),
    ("there is no FastCGI", &["setFastCgiFilename"]),
];

// === impl FilterError ===

impl FilterError {
    /// The kind of reason, as logs and metrics name it; Skipper's names.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Args { .. } => "invalid_filter_params",
            Self::Unknown(_) | Self::IsPredicate(_) | Self::Unsupported { .. } | Self::Disabled(_) => {
                "unknown_filter"
            }
        }
    }
}

// === impl Filters ===

impl Filters {
    /// Adds a kind, in place of one that had its name.
    pub fn register(&mut self, spec: impl FilterSpec + 'static) {
        self.specs.insert(spec.name(), Arc::new(spec));
    }

    /// Adds a kind by a function that makes one, with what the manual says of it.
    pub fn add<F: Filter + 'static>(
        &mut self,
        name: &'static str,
        (does, example): (&'static str, &'static str),
        create: impl Fn(&[Arg]) -> Result<F, ArgsError> + Send + Sync + 'static,
    ) {
        let create =
            move |args: &[Arg]| -> Result<Box<dyn Filter>, ArgsError> { Ok(Box::new(create(args)?)) };
        self.register(Spec(name, About { does, example }, create));
    }

    /// Without these kinds.
    pub fn disable(&mut self, names: impl IntoIterator<Item = String>) {
        self.disabled.extend(names);
    }

    /// Tells filters that are made from now on what they need beside their arguments.
    pub fn configure(&mut self, settings: FilterSettings) {
        self.settings = settings;
    }

    /// What the manual says of each kind, by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, About)> {
        self.specs.iter().map(|(name, spec)| (*name, spec.about()))
    }

    /// What Skipper has and nobody here, each with why.
    pub fn unsupported() -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = UNSUPPORTED.iter();
        all.flat_map(|(why, names)| names.iter().map(|name| (*name, *why)))
    }

    /// The filter of a call.
    ///
    /// # Errors
    ///
    /// There is no such filter, or its arguments say nothing.
    pub fn create(&self, call: &Call) -> Result<Box<dyn Filter>, FilterError> {
        let name = call.name.as_str();
        if self.disabled.iter().any(|disabled| disabled == name) {
            return Err(FilterError::Disabled(name.to_owned()));
        }
        let Some(spec) = self.specs.get(name) else {
            return Err(missing(name));
        };
        let made = spec.create_with(&call.args, &self.settings);
        made.map_err(|why| FilterError::Args {
            name: name.to_owned(),
            why,
        })
    }
}

fn missing(name: &str) -> FilterError {
    if let Some((_, why)) = Filters::unsupported().find(|(known, _)| *known == name) {
        let name = name.to_owned();
        return FilterError::Unsupported { name, why };
    }
    if Predicates::default().all().any(|(known, _)| known == name) {
        return FilterError::IsPredicate(name.to_owned());
    }
    FilterError::Unknown(name.to_owned())
}

impl Default for Filters {
    fn default() -> Self {
        let mut all = Self {
            specs: BTreeMap::new(),
            disabled: Vec::new(),
            settings: FilterSettings::default(),
        };
        super::FAMILIES.iter().for_each(|add| add(&mut all));
        all
    }
}

// === impl FilterSettings ===

impl FilterSettings {
    /// The value of a variable of the environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variables.as_ref().and_then(|look_up| look_up(name))
    }
}

impl fmt::Debug for FilterSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query of a URL may hold a key.
        f.debug_struct("FilterSettings").finish_non_exhaustive()
    }
}

impl fmt::Debug for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.specs.keys()).finish()
    }
}

// === impl Spec ===

impl<F> FilterSpec for Spec<F>
where
    F: Fn(&[Arg]) -> Result<Box<dyn Filter>, ArgsError> + Send + Sync,
{
    fn name(&self) -> &'static str {
        self.0
    }

    fn create(&self, args: &[Arg]) -> Result<Box<dyn Filter>, ArgsError> {
        (self.2)(args)
    }

    fn about(&self) -> About {
        self.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_a_valid_call_of_every_filter() {
        let filters = Filters::default();
        for (name, About { does, example }) in filters.all() {
            assert!(!does.is_empty(), "{name}");
            let calls = crate::parse_filters(example).unwrap();
            let [call] = calls.as_slice() else {
                panic!("{name}")
            };
            assert_eq!(call.name.as_str(), name);
            assert_eq!(filters.create(call).err(), None, "{name}");
        }
    }

    #[test]
    fn a_filter_that_is_missing_says_why() {
        let mistake = |text: &str| {
            let calls = crate::parse_filters(text).unwrap();
            Filters::default().create(&calls[0]).unwrap_err()
        };
        assert!(matches!(mistake("awsSigv4()"), FilterError::Unsupported { .. }));
        assert_eq!(
            mistake("OTelBaggage(1)"),
            FilterError::IsPredicate("OTelBaggage".to_owned())
        );
        assert_eq!(
            mistake("Weight(1)"),
            FilterError::IsPredicate("Weight".to_owned())
        );
        assert_eq!(mistake("none()"), FilterError::Unknown("none".to_owned()));
        assert!(
            Filters::unsupported().all(|(name, _)| !Filters::default().specs.contains_key(name)),
            "what is there is not supported"
        );
    }
}
