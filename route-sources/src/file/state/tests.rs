//! What becomes of routes when files change; nothing here touches a disk.

use proptest::prelude::*;

use super::*;

const ONE: &str = "routes:\n  - host: a.test\n    upstreams: [{ip: 10.0.0.1, port: 80}]\n";
const TWO: &str = "routes:\n  - host: a.test\n    upstreams: [{ip: 10.0.0.1, port: 80}]\n  - host: b.test\n    upstreams: []\n";

fn seen(text: &str) -> Seen {
    Seen::Bytes(text.as_bytes().into())
}

fn look(files: &[(&str, Seen)]) -> Look {
    Look {
        files: files
            .iter()
            .map(|(path, seen)| (PathBuf::from(path), seen.clone()))
            .collect(),
        imports: BTreeMap::new(),
    }
}

/// What follows from looks at one file.
fn after(texts: &[Seen]) -> State {
    let step =
        |state: State, seen: &Seen| state.next(&look(&[("a.yaml", seen.clone())]), &FileSettings::default());
    texts.iter().fold(State::default(), step)
}

fn hosts(state: &State) -> Vec<String> {
    let snapshot = state.snapshot();
    snapshot
        .routes
        .iter()
        .map(|route| route.host().to_string())
        .collect()
}

#[test]
fn routes_come_and_go_with_the_text() {
    assert_eq!(hosts(&after(&[seen(ONE)])), ["a.test"]);
    assert_eq!(hosts(&after(&[seen(ONE), seen(TWO)])), ["a.test", "b.test"]);
    assert_eq!(hosts(&after(&[seen(TWO), seen(ONE)])), ["a.test"]);
    for removed in ["routes: []", "hosts: []", "routes: []\nhosts:\n"] {
        let state = after(&[seen(TWO), seen(removed)]);
        assert!(hosts(&state).is_empty());
        let snapshot = state.snapshot();
        assert!(
            snapshot.stale.is_none() && snapshot.invalid.is_empty(),
            "{removed}"
        );
    }
}

#[test]
fn a_file_that_is_gone_empty_or_broken_keeps_its_routes_and_is_reported() {
    let cases = [
        (Seen::Missing, "a.yaml", "not there"),
        (
            Seen::Unreadable("it is no regular file".into()),
            "a.yaml",
            "no regular file",
        ),
        (seen(""), "a.yaml", "no `routes`"),
        (seen("# nothing\n"), "a.yaml", "no `routes`"),
        (seen("routes:\n"), "a.yaml", "no `routes`"),
        (seen("service_name: x\n"), "a.yaml", "no `routes`"),
        (seen("routes:\n  - host: [\n"), "a.yaml:2", "bracket"),
        (seen("routes: 7\n"), "a.yaml:1", "a list is expected"),
        (seen("- a\n"), "a.yaml:1", "`routes` or `hosts`"),
        (seen("host: a.test\n"), "a.yaml:1", "newer releases"),
        (Seen::Bytes([0xff, 0xfe].as_slice().into()), "a.yaml", "no UTF-8"),
    ];
    for (broken, place, reason) in cases {
        let state = after(&[seen(TWO), broken.clone()]);
        assert_eq!(hosts(&state), ["a.test", "b.test"], "{broken:?}");
        let snapshot = state.snapshot();
        let [invalid] = snapshot.invalid.as_slice() else {
            panic!("{snapshot:?}");
        };
        assert_eq!(
            (invalid.place.as_str(), invalid.kept),
            (place, true),
            "{invalid:?}"
        );
        assert!(invalid.reason.contains(reason), "{invalid:?}");
        assert!(snapshot.stale.unwrap().starts_with(place));
        let back = after(&[seen(TWO), broken, seen(ONE)]);
        assert_eq!(hosts(&back), ["a.test"]);
        assert!(back.snapshot().stale.is_none());
    }
    let never = after(&[Seen::Missing]).snapshot();
    assert!(never.routes.is_empty() && !never.invalid[0].kept && never.stale.is_some());
}

#[test]
fn a_setting_takes_an_empty_file_at_its_word() {
    let settings = FileSettings {
        when_missing: WhenMissing::Clear,
        ..FileSettings::default()
    };
    for gone in [Seen::Missing, seen(""), seen("service_name: x")] {
        let state = State::default().next(&look(&[("a.yaml", seen(ONE))]), &settings);
        let look = look(&[("a.yaml", gone)]);
        let state = state.next(&look, &settings);
        let snapshot = state.snapshot();
        assert!(snapshot.routes.is_empty() && snapshot.invalid.is_empty() && snapshot.stale.is_none());
        assert!(!state.differs(&look));
    }
    let broken = State::default().next(&look(&[("a.yaml", seen(ONE))]), &settings);
    assert_eq!(
        hosts(&broken.next(&look(&[("a.yaml", seen("routes: ["))]), &settings)),
        ["a.test"]
    );
}

