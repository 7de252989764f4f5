//! The affinity cookie in Cookie header lines of every shape.

use doors_routing::{Decision, MAX_COOKIE_TRIES, Router};
use proptest::prelude::*;

use super::{block, cipher, decide, router, token};

fn two() -> Router {
    router(&["10.0.0.0/24", "10.0.1.0/24"])
}

#[test]
fn the_cookie_is_found_however_the_line_is_laid_out() {
    let token = token("10.0.1.5");
    for line in [
        format!("upstream={token}"),
        format!("  upstream={token}  "),
        format!("a=b;upstream={token};c=d"),
        format!("a=b;\tupstream={token}\t;"),
        format!(";;; upstream={token} ;;;"),
        format!("upstream =  {token}"),
        format!("upstream=\"{token}\""),
        format!("flag; upstream={token}"),
        format!("=; =x; upstream={token}"),
    ] {
        assert_eq!(decide(&two(), "/", &[&line]), Decision::Server(1), "{line:?}");
    }
}

#[test]
fn nothing_but_the_cookie_of_that_very_name_counts() {
    let token = token("10.0.1.5");
    for line in [
        format!("Upstream={token}"),
        format!("upstream2={token}"),
        format!("my-upstream={token}"),
        format!("x=upstream={token}"),
        format!("upstream={token}x"),
        format!("upstream={token}, other"),
        format!("upstream=\"{token}"),
        format!("upstream='{token}'"),
        format!("upstream=\"\"{token}\"\""),
        format!("upstream={}", token.replace('A', "%41")),
        "upstream".to_owned(),
        "upstream=".to_owned(),
        "upstream=\"".to_owned(),
        "upstream=\"\"".to_owned(),
        String::new(),
    ] {
        assert_eq!(decide(&two(), "/", &[&line]), Decision::Any, "{line:?}");
    }
}

#[test]
fn the_tries_are_limited_over_all_lines() {
    let good = format!("upstream={}", token("10.0.1.5"));
    let bad = "upstream=bad; a=b";
    let last = vec![bad; MAX_COOKIE_TRIES - 1];
    assert_eq!(
        decide(&two(), "/", &[last.as_slice(), &[&good]].concat()),
        Decision::Server(1)
    );
    let too_late = vec![bad; MAX_COOKIE_TRIES];
    assert_eq!(
        decide(&two(), "/", &[too_late.as_slice(), &[&good]].concat()),
        Decision::Any
    );
}

#[test]
fn a_single_server_never_reads_the_cookies() {
    let router = Router::try_new(cipher(), Some("upstream".to_owned()), vec![block("10.0.0.0/24")]).unwrap();
    let unread = std::iter::from_fn(|| -> Option<&[u8]> { panic!("a line was read") });
    assert_eq!(router.decide("/", unread), Decision::Server(0));
}

#[test]
fn a_system_request_never_reads_the_cookies() {
    let unread = std::iter::from_fn(|| -> Option<&[u8]> { panic!("a line was read") });
    assert!(matches!(two().decide("/~/bad", unread), Decision::Gone(_)));
}

/// A cookie pair, and the server that it names.
fn pair() -> impl Strategy<Value = (String, Option<usize>)> {
    prop_oneof![
        Just((format!("upstream={}", token("10.0.0.5")), Some(0))),
        Just((format!("upstream=\"{}\"", token("10.0.1.5")), Some(1))),
        "upstream=[a-zA-Z0-9\"]{0,50}".prop_map(|pair| (pair, None)),
        "[a-z]{1,7}=[ -:<-~]{0,20}".prop_map(|pair| (pair, None)),
    ]
}

proptest! {
    #[test]
    fn the_first_good_pair_decides_however_pairs_are_spread_over_lines(
        pairs in proptest::collection::vec((pair(), any::<bool>()), 0..MAX_COOKIE_TRIES),
    ) {
        let mut lines = vec![String::new()];
        for ((pair, _), new_line) in &pairs {
            if *new_line {
                lines.push(pair.clone());
            } else {
                let line = lines.last_mut().unwrap();
                *line = format!("{line}; {pair}");
            }
        }
        let first = pairs.iter().find_map(|((_, server), _)| *server);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert_eq!(decide(&two(), "/", &lines), first.map_or(Decision::Any, Decision::Server));
    }

    #[test]
    fn no_bytes_in_a_cookie_line_fail_a_request(lines: Vec<Vec<u8>>) {
        let decision = two().decide("/", lines.iter().map(Vec::as_slice));
        prop_assert_eq!(decision, Decision::Any);
    }
}
