//! Texts made to hurt: each is read in one pass, or refused in one.

use eskip::{Arg, from_json, parse, parse_filters, parse_predicates};

use crate::{parsed, route};

const MANY: usize = 200_000;

#[test]
fn nothing_nests() {
    for opening in [
        "(", "<", "[", "{", "P(", "\\", "/[", "a: ", "* -> <", "&& ", "-> ",
    ] {
        let text = opening.repeat(MANY);
        for text in [text.clone(), format!("* -> f({text}"), format!("a: {text}")] {
            let errors = parse(&text).unwrap_err();
            assert!(errors.report("f").len() < 100_000);
        }
        drop(parse_filters(&text));
        drop(parse_predicates(&text));
    }
    assert!(from_json(&"[".repeat(MANY)).is_err());
    assert!(from_json(&"{\"backend\":".repeat(MANY)).is_err());
}

#[test]
fn long_words_are_read_once() {
    let long = "x".repeat(10_000_000);
    let routes = parsed(&format!(
        "{long}: Path(\"{long}\") -> f(/{long}/, `{long}`) -> \"{long}\" // {long}"
    ));
    assert_eq!(routes[0].id.as_deref(), Some(long.as_str()));
    assert_eq!(
        routes[0].filters[0].args,
        [Arg::Text(long.clone()), Arg::Text(long)]
    );

    let escaped = "\\\"".repeat(MANY);
    assert_eq!(
        route(&format!("* -> f(\"{escaped}\") -> <shunt>")).filters[0].args[0],
        Arg::Text("\"".repeat(MANY))
    );
    let escaped = "\\/".repeat(MANY);
    assert_eq!(
        route(&format!("* -> f(/{escaped}/) -> <shunt>")).filters[0].args[0],
        Arg::Text("/".repeat(MANY))
    );
    let kept = "\\d".repeat(MANY);
    for quote in ['"', '`', '/'] {
        assert_eq!(
            route(&format!("* -> f({quote}{kept}{quote}) -> <shunt>")).filters[0].args[0],
            Arg::Text(kept.clone())
        );
    }
}

#[test]
fn long_lists_are_read_once() {
    let routes = parsed(&"a: * -> <shunt>;\n".repeat(100_000));
    assert_eq!(routes.len(), 100_000);
    let mut updated = routes.clone();
    eskip::upsert(&mut updated, routes);
    assert_eq!(updated.len(), 1);
    let headers: Vec<String> = (0..100_000).map(|n| format!("Header(\"{n}\", \"\")")).collect();
    assert_eq!(
        route(&format!("{} -> <shunt>", headers.join(" && ")))
            .predicates
            .len(),
        100_000
    );
    assert_eq!(
        route(&format!("* -> f({}1) -> <shunt>", "1,".repeat(MANY))).filters[0]
            .args
            .len(),
        MANY + 1
    );
    assert_eq!(
        route(&format!("* {} -> <shunt>", "&& * ".repeat(MANY))).predicates,
        []
    );
    assert_eq!(parsed(&";".repeat(MANY)), []);
    assert_eq!(parsed(&"// x\n".repeat(MANY)), []);
    let servers = "\"http://a\",".repeat(100_000);
    assert!(parse(&format!("* -> <{servers}\"http://b\">")).is_ok());
}

#[test]
fn mistakes_cost_one_pass_together() {
    // One line: each place is found from the one before.
    let errors = parse(&"# ".repeat(MANY)).unwrap_err();
    assert_eq!(errors.iter().count(), 1);
    let errors = parse(&"a: Path() -> <shunt>;".repeat(100_000)).unwrap_err();
    assert_eq!((errors.iter().count(), errors.left_out()), (100, 99_900));
    assert_eq!(
        errors.iter().last().map(|error| error.place().column()),
        Some(99 * 21 + 4)
    );
    for begun in ["# \"\\\"\n", "# /\\/\n", "# `\\`\n", "a: \"\n"] {
        assert!(parse(&begun.repeat(100_000)).is_err());
    }
    let unclosed = format!("{}\"", "a: \"x\" \n;".repeat(100_000));
    assert!(parse(&unclosed).is_err());
}

#[test]
fn any_character_may_stand_in_a_string_and_few_elsewhere() {
    for c in (0..=0x024f_u32).filter_map(char::from_u32) {
        let read = parse(&format!("* -> f(\"{c}\") -> <shunt>"));
        match c {
            '"' | '\\' => assert!(read.is_err()),
            _ => assert_eq!(read.unwrap()[0].filters[0].args, [Arg::Text(c.to_string())]),
        }
        let between = parse(&format!("a: * {c} -> <shunt>")).is_ok();
        assert_eq!(between, "\t\n\u{b}\u{c}\r \u{85}\u{a0}".contains(c), "{c:?}");
    }
}
