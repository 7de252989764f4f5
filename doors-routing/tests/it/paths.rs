//! System paths: what the router, the public test and a plain reading of the rule say is the same.

use doors_routing::{Decision, is_system_path};
use proptest::prelude::*;

use super::{decide, pod, router, token};

/// Paths made of the pieces that matter, in any order.
fn path() -> impl Strategy<Value = String> {
    let token = token("10.0.0.5");
    let pieces = [
        "/", "//", "~", "%7E", "%7e", "%2F", "%2f", "%257E", "%", "%7", "?", ".", "..", "a", "é", &token,
    ];
    let pieces: Vec<String> = pieces.map(str::to_owned).to_vec();
    proptest::collection::vec(proptest::sample::select(pieces), 0..8).prop_map(|pieces| pieces.concat())
}

/// The rule, read aloud: segments are what literal slashes separate; the first is, decoded once, a tilde, and the
/// second is not empty.
fn by_the_rule(path: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let segments: Vec<&str> = path.split('/').collect();
    match segments[..] {
        ["", tilde, token, ..] => tilde.replace("%7E", "~").replace("%7e", "~") == "~" && !token.is_empty(),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_path_is_a_system_path_by_the_rule(path in path()) {
        prop_assert_eq!(is_system_path(&path), by_the_rule(&path));
    }

    #[test]
    fn the_router_and_the_public_test_agree(path in prop_oneof![path(), any::<String>()]) {
        for router in [router(&["10.0.0.0/24"]), router(&["10.0.0.0/24", "10.0.1.0/24"])] {
            let system = matches!(decide(&router, &path, &[]), Decision::Pod { .. } | Decision::Gone(_));
            prop_assert_eq!(is_system_path(&path), system);
        }
    }

    #[test]
    fn encoding_characters_of_the_token_changes_nothing(encode in proptest::collection::vec(any::<(bool, bool)>(), 43)) {
        let token = token("10.0.0.5");
        let spelled: String = token.bytes().zip(encode).map(|(byte, form)| match form {
            (false, _) => char::from(byte).to_string(),
            (true, false) => format!("%{byte:02x}"),
            (true, true) => format!("%{byte:02X}"),
        }).collect();
        let router = router(&["10.0.0.0/24"]);
        prop_assert_eq!(decide(&router, &format!("/~/{spelled}/x"), &[]), pod("10.0.0.5:8080", 0));
    }
}
