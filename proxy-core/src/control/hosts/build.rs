//! From what has changed to what serves it.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use route_sources::{Delta, Held, HostDocument, HostName, Invalid, Route};
use tracing::debug;

use super::Reconciler;
use crate::config::hosts;
use crate::forward::hosts::Site;
/// What is changed of the table of hosts.
pub(super) struct Built {
    pub(super) changes: Vec<(HostName, Option<Arc<Site>>)>,
    pub(super) unbuilt: Vec<(HostName, Option<Invalid>)>,
}

/// One document's site: some names have the same document.
type Sites = HashMap<*const HostDocument, Result<Arc<Site>, String>>;

// === impl Reconciler ===

impl Reconciler {
    /// Builds what has changed. What cannot be built stays as it is.
    pub(super) fn build(&self, delta: &Delta, https_port: u16) -> Built {
        let mut sites = Sites::new();
        let mut built = Built {
            changes: Vec::with_capacity(delta.set.len() + delta.removed.len()),
            unbuilt: Vec::new(),
        };
        let view = self.views.current();
        for name in &delta.removed {
            built.changes.push((name.clone(), None));
            built.unbuilt.push((name.clone(), None));
        }
        for (name, route) in &delta.set {
            let unbuilt = match self.site(&mut sites, route, https_port) {
                Ok(site) => {
                    built.changes.push((name.clone(), Some(site)));
                    None
                }
                Err(reason) => {
                    let kept = view.hosts.has(name);
                    if !kept {
                        let unavailable = Arc::new(hosts::unavailable(&self.surroundings));
                        built.changes.push((name.clone(), Some(unavailable)));
                    }
                    Some(Invalid {
                        host: Some(name.to_string()),
                        place: route.host().to_string(),
                        reason,
                        kept,
                    })
                }
            };
            built.unbuilt.push((name.clone(), unbuilt));
        }
        built
    }

    /// Whether a document could be served, and if not, why. It may read files.
    pub(in crate::control) fn could_serve(&self, document: &HostDocument) -> Result<(), String> {
        let https_port = self.with_hosted(|hosted| hosted.https_port);
        let site = unless_it_panics(|| hosts::site(&self.surroundings, document, https_port));
        site?.map(drop).map_err(|errors| errors.to_string())
    }

    /// What serves a route.
    fn site(&self, sites: &mut Sites, route: &Route, https_port: u16) -> Result<Arc<Site>, String> {
        match route {
            Route::Configured(_) => Ok(Arc::new(Site::configured())),
            Route::Held(held) => {
                let Held { host, reason } = &**held;
                debug!(%host, reason, "the host cannot be served");
                Ok(Arc::new(hosts::unavailable(&self.surroundings)))
            }
            Route::Document(document) => {
                let build = || {
                    let site = unless_it_panics(|| hosts::site(&self.surroundings, document, https_port));
                    site?.map(Arc::new).map_err(|errors| errors.to_string())
                };
                if document.aliases().is_empty() {
                    return build();
                }
                sites.entry(Arc::as_ptr(document)).or_insert_with(build).clone()
            }
        }
    }
}

/// A fault in what builds one host is none of all others. The panic is reported by itself.
fn unless_it_panics<T>(build: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(build)).map_err(|_| "it cannot be built".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_one_site_is_a_site_that_cannot_be_built() {
        let built: Result<(), String> = unless_it_panics(|| panic!("a fault"));
        assert_eq!(built, Err("it cannot be built".to_owned()));
        assert_eq!(unless_it_panics(|| 7), Ok(7));
    }
}
