//! What look-ups mean for what is known.

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn found(addresses: &[&str], seconds: u64) -> Result<Records, LookupError> {
    let addresses = addresses.iter().map(|address| ip(address)).collect();
    Ok(Records {
        addresses,
        ttl: Duration::from_secs(seconds),
    })
}

fn known(v4: &[&str], v6: &[&str]) -> Known {
    let parse = |family: &[&str]| family.iter().map(|address| ip(address)).collect();
    Known {
        v4: parse(v4),
        v6: parse(v6),
    }
}

#[test]
fn both_families_are_kept_sorted_and_each_address_once() {
    let mut known = Known::default();
    let v4 = found(&["192.0.2.9", "192.0.2.1", "192.0.2.9"], 60);
    let v6 = found(&["2001:db8::2", "::ffff:192.0.2.1", "2001:db8::1"], 20);

    assert_eq!(known.accept(Lookup { v4, v6 }), Ok(Duration::from_secs(20)));

    assert_eq!(
        known.addresses(),
        ["192.0.2.1", "192.0.2.9", "2001:db8::1", "2001:db8::2"].map(ip)
    );
}

#[test]
fn a_family_that_failed_is_kept_and_one_that_is_denied_is_dropped() {
    for (error, left) in [
        (LookupError::Timeout, vec![ip("192.0.2.7"), ip("2001:db8::1")]),
        (
            LookupError::Code("Server Failure".into()),
            vec![ip("192.0.2.7"), ip("2001:db8::1")],
        ),
        (LookupError::NoAddresses, vec![ip("192.0.2.7")]),
        (LookupError::NoSuchName, vec![ip("192.0.2.7")]),
    ] {
        let mut known = known(&["192.0.2.1"], &["2001:db8::1"]);
        let lookup = Lookup {
            v4: found(&["192.0.2.7"], 9),
            v6: Err(error.clone()),
        };

        assert_eq!(known.accept(lookup), Ok(Duration::from_secs(9)), "{error}");

        assert_eq!(known.addresses(), left, "{error}");
    }
}

#[test]
fn a_look_up_without_any_address_failed_and_keeps_everything() {
    for error in [
        LookupError::NoSuchName,
        LookupError::NoAddresses,
        LookupError::Timeout,
    ] {
        let mut known = known(&["192.0.2.1"], &["2001:db8::1"]);

        assert_eq!(known.accept(Lookup::failed(&error)), Err(error));

        assert_eq!(known.addresses(), ["192.0.2.1", "2001:db8::1"].map(ip));
    }
}

#[test]
fn trouble_with_one_family_is_reported_before_the_absence_of_the_other() {
    let absent = || Err(LookupError::NoAddresses);
    let lookups = [
        Lookup {
            v4: absent(),
            v6: Err(LookupError::Timeout),
        },
        Lookup {
            v4: Err(LookupError::Timeout),
            v6: absent(),
        },
    ];
    for lookup in lookups {
        assert_eq!(Known::default().accept(lookup), Err(LookupError::Timeout));
    }
}

#[test]
fn the_generation_counts_changes_of_the_addresses_and_nothing_else() {
    let never = Answer::never();
    assert_eq!((never.generation(), never.state()), (0, &State::Never));

    let failed = never.next(Vec::new(), State::Stale(LookupError::Timeout));
    let first = failed.next(vec![ip("192.0.2.1")], State::Fresh);
    let stale = first.next(vec![ip("192.0.2.1")], State::Stale(LookupError::Timeout));
    let moved = stale.next(vec![ip("192.0.2.2")], State::Fresh);

    let generations = [&failed, &first, &stale, &moved].map(Answer::generation);
    assert_eq!(generations, [0, 1, 1, 2]);
    assert!(moved.addresses().contains(&ip("192.0.2.2")) && !moved.addresses().contains(&ip("192.0.2.1")));
}
