//! What is counted of hosts, beside what is there.

use proptest::prelude::*;

use super::*;
use crate::memory;

/// Names, wildcards among them.
const NAMES: [&str; 6] = ["a.test", "b.test", "*.test", "*.a.test", "c", "*.b.test"];

/// Sites of all kinds.
fn sites() -> Vec<Arc<Site>> {
    let of = |handlers: &str| {
        let document = format!(r#"{{"host": "a.test", "handlers": {handlers}}}"#);
        Arc::new(memory::site(&document))
    };
    let mut asking = Site::default();
    asking.rules.asked.connection = true;
    vec![
        of(r#"[{"handler": "static_response"}]"#),
        of(
            r#"[{"handler": "reverse_proxy", "upstreams": [{"dial": "127.0.0.1:1"}],
            "health_checks": {"active": {"uri": "/"}}}]"#,
        ),
        Arc::new(asking),
        Arc::new(Site::configured()),
        Arc::new(Site::unavailable(Rules::default())),
    ]
}

fn counts(hosts: &Hosts) -> (usize, usize, usize, usize, bool) {
    (
        hosts.len(),
        hosts.wildcards,
        hosts.asking,
        hosts.demanding().count(),
        hosts.ask_for_connections(),
    )
}

proptest! {
    #[test]
    fn changes_one_by_one_lead_to_what_is_made_at_once(
        changes in prop::collection::vec((0..NAMES.len(), prop::option::of(0_usize..5)), 0..40)
    ) {
        let sites = sites();
        prop_assert!(sites[1].is_demanding() && !sites[0].is_demanding());
        let mut hosts = Hosts::default();
        let mut model = BTreeMap::new();
        for (name, site) in changes {
            let name: HostName = NAMES[name].parse().unwrap();
            let site = site.map(|site| Arc::clone(&sites[site]));
            hosts = hosts.with([(name.clone(), site.clone())]);
            match site {
                Some(site) => model.insert(name, site),
                None => model.remove(&name),
            };
            let whole = Hosts::default().with(model.clone().into_iter().map(|(name, site)| (name, Some(site))));
            prop_assert_eq!(counts(&hosts), counts(&whole));
            for name in ["a.test", "x.test", "x.a.test", "c", "b.test", "y.b.test", "test"] {
                let same = match (hosts.get(name), whole.get(name)) {
                    (None, None) => true,
                    (Some(one), Some(other)) => std::ptr::eq(one, other),
                    _ => false,
                };
                prop_assert!(same, "{}", name);
            }
        }
    }
}
