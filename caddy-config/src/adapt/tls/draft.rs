//! Policies on the way: one for each site, before those that say the same are joined.

use serde_json::Number;

use super::{
    super::{
        address,
        cx::Cx,
        directive::{SiteIssuers, SiteTls},
        options::Options,
        server::Served,
        site::{self, Key},
    },
    encrypted, issuers,
};
use crate::{
    model::{AutomationPolicy, Issuer, KeyType},
    source::Span,
};

/// The policies on the way. Two sites for every host share the one without subjects.
#[derive(Debug, Default)]
pub(super) struct Policies {
    pub(super) all: Vec<Draft>,
    /// The index of the policy for every name, once there is one.
    catch_all: Option<usize>,
}

/// A policy to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// Empty for every name.
    pub(super) subjects: Vec<String>,
    pub(super) issuers: Issuers,
    pub(super) renewal_window_ratio: Option<Number>,
    pub(super) key_type: Option<KeyType>,
    pub(super) on_demand: bool,
    pub(super) reuse_private_keys: bool,
    pub(super) disable_ocsp_stapling: bool,
}

/// Who issues, and why. Caddy joins policies by this too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Issuers {
    /// Nothing is said.
    #[default]
    Unsaid,
    /// The proxy's own authority: the adapter says so, because of the names.
    Names,
    /// What a directive or a global option says.
    These(Vec<Issuer>),
}

// === impl Draft ===

impl Draft {
    /// What global options say; a policy that says nothing if they do not.
    fn base(options: &Options) -> Self {
        let tls = &options.tls;
        Self {
            issuers: if tls.issuers.is_empty() {
                Issuers::Unsaid
            } else {
                Issuers::These(tls.issuers.clone())
            },
            renewal_window_ratio: tls.renewal_window_ratio.clone(),
            key_type: tls.key_type,
            disable_ocsp_stapling: tls.no_ocsp_stapling,
            ..Self::default()
        }
    }

    /// The proxy's own authority, for names that are no others'.
    pub(super) fn internal(subjects: Vec<String>) -> Option<Self> {
        (!subjects.is_empty()).then_some(Self {
            subjects,
            issuers: Issuers::Names,
            ..Self::default()
        })
    }

    /// Whether nothing is said but names.
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self.issuers, Issuers::Unsaid)
            && self.renewal_window_ratio.is_none()
            && self.key_type.is_none()
            && !self.on_demand
            && !self.reuse_private_keys
            && !self.disable_ocsp_stapling
    }

    /// Whether a public authority is asked for `name` if nothing else is said. In handshakes the name itself is known,
    /// so that there a wildcard may have any form.
    pub(super) fn is_public(&self, name: &str) -> bool {
        address::is_public(name) || self.on_demand && address::is_public_on_demand(name)
    }

    /// What the `tls` directives of a site say.
    fn site(&mut self, tls: &[(SiteTls, Span)], options: &Options) {
        let all = || tls.iter().map(|(tls, _)| tls);
        self.on_demand |= all().any(|tls| tls.on_demand);
        self.reuse_private_keys |= all().any(|tls| tls.reuse_private_keys);
        if let Some(key_type) = all().find_map(|tls| tls.key_type) {
            self.key_type = Some(key_type);
        }
        if let Some(ratio) = all().find_map(|tls| tls.renewal_window_ratio.clone()) {
            self.renewal_window_ratio = Some(ratio);
        }
        let said = site_issuers(tls, options);
        if !said.is_empty() {
            self.issuers = Issuers::These(said);
        }
    }

    /// The names that no public authority issues for, if there are public ones too. Those that Caddy has from elsewhere
    /// are left to the policy for every name then.
    fn split_off_internal(&mut self) -> Option<Self> {
        if self.issuers != Issuers::Unsaid {
            return None;
        }
        let others = self.subjects.iter().filter(|name| !is_tailscale(name)).cloned();
        let (public, internal): (Vec<String>, Vec<String>) = others.partition(|name| self.is_public(name));
        if public.is_empty() || internal.is_empty() {
            return None;
        }
        self.subjects = public;
        Some(Self {
            subjects: internal,
            issuers: Issuers::Names,
            ..self.clone()
        })
    }
}

