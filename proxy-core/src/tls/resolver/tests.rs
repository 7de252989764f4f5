//! The choice by server name. Each slot is told apart by its address.

use rustls::crypto::aws_lc_rs;
use rustls_pki_types::PrivateKeyDer;

use super::*;

fn slot() -> Arc<Slot> {
    let made = rcgen::generate_simple_self_signed(["any".to_owned()]).unwrap();
    let provider = aws_lc_rs::default_provider();
    let key = PrivateKeyDer::from(made.signing_key);
    Arc::new(Slot::from_pointee(
        CertifiedKey::from_der(vec![made.cert.into()], key, &provider).unwrap(),
    ))
}

fn sites(names: &[(&str, &Arc<Slot>)]) -> SniResolver {
    let mut resolver = SniResolver::default();
    for (name, slot) in names {
        resolver.insert(ServedName::parse(name).unwrap(), slot);
    }
    resolver
}

fn shown(sites: SniResolver) -> Shown {
    Shown {
        sites: Arc::new(sites),
        default_name: None,
        fallback_name: None,
    }
}

fn resolver(names: &[(&str, &Arc<Slot>)]) -> Shown {
    shown(sites(names))
}

#[track_caller]
fn assert_found(resolver: &Shown, name: Option<&str>, expected: Option<&Arc<Slot>>) {
    let found = resolver.find(name);
    assert_eq!(found.map(Arc::as_ptr), expected.map(Arc::as_ptr), "{name:?}");
}

#[test]
fn an_exact_name_comes_before_a_wildcard_for_one_label() {
    let (exact, wildcard) = (slot(), slot());
    let resolver = resolver(&[("*.example.com", &wildcard), ("app.example.com", &exact)]);

    for (name, expected) in [
        ("app.example.com", Some(&exact)),
        ("APP.Example.com", Some(&exact)),
        ("app.example.com.", Some(&exact)),
        ("App.example.com.", Some(&exact)),
        ("other.example.com", Some(&wildcard)),
        ("OTHER.EXAMPLE.COM", Some(&wildcard)),
        ("a.b.example.com", None),
        ("example.com", None),
        ("example.org", None),
        ("com", None),
        ("", None),
        (".example.com", Some(&wildcard)),
    ] {
        assert_found(&resolver, Some(name), expected);
    }
}

#[test]
fn the_catch_all_takes_unknown_names_and_none() {
    let (named, catch_all) = (slot(), slot());
    let mut sites = sites(&[("app.example.com", &named)]);
    sites.insert_catch_all(&catch_all);
    let resolver = shown(sites);

    assert_found(&resolver, Some("app.example.com"), Some(&named));
    assert_found(&resolver, Some("example.org"), Some(&catch_all));
    assert_found(&resolver, None, Some(&catch_all));
}

#[test]
fn without_a_name_the_certificate_for_an_address_comes_before_the_first_one() {
    let (first, second, address) = (slot(), slot(), slot());
    let hosts = [("a.example.com", &first), ("b.example.com", &second)];
    assert_found(&resolver(&hosts), None, Some(&first));

    let resolver = resolver(&[hosts[0], hosts[1], ("192.0.2.1", &address)]);

    assert_found(&resolver, None, Some(&address));
    assert_found(&resolver, Some("192.0.2.1"), None);
}

#[test]
fn the_default_name_is_for_those_that_send_none_and_the_fallback_for_unknown_ones() {
    let (a, b, address, catch_all) = (slot(), slot(), slot(), slot());
    let mut sites = sites(&[("a.test", &a), ("*.b.test", &b), ("192.0.2.1", &address)]);
    sites.insert_catch_all(&catch_all);
    let name = |name: &str| Some(ServedName::parse(name).unwrap());
    let mut resolver = Shown {
        default_name: name("x.b.test"),
        ..shown(sites)
    };
    assert_found(&resolver, None, Some(&b));
    assert_found(&resolver, Some("a.test"), Some(&a));
    assert_found(&resolver, Some("c.test"), Some(&catch_all));

    resolver.fallback_name = name("192.0.2.1");
    assert_found(&resolver, None, Some(&b));
    assert_found(&resolver, Some("a.test"), Some(&a));
    assert_found(&resolver, Some("c.test"), Some(&address));

    resolver.default_name = name("unknown.test");
    assert_found(&resolver, None, Some(&address));
    resolver.fallback_name = None;
    assert_found(&resolver, None, Some(&catch_all));
}

#[test]
fn of_two_certificates_for_a_name_the_first_counts() {
    let (first, second) = (slot(), slot());
    let resolver = resolver(&[("app.example.com", &first), ("APP.example.com", &second)]);

    assert_found(&resolver, Some("app.example.com"), Some(&first));
}

#[test]
fn a_lower_case_name_is_not_copied() {
    assert!(matches!(lower_case("app.example.com"), Cow::Borrowed(_)));
    assert!(matches!(lower_case("App.example.com"), Cow::Owned(lower) if lower == "app.example.com"));
}
