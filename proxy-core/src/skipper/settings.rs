//! What an `eskip` handler says beside its routes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use eskip::filters::{Breaker, FilterSettings};
use eskip::{DefaultFilters, Edit};
use http::StatusCode;
use regex::Regex;

use super::supply::Supply;
use super::table::Rules;
use crate::upstream::health::ShedSettings;

/// As Skipper: how often routes are looked for.
pub(crate) const POLL: Duration = Duration::from_secs(3);

/// As Skipper: how often a request may go through the routes again.
pub(crate) const LOOPBACKS: u32 = 9;

/// Checked, and so equal for handlers that say the same.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Where the routes come from. Of routes with one id the one of a later input counts.
    pub(crate) inputs: Vec<Input>,
    /// How often each is looked at.
    pub(crate) poll: Duration,
    /// Filters around those of every route.
    pub(crate) defaults: DefaultFilters,
    /// Routes that are added: what the edits make of others.
    pub(crate) clones: Vec<Change>,
    /// What is changed in every route.
    pub(crate) edits: Vec<Change>,
    pub(crate) rules: Rules,
    pub(crate) ignore_trailing_slash: bool,
    /// Whether any certificate of a backend will do.
    pub(crate) insecure: bool,
    /// Where `<forward>` goes.
    pub(crate) forward: Option<String>,
    /// What filters are told beside their arguments.
    pub(crate) filters: FilterSettings,
    /// Filters that routes may not use.
    pub(crate) disabled: Vec<String>,
    /// When an endpoint that fails gets fewer requests.
    pub(crate) shed: Option<ShedSettings>,
    /// Breakers of backends, by host; of all others without one.
    pub(crate) breakers: Vec<(Option<String>, Breaker)>,
}

/// Where routes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    File(PathBuf),
    Inline(String),
    Url(String),
    Given(Arc<Supply>),
}

/// A change of routes by their text.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) edit: Edit,
    pub(crate) pattern: Regex,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            poll: POLL,
            defaults: DefaultFilters::default(),
            clones: Vec::new(),
            edits: Vec::new(),
            rules: Rules {
                preserve_host: false,
                normalize_host: false,
                most_loopbacks: LOOPBACKS,
                default_status: StatusCode::NOT_FOUND,
            },
            ignore_trailing_slash: false,
            insecure: false,
            forward: None,
            filters: FilterSettings::default(),
            disabled: Vec::new(),
            shed: None,
            breakers: Vec::new(),
        }
    }
}
