//! Changes to texts.

use eskip::{Layout, RewriteError, Route, delete_text, parse, reset_text, upsert_text};
use proptest::prelude::*;

use crate::parsed;

const FILE: &str = "\
// The pages.
a: Path(\"/a\") // here
  -> <shunt>; // and there

  b: * -> \"http://b\";

c: * -> <loopback> // no semicolon
// the end
";

#[test]
fn what_a_change_does_not_concern_stays() {
    for (updates, after) in [
        (
            "a: Path(\"/a\") -> <shunt>; b: * && * -> `http://b`",
            FILE.to_owned(),
        ),
        (
            "a: * -> f() -> <shunt>",
            FILE.replace("Path(\"/a\") // here\n  -> <shunt>", "*\n  -> f()\n  -> <shunt>"),
        ),
        (
            "c: * -> <shunt>",
            FILE.replace("* -> <loopback>", "*\n  -> <shunt>"),
        ),
        (
            "d: * -> <shunt>; e: * -> <shunt>",
            FILE.replace("<loopback>", "<loopback>;") + "\nd: *\n  -> <shunt>;\n\ne: *\n  -> <shunt>;\n",
        ),
        (
            "d: * -> <dynamic>; b: * -> <shunt>; d: * -> <shunt>",
            FILE.replace("<loopback>", "<loopback>;")
                .replace("* -> \"http://b\"", "*\n  -> <shunt>")
                + "\nd: *\n  -> <shunt>;\n",
        ),
        ("", FILE.to_owned()),
    ] {
        let rewritten = upsert_text(FILE, &parsed(updates), Layout::PRETTY).unwrap();
        assert_eq!(rewritten.text, after, "{updates}");
        let again = upsert_text(&after, &parsed(updates), Layout::PRETTY).unwrap();
        assert_eq!(
            (again.text, again.added, again.changed, again.removed),
            (after, 0, 0, 0)
        );
    }
}

#[test]
fn deleted_routes_leave_no_hole() {
    for (ids, after) in [
        (&["b"][..], FILE.replace("  b: * -> \"http://b\";\n\n", "")),
        (&["a"], FILE.replace("a: Path(\"/a\") // here\n  -> <shunt>;", "")),
        (&["c", "x"], FILE.replace("c: * -> <loopback>", "")),
    ] {
        let rewritten = delete_text(FILE, ids).unwrap();
        assert_eq!(rewritten.text, after, "{ids:?}");
        assert_eq!((rewritten.added, rewritten.changed, rewritten.removed), (0, 0, 1));
    }
    for (before, ids, after) in [
        (
            "a: * -> <shunt>;b: * -> <shunt>;c: * -> <shunt>",
            &["b"][..],
            "a: * -> <shunt>;c: * -> <shunt>",
        ),
        ("a: * -> <shunt>; b: * -> <shunt>", &["b"], "a: * -> <shunt>; "),
        (
            "a: * -> <shunt>;\r\nb: * -> <shunt>;\r\n",
            &["a"],
            "b: * -> <shunt>;\r\n",
        ),
        (
            "a: * -> <shunt>;\n\nb: * -> <shunt>;\n",
            &["a"],
            "b: * -> <shunt>;\n",
        ),
        ("a: * -> <shunt>", &["a"], ""),
        ("a: * -> <shunt>; a: * -> <dynamic>;", &["a", "a"], ""),
        ("* -> <shunt>", &["a"], "* -> <shunt>"),
        ("", &["a"], ""),
    ] {
        assert_eq!(delete_text(before, ids).unwrap().text, after, "{before}");
    }
}

#[test]
fn reset_leaves_no_other_route() {
    let rewritten = reset_text(
        FILE,
        &parsed("c: * -> <loopback>; d: * -> <shunt>"),
        Layout::Plain,
    )
    .unwrap();
    assert_eq!(
        rewritten.text,
        "// The pages.\n // and there\n\nc: * -> <loopback>; // no semicolon\n// the end\n\nd: * -> <shunt>;\n"
    );
    assert_eq!((rewritten.added, rewritten.changed, rewritten.removed), (1, 0, 2));
    assert_eq!(
        upsert_text("", &parsed("a: * -> <shunt>"), Layout::Plain)
            .unwrap()
            .text,
        "a: * -> <shunt>;\n"
    );
}

#[test]
fn routes_without_an_id_and_wrong_texts_are_refused() {
    let unnamed = parsed("* -> <shunt>");
    let named = parsed("a: * -> <shunt>");
    assert_eq!(
        upsert_text("", &unnamed, Layout::Plain),
        Err(RewriteError::Unnamed)
    );
    assert_eq!(
        upsert_text("* -> <shunt>", &named, Layout::Plain),
        Err(RewriteError::Unnamed)
    );
    assert!(matches!(
        upsert_text("a", &named, Layout::Plain),
        Err(RewriteError::Syntax(_))
    ));
    assert!(matches!(delete_text("a", &["a"]), Err(RewriteError::Syntax(_))));
}

/// A document with everything that may stand between routes.
fn document() -> impl Strategy<Value = String> {
    let route = (
        prop::sample::select(vec!["a", "b", "c", "d"]),
        prop::sample::select(vec![
            "* -> <shunt>",
            "Path(\"/;\") -> f(`;`) // x;\n -> <loopback>",
            "*->\"http://é\"",
        ]),
        prop::sample::select(vec![";", ";;", " ; // x\n", ";\n", ";\r\n\n\n  ", "// ;\n;"]),
    );
    let routes = prop::collection::vec(route, 0..5);
    (
        routes,
        any::<bool>(),
        prop::sample::select(vec!["", "\u{feff}", "// a\n", "\n", ";"]),
    )
        .prop_map(|(routes, open, first)| {
            let mut text = first.to_owned();
            let last = routes.len().saturating_sub(1);
            for (index, (id, route, end)) in routes.into_iter().enumerate() {
                text += &format!("{id}: {route}");
                text += if open && index == last { "" } else { end };
            }
            text
        })
}

fn canonical(routes: &[Route]) -> Vec<Route> {
    routes.iter().map(Route::canonical).collect()
}

proptest! {
    #[test]
    fn a_rewritten_text_has_the_routes_of_the_changed_list(before in document(), updates in document()) {
        let updates = parse(&updates).unwrap();
        for layout in [Layout::Plain, Layout::PRETTY] {
            let mut list = parse(&before).unwrap();
            eskip::upsert(&mut list, updates.clone());
            let rewritten = upsert_text(&before, &updates, layout).unwrap();
            prop_assert_eq!(canonical(&parse(&rewritten.text).unwrap()), canonical(&list), "{:?}", rewritten);

            let mut list = parse(&before).unwrap();
            eskip::reset(&mut list, updates.clone());
            let rewritten = reset_text(&before, &updates, layout).unwrap();
            prop_assert_eq!(canonical(&parse(&rewritten.text).unwrap()), canonical(&list), "{:?}", rewritten);
        }
        let ids: Vec<&str> = updates.iter().filter_map(|route| route.id.as_deref()).collect();
        let mut list = parse(&before).unwrap();
        eskip::delete(&mut list, ids.iter().copied());
        let rewritten = delete_text(&before, &ids).unwrap();
        prop_assert_eq!(canonical(&parse(&rewritten.text).unwrap()), canonical(&list), "{:?}", rewritten);
    }
}
