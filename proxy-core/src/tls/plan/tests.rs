//! The choice among policies by the name that a client asks for.

use rustls::crypto::aws_lc_rs;
use rustls::server::ResolvesServerCertUsingSni;

use super::*;
use crate::tls::terms::{Terms, Versions};

fn config() -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let nothing = Arc::new(ResolvesServerCertUsingSni::new());
    Arc::new(builder.with_no_client_auth().with_cert_resolver(nothing))
}

fn policy(names: Option<&[&str]>, versions: Versions) -> (TlsPolicy, Arc<ServerConfig>) {
    let terms = Terms {
        versions,
        ..Terms::default()
    };
    let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    (TlsPolicy { names, terms }, config())
}

/// The number of the policy that is chosen for each name.
fn chosen(policies: &[(TlsPolicy, Arc<ServerConfig>)], names: &[Option<&str>]) -> Vec<Option<usize>> {
    let plan = TlsPlan::new(policies.to_vec(), config());
    let number =
        |found: &Arc<ServerConfig>| policies.iter().position(|(_, config)| Arc::ptr_eq(config, found));
    names.iter().map(|name| number(plan.choose(*name))).collect()
}

#[test]
fn the_first_policy_that_is_for_a_name_counts() {
    let policies = [
        policy(Some(&["a.test"]), Versions::Both),
        policy(Some(&["*.test", "*.*.deep.test", ""]), Versions::Only12),
        policy(Some(&["b.test", "x.y.deep.test"]), Versions::Only13),
        policy(None, Versions::Both),
    ];
    let names = [
        "A.Test",
        "b.test",
        "c.test",
        "a.b.test",
        "x.y.deep.test",
        "y.deep.test",
        "deep.test",
        "*",
        "*.test",
    ];
    let names: Vec<_> = names.iter().map(|name| Some(*name)).chain([None]).collect();
    assert_eq!(
        chosen(&policies, &names),
        [0, 1, 1, 3, 1, 3, 1, 3, 1, 1].map(Some)
    );
}

#[test]
fn a_wildcard_covers_one_label_and_a_lone_one_every_name_of_one() {
    let policies = [
        policy(Some(&["*"]), Versions::Only12),
        policy(Some(&["*.*"]), Versions::Only13),
    ];
    let names = [Some("localhost"), Some("a.test"), Some("a.b.test"), None];
    assert_eq!(chosen(&policies, &names), [Some(0), Some(1), None, None]);
}

#[test]
fn without_a_policy_for_all_other_names_are_refused() {
    let policies = [policy(Some(&["a.test"]), Versions::Both)];
    assert_eq!(
        chosen(&policies, &[Some("a.test"), Some("b.test"), None]),
        [Some(0), None, None]
    );
}

#[test]
fn equal_terms_need_no_choice_and_what_is_behind_the_policy_for_all_is_not_reached() {
    let alike = [
        policy(Some(&["a.test"]), Versions::Both),
        policy(None, Versions::Both),
        policy(Some(&["b.test"]), Versions::Only12),
    ];
    let plan = TlsPlan::new(alike.to_vec(), config());
    assert!(
        plan.always()
            .is_some_and(|config| Arc::ptr_eq(config, &alike[1].1))
    );
    assert!(plan.has_terms_of(&TlsPlan::new(vec![policy(None, Versions::Both)], config())));
    assert!(!plan.has_terms_of(&TlsPlan::new(vec![policy(None, Versions::Only13)], config())));
    let other = [
        policy(Some(&["a.test"]), Versions::Only12),
        policy(None, Versions::Both),
    ];
    assert!(TlsPlan::new(other.to_vec(), config()).always().is_none());
}
