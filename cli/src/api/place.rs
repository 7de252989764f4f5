//! Where a running proxy may be found.

use anyhow::Context as _;
use caddy_config::{Config, ListenAddress};

use crate::exit::Failure;
use crate::settings::Environment;
use crate::source;

/// Places to ask, the likeliest first.
#[derive(Clone, Debug)]
pub(crate) struct Places(Vec<(ListenAddress, Certainty)>);

/// How well it is known that the proxy that is meant is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    /// The user says so.
    Given,
    /// It is where its configuration says, or where it is if that says nothing.
    Configured,
    /// A configuration says so that may be another proxy's.
    Guessed,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    address: &'p ListenAddress,
    certainty: Certainty,
}

// === impl Places ===

impl Places {
    /// The address that was given, and no other. Without one: where the configuration `config` has its admin API, then
    /// where the one that was loaded last has it, so that a proxy is also found by a file that moves it.
    ///
    /// # Errors
    ///
    /// An address that is none.
    pub(crate) fn find(
        given: Option<&str>,
        config: Option<&Config>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        if let Some(given) = given {
            return Ok(Self(vec![(parse(given)?, Certainty::Given)]));
        }
        let default = environment.admin_address();
        // One that cannot be read leads nowhere; it is the proxy that reports it.
        let saved = environment.autosave().and_then(|path| source::saved(&path).ok()?);
        let mut places = Self(Vec::new());
        places.add(listen(config, default)?, Certainty::Configured);
        if let Some(saved) = saved {
            places.add(listen(Some(&saved.config), default)?, Certainty::Guessed);
        }
        places.any()
    }

    /// This place alone, where the proxy was found.
    ///
    /// # Errors
    ///
    /// An address that is none.
    pub(crate) fn at(place: &str) -> Result<Self, Failure> {
        Ok(Self(vec![(parse(place)?, Certainty::Given)]))
    }

    /// Those of which it is known whose they are.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub(crate) fn certain(mut self) -> Result<Self, Failure> {
        self.0.retain(|(_, certainty)| *certainty != Certainty::Guessed);
        self.any()
    }

    /// The places in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Place<'_>> {
        self.0.iter().map(|(address, certainty)| Place {
            address,
            certainty: *certainty,
        })
    }

    fn any(self) -> Result<Self, Failure> {
        if self.0.is_empty() {
            return Err(Failure::Usage(
                "the configuration has no admin API; --address says where it is nevertheless, and the signal SIGUSR1 \
                 reloads without it"
                    .to_owned(),
            ));
        }
        Ok(self)
    }

    fn add(&mut self, address: Option<ListenAddress>, certainty: Certainty) {
        let Some(address) = address else { return };
        if !self.0.iter().any(|(known, _)| *known == address) {
            self.0.push((address, certainty));
        }
    }
}

// === impl Place ===

impl<'p> Place<'p> {
    pub(crate) fn address(self) -> &'p ListenAddress {
        self.address
    }

    /// Whether the user has named it.
    pub(crate) fn is_given(self) -> bool {
        self.certainty == Certainty::Given
    }

    /// Whether another proxy than the one that is meant may be there.
    pub(crate) fn is_guessed(self) -> bool {
        self.certainty == Certainty::Guessed
    }
}

/// Where a configuration has its admin API; `None` without any.
fn listen(config: Option<&Config>, default: &str) -> Result<Option<ListenAddress>, Failure> {
    let admin = config.and_then(|config| config.admin.as_ref());
    if admin.is_some_and(|admin| admin.disabled) {
        return Ok(None);
    }
    match admin.and_then(|admin| admin.listen.as_deref()) {
        Some(address) => parse(address).map(Some),
        None if default == "off" => Ok(None),
        None => parse(default).map(Some),
    }
}

fn parse(address: &str) -> Result<ListenAddress, Failure> {
    let parsed = address.parse::<ListenAddress>();
    let parsed = parsed.map_err(|error| anyhow::anyhow!("{error}; {}", error.help()));
    Ok(parsed.with_context(|| format!("the admin address `{address}`"))?)
}