#[test]
fn one_invalid_route_leaves_the_others_and_its_earlier_self() {
    let broken = TWO.replace("port: 80", "port: 0");
    let first = after(&[seen(&broken)]).snapshot();
    assert_eq!(first.routes.len(), 1);
    let [invalid] = first.invalid.as_slice() else {
        panic!();
    };
    assert_eq!(
        (invalid.host.as_deref(), invalid.place.as_str(), invalid.kept),
        (Some("a.test"), "a.yaml:3", false)
    );
    assert!(
        invalid.reason.starts_with("upstreams[0].port: "),
        "{}",
        invalid.reason
    );
    assert!(first.stale.is_none());

    let state = after(&[seen(TWO), seen(&broken)]);
    assert_eq!(hosts(&state), ["b.test", "a.test"]);
    assert!(state.snapshot().invalid[0].kept);
    let again = state.next(
        &look(&[("a.yaml", seen(&format!("{broken}# more\n")))]),
        &FileSettings::default(),
    );
    assert_eq!(hosts(&again), ["b.test", "a.test"]);
    let gone = again.next(&look(&[("a.yaml", seen("routes: []"))]), &FileSettings::default());
    assert!(hosts(&gone).is_empty());
}

#[test]
fn a_login_that_cannot_be_taken_over_refuses_the_route() {
    let text = format!("{ONE}    plugins: [{{name: basic_auth, config: {{user: a, pass: hunter2}}}}]\n");
    let snapshot = after(&[seen(&text)]).snapshot();
    assert!(snapshot.routes.is_empty());
    assert_eq!(snapshot.invalid[0].place, "a.yaml:4");
    assert!(!format!("{:?}", snapshot.invalid).contains("hunter2"));
}

#[test]
fn documents_that_say_the_same_stay_the_same_value() {
    let before = after(&[seen(TWO)]);
    let changed = TWO.replace("10.0.0.1", "10.0.0.2");
    for (text, same) in [
        (format!("# moved\n\n{TWO}"), [true, true]),
        (changed, [false, true]),
    ] {
        let state = before.next(&look(&[("a.yaml", seen(&text))]), &FileSettings::default());
        let pairs = before.routes.iter().zip(&state.routes);
        let found: Vec<bool> = pairs.map(|(one, other)| Arc::ptr_eq(one, other)).collect();
        assert_eq!(found, same);
    }
    let renamed = before.next(
        &look(&[("b.yaml", seen(TWO)), ("a.yaml", Seen::Missing)]),
        &FileSettings::default(),
    );
    assert!(
        before
            .routes
            .iter()
            .zip(&renamed.routes)
            .all(|(one, other)| Arc::ptr_eq(one, other))
    );
}

#[test]
fn a_file_that_was_renamed_or_split_is_forgotten() {
    let settings = FileSettings::default();
    let state = after(&[seen(TWO)]);
    let look_renamed = look(&[
        ("b.yaml", seen(&TWO.replace("10.0.0.1", "10.0.0.9"))),
        ("a.yaml", Seen::Missing),
    ]);
    let renamed = state.next(&look_renamed, &settings);
    assert_eq!(hosts(&renamed), ["a.test", "b.test"]);
    assert!(renamed.snapshot().stale.is_none() && renamed.snapshot().invalid.is_empty());
    assert!(!renamed.differs(&look_renamed));
    let split = state.next(
        &look(&[("b.yaml", seen(ONE)), ("a.yaml", Seen::Missing)]),
        &settings,
    );
    assert_eq!(hosts(&split), ["a.test", "b.test"], "b.test is nowhere else");
    assert!(split.snapshot().stale.is_some());
}

#[test]
fn files_count_in_their_order_and_both_forms_are_read() {
    let native = r#"{"hosts": [{"host": "A.test", "eskip": "* -> <shunt>"},
 {"host": "c.test", "upstream": []}, {"schema_version": 9, "host": "d.test"}]}"#;
    let mut forms = look(&[("a.json", seen(native)), ("b.yaml", seen(ONE))]);
    forms.files.push((
        PathBuf::from("c.hcl"),
        seen("routes = [{ host = \"e.test\", upstreams = [] }]"),
    ));
    let state = State::default().next(&forms, &FileSettings::default());
    assert_eq!(
        hosts(&state),
        ["a.test", "a.test", "e.test"],
        "the merge reports the second"
    );
    let places: Vec<_> = state
        .snapshot()
        .invalid
        .iter()
        .map(|invalid| (invalid.place.clone(), invalid.host.clone()))
        .collect();
    assert_eq!(
        places,
        [
            ("a.json:2".to_owned(), Some("c.test".to_owned())),
            ("a.json:2".to_owned(), Some("d.test".to_owned()))
        ]
    );
}

