//! Where a running proxy may be found.

use anyhow::Context as _;
use caddy_config::{Config, ListenAddress};

use crate::exit::Failure;
use crate::settings::Environment;
use crate::source;

/// Places to ask, the likeliest first.
#[derive(Debug)]
pub(crate) struct Places(Vec<(ListenAddress, bool)>);

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    address: &'p ListenAddress,
    /// Whether it was guessed, so that another proxy than the one that is meant may be there.
    guessed: bool,
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
            return Ok(Self(vec![(parse(given)?, false)]));
        }
        let default = environment.admin_address();
        // One that cannot be read leads nowhere; it is the proxy that reports it.
        let saved = environment.autosave().and_then(|path| source::saved(&path).ok()?);
        let mut places = Self(Vec::new());
        places.add(listen(config, default)?, false);
        if let Some(saved) = saved {
            places.add(listen(Some(&saved.config), default)?, true);
        }
        if places.0.is_empty() {
            return Err(Failure::Usage(
                "the admin API is off; --address says where it is nevertheless".to_owned(),
            ));
        }
        Ok(places)
    }

    /// The places in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Place<'_>> {
        self.0.iter().map(|(address, guessed)| Place {
            address,
            guessed: *guessed,
        })
    }

    fn add(&mut self, address: Option<ListenAddress>, guessed: bool) {
        let Some(address) = address else { return };
        if !self.0.iter().any(|(known, _)| *known == address) {
            self.0.push((address, guessed));
        }
    }
}

// === impl Place ===

impl<'p> Place<'p> {
    pub(crate) fn address(self) -> &'p ListenAddress {
        self.address
    }

    pub(crate) fn is_guessed(self) -> bool {
        self.guessed
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