impl From<Draft> for AutomationPolicy {
    fn from(draft: Draft) -> Self {
        Self {
            subjects: draft.subjects,
            issuers: match draft.issuers {
                Issuers::Unsaid => Vec::new(),
                Issuers::Names => vec![Issuer::internal()],
                Issuers::These(issuers) => issuers,
            },
            renewal_window_ratio: draft.renewal_window_ratio,
            key_type: draft.key_type,
            on_demand: draft.on_demand,
            reuse_private_keys: draft.reuse_private_keys,
            disable_ocsp_stapling: draft.disable_ocsp_stapling,
        }
    }
}

/// Whether Caddy has the certificate of a name from the Tailscale of the machine.
pub(super) fn is_tailscale(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".ts.net")
}

/// Who issues by all `tls` directives of a site.
fn site_issuers(tls: &[(SiteTls, Span)], options: &Options) -> Vec<Issuer> {
    tls.iter()
        .flat_map(|(tls, _)| match &tls.issuers {
            SiteIssuers::Unsaid => Vec::new(),
            SiteIssuers::These(issuers) => issuers.clone(),
            SiteIssuers::Acme(acme) => issuers::of_site(acme, options),
        })
        .collect()
}

// === impl Policies ===

impl Policies {
    /// With the policy for every name, if global options have something for it.
    pub(super) fn new(options: &Options) -> Self {
        let base = Draft::base(options);
        if base.is_empty() && !options.tls.has_acme_defaults_beside_email() {
            return Self::default();
        }
        Self {
            all: vec![base],
            catch_all: Some(0),
        }
    }

    pub(super) fn site(&mut self, served: &Served<'_>, options: &Options, cx: &mut Cx<'_>) {
        let for_every_host = site::has_every_host(&served.keys);
        let tls = &served.site.tls;
        let index = match self.catch_all.filter(|_| for_every_host) {
            Some(index) => {
                self.report_conflict(index, tls, options, cx);
                index
            }
            None => {
                self.all.push(Draft::base(options));
                let index = self.all.len().saturating_sub(1);
                if for_every_host {
                    self.catch_all = Some(index);
                }
                index
            }
        };
        let Some(policy) = self.all.get_mut(index) else {
            return;
        };
        policy.site(tls, options);
        if let Issuers::These(issuers) = &mut policy.issuers {
            for binding in &served.site.bindings {
                issuers::bind(issuers, binding);
            }
        }
        let subjects = encrypted(&served.keys, options.ports());
        policy.subjects = subjects.into_iter().map(str::to_owned).collect();
        if policy.issuers == Issuers::Unsaid {
            report_unfit_subjects(&policy.subjects, &served.keys, cx);
        }
        let internal = policy.split_off_internal();
        self.all.extend(internal);
    }

    /// Names that are obtained without a site. One that a site is for has a policy already.
    pub(super) fn names(&mut self, names: &[String], options: &Options) {
        let known = |name: &&String| self.all.iter().any(|policy| policy.subjects.contains(*name));
        let new = names.iter().filter(|name| !known(name)).cloned();
        let (public, internal): (Vec<String>, Vec<String>) =
            new.partition(|name| address::is_certifiable(name));
        let base = Draft::base(options);
        let speaks = !base.is_empty() || options.tls.has_acme_defaults();
        if speaks && !public.is_empty() {
            self.all.push(Draft {
                subjects: public,
                ..base
            });
        }
        self.all.extend(Draft::internal(internal));
    }

    /// The policy for every name can have the issuers of one site only.
    fn report_conflict(&self, index: usize, tls: &[(SiteTls, Span)], options: &Options, cx: &mut Cx<'_>) {
        let said = site_issuers(tls, options);
        let same = self.all.get(index).is_some_and(|policy| match &policy.issuers {
            Issuers::These(issuers) => *issuers == said,
            _ => said.is_empty(),
        });
        if let Some((_, span)) = tls.iter().find(|_| !same && !said.is_empty()) {
            let help = "write the same `tls` directive in every site that is for every host".to_owned();
            let message = "another site for every host gets its certificates in another way";
            cx.error(*span, message, help);
        }
    }
}

fn report_unfit_subjects(subjects: &[String], keys: &[&Key], cx: &mut Cx<'_>) {
    for subject in subjects
        .iter()
        .filter(|subject| !address::qualifies_for_certificate(subject))
    {
        if let Some(key) = keys.iter().find(|key| key.address.host == *subject) {
            let help = "correct the name, or write http:// before it".to_owned();
            cx.error(key.token.span, "no certificate is possible for this name", help);
        }
    }
}