#[test]
fn a_look_differs_by_text_order_and_imports() {
    let settings = FileSettings::default();
    let load = "routes = [import(\"x.hcl\")]";
    let import = |text: &str| {
        let mut look = look(&[("a.hcl", seen(load)), ("b.yaml", seen(ONE))]);
        look.imports.insert(PathBuf::from("x.hcl"), seen(text));
        look
    };
    let state = State::default().next(&import("host = \"i.test\"\nupstreams = []"), &settings);
    assert_eq!(hosts(&state), ["i.test", "a.test"]);
    assert!(!state.differs(&import("host = \"i.test\"\nupstreams = []")));
    let changed = import("host = \"j.test\"\nupstreams = []");
    assert!(state.differs(&changed));
    let state = state.next(&changed, &settings);
    assert_eq!(hosts(&state), ["j.test", "a.test"]);
    let emptied = state.next(&import(""), &settings);
    assert_eq!(hosts(&emptied), ["j.test", "a.test"]);
    assert_eq!(
        emptied.snapshot().stale.as_deref(),
        Some("a.hcl:1: x.hcl is empty")
    );
    let whole = emptied.next(&import("host = \"k.test\"\nupstreams = []"), &settings);
    assert_eq!(hosts(&whole), ["k.test", "a.test"]);
    let swapped = look(&[("b.yaml", seen(ONE)), ("a.hcl", seen(load))]);
    assert!(whole.differs(&swapped));
}

#[test]
fn texts_of_all_kinds_are_reported_in_every_format() {
    for text in [
        "{",
        "routes",
        "routes: [[[]]]",
        "routes: [1, null, {}]",
        "hosts: [{host: {}}]",
        "\0",
        "a: !!binary x",
    ] {
        for name in ["a.yaml", "a.hcl", "a.json", "a"] {
            let state = State::default().next(&look(&[(name, seen(text))]), &FileSettings::default());
            assert!(!state.snapshot().invalid.is_empty(), "{name}: {text}");
        }
    }
}

#[test]
fn files_as_deep_as_they_may_be_are_read_and_deeper_ones_reported() {
    for (open, close, name) in [
        ("[", "]", "a.hcl"),
        ("{a=", "}", "a.hcl"),
        ("[", "]", "a.yaml"),
        ("{a: ", "}", "a.yaml"),
        ("- ", "", "a.yaml"),
        ("[", "]", "a.json"),
        ("{\"a\":", "}", "a.json"),
    ] {
        for depth in [50, 70, 130, 10_000] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let text = match name {
                "a.hcl" => format!("routes = [{{ host = \"a.test\", x = {nested} }}]"),
                "a.json" => format!("{{\"routes\": [{{\"host\": \"a.test\", \"x\": {nested}}}]}}"),
                _ if close.is_empty() => format!("routes:\n- host: a.test\n  x:\n    {nested}\n"),
                _ => format!("routes:\n- host: a.test\n  x: {nested}\n"),
            };
            let snapshot = State::default()
                .next(&look(&[(name, seen(&text))]), &FileSettings::default())
                .snapshot();
            let host = snapshot.invalid[0].host.as_deref();
            assert!(snapshot.invalid.len() == 1, "{snapshot:?}");
            assert_eq!(
                host.is_some(),
                depth == 50 || (depth == 70 && name == "a.json"),
                "{name} {open} {depth}: {snapshot:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_or_reported(
        which in 0_usize..3,
        edits in prop::collection::vec((any::<prop::sample::Index>(), piece(), 0_usize..8), 1..6),
    ) {
        let (name, text) = [
            ("a.yaml", TWO),
            ("a.hcl", "a = 1\nroutes = [{ host = \"a.test\", upstreams = [{ ip = env(\"X\"), port = 80 + 1 }] }, import(\"b.hcl\")]\n"),
            ("a.json", "{\"hosts\": [{\"host\": \"a.test\", \"upstreams\": []}], \"routes\": [{\"host\": \"b.test\"}]}"),
        ][which];
        let mut data = text.as_bytes().to_vec();
        for (at, piece, removed) in edits {
            let start = at.index(data.len() + 1);
            let end = (start + removed).min(data.len());
            data.splice(start..end, piece.bytes());
        }
        let seen = Seen::Bytes(data.into());
        let load = |_: &Path| Seen::Bytes(b"host = \"c.test\"\nupstreams = []".as_slice().into());
        let read = deep(|| Read::of(Path::new(name), &seen, &load, &FileSettings::default()).0.err());
        // What panics is nothing.
        prop_assert!(read.is_some());
        prop_assert!(read.flatten().is_none_or(|error| !error.message.is_empty()));
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\t",
        "\0",
        "é",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "=",
        "\"",
        "\\",
        "&a ",
        "*a",
        "<<: *a",
        "- ",
        "? ",
        "!!",
        "|\n",
        "${",
        "%{",
        "<<E\n",
        "env(",
        "import(",
        "1e9",
        "-1",
        "~",
        "#",
        "---\n",
        "host \"x\" {",
        "routes",
        "hosts",
    ])
}
