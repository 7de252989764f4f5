//! Who passes, and what a flood of passwords does.

use std::sync::RwLock;

use base64::engine::general_purpose;

use super::*;

/// Where requests come from unless that matters.
const CLIENT: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

/// Makes one comparison at a time, each as long as `held` is locked for writing.
fn gate(held: &Arc<RwLock<()>>, keeps_results: bool) -> BasicAuth {
    let accounts = [("ann".to_owned(), PasswordHash::held(held))];
    let verifier = Arc::new(Verifier::new(1));
    BasicAuth::try_new(
        accounts,
        PasswordAlgorithm::Bcrypt,
        REALM,
        keeps_results,
        verifier,
    )
    .unwrap()
}

fn fields(value: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
}

fn says(user: &str, password: &str) -> HeaderMap {
    fields(&format!(
        "Basic {}",
        general_purpose::STANDARD.encode(format!("{user}:{password}"))
    ))
}

async fn verdict(auth: &BasicAuth, headers: &HeaderMap) -> Verdict {
    match auth.check(headers, CLIENT) {
        Check::Known(verdict) => verdict,
        Check::Comparing(comparison) => comparison.verdict().await,
    }
}

fn passed(user: &str) -> Verdict {
    Verdict::Passed(user.into())
}

#[tokio::test]
async fn only_the_right_password_of_a_user_passes() {
    let hash = "$2a$04$OK7Nx6b3.7meq22/AFN4AucXeykb7.2JkE6Xn9G.z4YkFnlcjBkli";
    let hash = || PasswordHash::parse(hash, PasswordAlgorithm::Bcrypt).unwrap();
    let accounts = [("ann".to_owned(), hash()), ("b\u{f6}b".to_owned(), hash())];
    let verifier = Arc::new(Verifier::new(2));
    let auth = BasicAuth::try_new(accounts, PasswordAlgorithm::Bcrypt, REALM, true, verifier).unwrap();
    for _ in 0..2 {
        for (user, password, expected) in [
            ("ann", "ab", passed("ann")),
            ("b\u{f6}b", "ab", passed("b\u{f6}b")),
            ("ann", "abc", Verdict::Refused),
            ("ann", "", Verdict::Refused),
            ("Ann", "ab", Verdict::Refused),
            ("eve", "ab", Verdict::Refused),
            ("", "ab", Verdict::Refused),
        ] {
            assert_eq!(
                verdict(&auth, &says(user, password)).await,
                expected,
                "{user}:{password}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_no_basic_authorization_is_refused_without_comparing() {
    let held = Arc::default();
    let auth = gate(&held, true);
    let _nothing_is_compared = held.write().unwrap();
    for value in [
        "",
        "Basic",
        "Basic ",
        "Basic !",
        "Basic YW5u",
        "Bearer YW5uOmE=",
        "BasicYW5uOmE=",
    ] {
        assert!(
            matches!(auth.check(&fields(value), CLIENT), Check::Known(Verdict::Refused)),
            "{value}"
        );
    }
    assert!(matches!(
        auth.check(&HeaderMap::new(), CLIENT),
        Check::Known(Verdict::Refused)
    ));
}

#[tokio::test]
async fn the_scheme_is_read_without_regard_to_case_and_a_password_may_hold_colons() {
    let auth = gate(&Arc::default(), true);
    for value in ["bAsIc YW5uOmE6Og==", "Basic  YW5uOmE6Og", "basic YW5uOmE6Og== "] {
        assert_eq!(verdict(&auth, &fields(value)).await, passed("ann"), "{value}");
    }
}

#[test]
fn the_realm_is_a_quoted_string() {
    for (realm, expected) in [
        ("restricted", "Basic realm=\"restricted\""),
        ("a\"b\\c", "Basic realm=\"a\\\"b\\\\c\""),
    ] {
        assert_eq!(challenge(realm).unwrap(), expected);
    }
    assert!(challenge("a\nb").is_err());
}

#[tokio::test]
async fn a_flood_of_passwords_stops_nobody_whose_password_is_known() {
    let held = Arc::default();
    let auth = gate(&held, true);
    assert_eq!(verdict(&auth, &says("ann", "right")).await, passed("ann"));

    let compare = held.write().unwrap();
    let (mut waiting, mut busy) = (Vec::new(), 0);
    for number in 0..1000 {
        match auth.check(&says("ann", &number.to_string()), CLIENT) {
            Check::Comparing(comparison) => waiting.push(comparison),
            Check::Known(Verdict::Busy) => busy += 1,
            Check::Known(other) => panic!("{other:?}"),
        }
        assert!(matches!(
            auth.check(&says("ann", "right"), CLIENT),
            Check::Known(Verdict::Passed(_))
        ));
    }
    // Of one client few wait, besides the one that is being compared.
    assert!((4..=5).contains(&waiting.len()), "{} wait", waiting.len());
    assert_eq!(busy + waiting.len(), 1000);

    drop(compare);
    for comparison in waiting {
        assert_eq!(comparison.verdict().await, passed("ann"));
    }
}

#[tokio::test]
async fn few_comparisons_of_one_client_wait_and_those_that_nobody_waits_for_do_not_count() {
    let held = Arc::default();
    let auth = gate(&held, true);
    let compare = held.write().unwrap();
    let mut flood: Vec<_> = (0..60)
        .map(|number| auth.check(&says("ann", &number.to_string()), CLIENT))
        .collect();
    assert!(matches!(flood.pop(), Some(Check::Known(Verdict::Busy))));
    let elsewhere = "192.0.2.7".parse().ok();
    let Check::Comparing(other) = auth.check(&says("ann", "mine"), elsewhere) else {
        panic!("another client is kept out");
    };
    // Those that nobody waits for any more keep nobody out either.
    drop(flood);
    let Check::Comparing(next) = auth.check(&says("ann", "next"), CLIENT) else {
        panic!("the same client is kept out for good");
    };
    drop(compare);
    assert_eq!(other.verdict().await, passed("ann"));
    assert_eq!(next.verdict().await, passed("ann"));
}

#[tokio::test]
async fn requests_that_ask_the_same_share_one_comparison() {
    let held = Arc::default();
    let auth = gate(&held, false);
    let compare = held.write().unwrap();
    let headers = says("ann", "a");
    let waiting: Vec<_> = (0..1000)
        .map(|_| match auth.check(&headers, CLIENT) {
            Check::Comparing(comparison) => comparison,
            Check::Known(other) => panic!("{other:?}"),
        })
        .collect();
    drop(compare);
    for comparison in waiting {
        assert_eq!(comparison.verdict().await, passed("ann"));
    }
    // Nothing was kept: it is compared again.
    assert!(matches!(auth.check(&headers, CLIENT), Check::Comparing(_)));
}

#[tokio::test]
async fn what_nobody_waits_for_is_not_compared() {
    let held = Arc::default();
    let auth = gate(&held, true);
    let compare = held.write().unwrap();
    for number in 0..60 {
        drop(auth.check(&says("ann", &number.to_string()), CLIENT));
    }
    let Check::Comparing(last) = auth.check(&says("ann", "last"), CLIENT) else {
        panic!("there is room");
    };
    drop(compare);
    assert_eq!(last.verdict().await, passed("ann"));

    // The thread had taken up one of them at most.
    let known = |number: u32| {
        matches!(
            auth.check(&says("ann", &number.to_string()), CLIENT),
            Check::Known(_)
        )
    };
    let compare = held.write().unwrap();
    assert!((0..60).filter(|number| known(*number)).count() <= 1);
    drop(compare);
}

#[tokio::test]
async fn an_unknown_user_is_compared_too_and_never_passes() {
    let auth = gate(&Arc::default(), true);
    let headers = says("eve", "a");
    let Check::Comparing(comparison) = auth.check(&headers, CLIENT) else {
        panic!("it would tell that there is no such user");
    };
    assert_eq!(comparison.verdict().await, Verdict::Refused);
    assert!(matches!(
        auth.check(&headers, CLIENT),
        Check::Known(Verdict::Refused)
    ));
}

#[tokio::test]
async fn who_still_waits_when_the_verifier_ends_is_told_so() {
    let held = Arc::default();
    let auth = gate(&held, true);
    let compare = held.write().unwrap();
    let waiting: Vec<_> = (0..3)
        .map(|number| auth.check(&says("ann", &number.to_string()), CLIENT))
        .collect();
    drop(auth);
    drop(compare);
    for check in waiting {
        let Check::Comparing(comparison) = check else {
            panic!("there is room");
        };
        assert!(matches!(
            comparison.verdict().await,
            Verdict::Busy | Verdict::Passed(_)
        ));
    }
}

#[tokio::test]
async fn a_flood_for_one_user_keeps_no_other_out_nor_another_client_of_the_same() {
    let held = Arc::default();
    let accounts = ["ann", "bob"].map(|user| (user.to_owned(), PasswordHash::held(&held)));
    let verifier = Arc::new(Verifier::new(1));
    let auth = BasicAuth::try_new(accounts, PasswordAlgorithm::Bcrypt, REALM, true, verifier).unwrap();
    let compare = held.write().unwrap();
    let mut flood = Vec::new();
    for number in 0..200_u8 {
        // Of one client they would not fill the queue.
        let client = Some(IpAddr::from([192, 0, 2, 100 + number % 50]));
        if let Check::Comparing(comparison) = auth.check(&says("ann", &number.to_string()), client) {
            flood.push(comparison);
        }
    }
    let elsewhere = "192.0.2.7".parse().ok();
    let honest = [("bob", CLIENT), ("ann", elsewhere), ("eve", elsewhere)]
        .map(|(user, client)| (user, auth.check(&says(user, "mine"), client)));
    drop(compare);
    for (user, check) in honest {
        let Check::Comparing(comparison) = check else {
            panic!("{user} is kept out");
        };
        let expected = if user == "eve" {
            Verdict::Refused
        } else {
            passed(user)
        };
        assert_eq!(comparison.verdict().await, expected);
    }
    let mut busy = 0;
    for comparison in flood {
        busy += usize::from(comparison.verdict().await == Verdict::Busy);
    }
    // The thread may have taken one up before the first of the others came, or after.
    assert!((2..=3).contains(&busy), "{busy} of the flood have made room");
}
