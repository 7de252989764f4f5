//! What Skipper's flags are read as, and what is wrong with what they are not.

use super::*;

fn breaker(kind: EskipBreakerKind) -> EskipBreaker {
    EskipBreaker {
        kind,
        host: None,
        timeout: None,
        half_open_requests: None,
        idle_ttl: None,
    }
}

#[test]
fn a_breaker_is_read_as_skipper_documents_it() {
    let text =
        "type=rate,host=www.example.org,window=300,failures=30,timeout=4m,half-open-requests=45,idle-ttl=5m";
    let expected = EskipBreaker {
        host: Some("www.example.org".to_owned()),
        timeout: Some(Duration::from_secs(240)),
        half_open_requests: Some(45),
        idle_ttl: Some(Duration::from_secs(300)),
        ..breaker(EskipBreakerKind::Rate {
            failures: 30,
            window: 300,
        })
    };
    assert_eq!(text.parse(), Ok(expected));
}

#[test]
fn a_breaker_without_a_type_counts_failures_in_a_row() {
    let expected = breaker(EskipBreakerKind::Consecutive { failures: 5 });
    for text in [
        "failures=5",
        "type=consecutive,failures=5",
        "failures=5,timeout=0,half-open-requests=0,idle-ttl=0s",
    ] {
        assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
    }
    assert_eq!(
        "type=disabled,host=a:8080".parse(),
        Ok(EskipBreaker {
            host: Some("a:8080".to_owned()),
            ..breaker(EskipBreakerKind::Disabled)
        })
    );
}

#[test]
fn what_is_no_breaker_says_why() {
    let keys = "known are failures, half-open-requests, host, idle-ttl, timeout, type, window";
    for (text, message) in [
        ("", "expected key=value, found ``"),
        ("rate", "expected key=value, found `rate`"),
        ("failures=5,", "expected key=value, found ``"),
        ("=5", "expected key=value, found `=5`"),
        ("failures=5,idleTTL=1h", &format!("unknown key `idleTTL`; {keys}")),
        ("failures=5,failures=6", "`failures` is given twice"),
        ("type=consecutive", "`failures` is missing"),
        ("type=rate,window=10", "`failures` is missing"),
        ("type=rate,failures=10", "`window` is missing"),
        (
            "type=often,failures=1",
            "`type`: expected consecutive, disabled or rate",
        ),
        (
            "failures=0",
            "`failures`: expected a whole number from 1 to 4294967295",
        ),
        ("failures=many", "`failures`: expected a whole number"),
        (
            "type=rate,failures=3,window=2",
            "`window`: fewer requests than failures: it would never open",
        ),
        (
            "failures=3,window=2",
            "`window` is not for a breaker of the type consecutive",
        ),
        (
            "type=disabled,failures=3",
            "`failures` is not for a breaker of the type disabled",
        ),
        (
            "failures=3,timeout=4",
            "`timeout`: expected a duration, such as 10s",
        ),
        (
            "failures=3,half-open-requests=-1",
            "`half-open-requests`: expected a whole number",
        ),
        (
            "failures=3,host=",
            "`host`: this is not a host, or a host and a port",
        ),
    ] {
        let error = text.parse::<EskipBreaker>().unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn a_key_that_is_nearly_one_leads_to_it() {
    let error = "failure=5".parse::<EskipBreaker>().unwrap_err();
    assert_eq!(error.help().as_deref(), Some("did you mean `failures`?"));
    let error = "consecutive".parse::<EskipBreaker>().unwrap_err();
    assert!(error.help().unwrap().contains("key=value"));
}

#[test]
fn no_message_grows_with_the_text() {
    let long = "x".repeat(1_000_000);
    for text in [long.clone(), format!("{long}=1"), format!("type={long}")] {
        let error = text.parse::<EskipBreaker>().unwrap_err();
        assert!(error.to_string().len() < 1000);
    }
}

#[test]
fn a_passive_health_check_is_read_as_skipper_documents_it() {
    let number = |number| Number::from_f64(number).unwrap();
    let expected = EskipPassiveHealth {
        period: Duration::from_secs(1),
        min_requests: 10,
        max_drop_probability: number(0.9),
        min_drop_probability: None,
        max_unhealthy_endpoints_ratio: None,
    };
    let text = "period=1s,min-requests=10,max-drop-probability=0.9";
    assert_eq!(text.parse(), Ok(expected.clone()));
    let more = format!("{text},min-drop-probability=0.05,max-unhealthy-endpoints-ratio=1");
    let expected = EskipPassiveHealth {
        min_drop_probability: Some(number(0.05)),
        max_unhealthy_endpoints_ratio: Some(number(1.0)),
        ..expected
    };
    assert_eq!(more.parse(), Ok(expected));
}

#[test]
fn what_is_no_passive_health_check_says_why() {
    let complete = "period=1s,min-requests=10,max-drop-probability=0.9";
    for (text, message) in [
        ("min-requests=10,max-drop-probability=0.9", "`period` is missing"),
        ("period=1s,max-drop-probability=0.9", "`min-requests` is missing"),
        ("period=1s,min-requests=10", "`max-drop-probability` is missing"),
        ("period=0,min-requests=10", "`period`: expected more than zero"),
        (
            "period=1s,min-requests=0",
            "`min-requests`: expected a whole number from 1 to 4294967295",
        ),
        (
            "period=1s,min-requests=1,max-drop-probability=1.1",
            "`max-drop-probability`: expected a number from 0 to 1",
        ),
        (
            "period=1s,min-requests=1,max-drop-probability=NaN",
            "`max-drop-probability`: expected a number from 0 to 1",
        ),
        (
            &format!("{complete},min-drop-probability=0.95"),
            "`min-drop-probability`: more than the maximum",
        ),
        (
            &format!("{complete},max-unhealthy-endpoints-ratio=-1"),
            "`max-unhealthy-endpoints-ratio`: expected a number from 0 to 1",
        ),
        (
            &format!("{complete},host=a"),
            "unknown key `host`; known are max-drop-probability, max-unhealthy-endpoints-ratio, \
             min-drop-probability, min-requests, period",
        ),
    ] {
        let error = text.parse::<EskipPassiveHealth>().unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
}
