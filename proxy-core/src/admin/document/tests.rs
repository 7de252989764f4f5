//! What Caddy 2.11.7 answers, case by case, and properties that hold for any document.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const ROUTES: &str = "/config/apps/http/servers/s/routes";

fn document() -> Document {
    let routes = json!([
        {"@id": "r1", "handle": [{"handler": "static_response", "body": "a<b>&"}]},
        {"@id": 7, "handle": [{"handler": "static_response", "body": "b"}]},
    ]);
    let servers = json!({"s": {"listen": ["127.0.0.1:0"], "routes": routes}});
    Document::new(&json!({"admin": {"listen": "localhost:48643"}, "apps": {"http": {"servers": servers}}}))
        .unwrap()
}

fn show(document: &Document, path: &str) -> Result<String, String> {
    let shown = document.show(&Pointer::parse(path));
    shown.map(|shown| shown.body).map_err(|error| error.to_string())
}

/// The routes after an edit of them; the path is the rest behind theirs.
fn edited(edit: Edit, rest: &str, body: &str) -> Result<String, String> {
    let place = Pointer::parse(&format!("{ROUTES}{rest}"));
    let edited = document().edited(edit, &place, body.as_bytes());
    show(&edited.map_err(|error| error.to_string())?, ROUTES)
}

#[test]
fn a_value_is_printed_and_named_as_caddy_does() {
    let document = document();
    let shown = document.show(&Pointer::parse("/config/")).unwrap();
    assert_eq!(shown.etag, "\"/config/ 244cb674d5981630\"");
    let route = document.show(&Pointer::parse(&format!("{ROUTES}/0"))).unwrap();
    assert_eq!(
        route.body,
        "{\"@id\":\"r1\",\"handle\":[{\"body\":\"a\\u003cb\\u003e\\u0026\",\"handler\":\"static_response\"}]}\n"
    );
    assert_eq!(route.etag, format!("\"{ROUTES}/0 7a832db2ffdb4ad5\""));
    let missing = document.show(&Pointer::parse("/config/nope")).unwrap();
    assert_eq!(missing.body, "null\n");
    assert_eq!(missing.etag, "\"/config/nope 396548453caeba50\"");
}

#[test]
fn what_was_printed_from_a_model_is_shown_and_compared_as_any_other() {
    let text = r#"{"apps":{"http":{"servers":{"s":{"listen":[":1"],"automatic_https":{}}}}},"admin":{"listen":"a<b"}}"#;
    let (of_model, read) = (
        Document::of_model(text.to_owned()).unwrap(),
        Document::new(&serde_json::from_str(text).unwrap()).unwrap(),
    );
    assert!(of_model.is_same(&read) && read.is_same(&of_model));
    for path in ["/config/", "/config/apps", "/config/admin/listen"] {
        let place = Pointer::parse(path);
        assert_eq!(of_model.show(&place), read.show(&place), "{path}");
    }
    let other = Document::of_model(text.replace(":1", ":2")).unwrap();
    assert!(!other.is_same(&read) && !other.is_same(&of_model));
    let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(Document::of_model(nested(read::MAX_DEPTH)).is_ok());
    assert!(Document::of_model(nested(read::MAX_DEPTH + 1)).is_err());
}

#[test]
fn brackets_and_commas_in_strings_do_not_count() {
    assert!(read::is_small(&format!(
        "[{:?}]",
        "[{,\"\\".repeat(read::MAX_DEPTH)
    )));
    assert!(!read::is_small(&format!("[{}0]", "0,".repeat(read::MAX_VALUES))));
}

#[test]
fn texts_and_numbers_are_printed_as_caddy_prints_them() {
    for (written, printed) in [
        (
            r#""\u0001\u007f\b\f\u2028\u00e9\ud83d\ude00/\/""#,
            "\"\\u0001\u{7f}\\b\\f\\u2028é😀//\"",
        ),
        ("1e9", "1000000000"),
        ("1.5e9", "1500000000"),
        ("1.0", "1"),
        ("-0.5", "-0.5"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("1500000000000000000000", "1.5e+21"),
        // Caddy rounds this one to the nearest float.
        ("9007199254740993", "9007199254740993"),
        ("-3", "-3"),
        ("[true,false,null,{}]", "[true,false,null,{}]"),
    ] {
        assert_eq!(
            print::line(&read::value(written.as_bytes()).unwrap()),
            printed,
            "{written}"
        );
    }
}

#[test]
fn ways_into_the_document_end_as_in_caddy() {
    let document = document();
    let no_index =
        |part: &str, reason: &str| format!("[{ROUTES}/{part}] invalid array index '{part}': {reason}");
    let listen = "/config/apps/http/servers/s/listen";
    for (path, expected) in [
        (
            "/config/nope/deeper".to_owned(),
            "invalid traversal path at: config/nope/deeper".to_owned(),
        ),
        (
            format!("{ROUTES}/00"),
            no_index("00", "non-canonical array index"),
        ),
        (
            format!("{ROUTES}/+1"),
            no_index("+1", "non-canonical array index"),
        ),
        (
            format!("{ROUTES}/-0"),
            no_index("-0", "non-canonical array index"),
        ),
        (
            format!("{ROUTES}/00/match"),
            no_index("00", "non-canonical array index"),
        ),
        (
            format!("{ROUTES}/x"),
            no_index("x", "strconv.Atoi: parsing \"x\": invalid syntax"),
        ),
        (
            format!("{ROUTES}/99999999999999999999"),
            no_index(
                "99999999999999999999",
                "strconv.Atoi: parsing \"99999999999999999999\": value out of range",
            ),
        ),
        (
            format!("{ROUTES}/-1"),
            format!("[{ROUTES}/-1] array index out of bounds: -1"),
        ),
        (
            format!("{ROUTES}/5"),
            format!("[{ROUTES}/5] array index out of bounds: 5"),
        ),
        (
            format!("{ROUTES}/5/"),
            format!("[{ROUTES}/5/] array index out of bounds: 5"),
        ),
        (
            format!("{listen}/5/x"),
            format!("[{listen}/5] array index out of bounds: 5"),
        ),
        (
            format!("{ROUTES}/0/handle/0/body/x"),
            "invalid traversal path at: config/apps/http/servers/s/routes/0/handle/0/body/x".to_owned(),
        ),
        ("/".to_owned(), "no traversable path".to_owned()),
    ] {
        assert_eq!(show(&document, &path), Err(expected), "{path}");
    }
    assert_eq!(show(&document, &format!("{ROUTES}/...")), show(&document, ROUTES));
    assert_eq!(show(&document, "/config/.../"), show(&document, "/config/"));
}

#[test]
fn posting_sets_values_and_appends_to_arrays() {
    let [first, second] = [0, 1].map(|n| {
        show(&document(), &format!("{ROUTES}/{n}"))
            .unwrap()
            .trim()
            .to_owned()
    });
    let appended = Ok(format!("[{first},{second},{{\"n\":1}}]\n"));
    for rest in ["", "/0", "/99", "/x"] {
        assert_eq!(edited(Edit::Post, rest, r#"{"n":1}"#), appended, "{rest}");
    }
    assert_eq!(
        edited(Edit::Post, "/...", r#"[{"n":1},2]"#),
        Ok(format!("[{first},{second},{{\"n\":1}},2]\n"))
    );
    assert_eq!(
        edited(Edit::Post, "/...", "{}"),
        Err("final element is not an array".to_owned())
    );
    assert_eq!(
        edited(Edit::Post, "/.../x", "{}"),
        Err(format!(
            "[{ROUTES}/...] invalid array index '...': strconv.Atoi: parsing \"...\": invalid syntax"
        ))
    );
    let replaced = edited(Edit::Post, "/0/handle/0/body", "\"n\"").unwrap();
    assert!(replaced.contains("\"body\":\"n\""), "{replaced}");
    let emptied = edited(Edit::Post, "/0/handle/0/body", "").unwrap();
    assert!(emptied.contains("\"body\":null"), "{emptied}");
}

#[test]
fn putting_makes_values_and_inserts_into_arrays() {
    let [first, second] = [0, 1].map(|n| {
        show(&document(), &format!("{ROUTES}/{n}"))
            .unwrap()
            .trim()
            .to_owned()
    });
    assert_eq!(
        edited(Edit::Put, "/0", "1"),
        Ok(format!("[1,{first},{second}]\n"))
    );
    assert_eq!(
        edited(Edit::Put, "/2", "1"),
        Ok(format!("[{first},{second},1]\n"))
    );
    for (rest, key) in [("", "routes"), ("/...", "routes"), ("/0/handle", "handle")] {
        let expected = Err(format!("[{ROUTES}{rest}] key already exists: {key}"));
        assert_eq!(edited(Edit::Put, rest, "1"), expected);
    }
    let deep = document()
        .edited(Edit::Put, &Pointer::parse("/config/a/b/c"), b"true")
        .unwrap();
    assert_eq!(show(&deep, "/config/a").as_deref(), Ok("{\"b\":{\"c\":true}}\n"));
    assert_eq!(
        edited(Edit::Put, "/3", "1"),
        Err(format!("[{ROUTES}/3] array index out of bounds: 3"))
    );
}

#[test]
fn patching_and_deleting_need_something_there() {
    let second = show(&document(), &format!("{ROUTES}/1"))
        .unwrap()
        .trim()
        .to_owned();
    assert_eq!(edited(Edit::Patch, "/0", "1"), Ok(format!("[1,{second}]\n")));
    assert_eq!(edited(Edit::Delete, "/0", ""), Ok(format!("[{second}]\n")));
    assert_eq!(edited(Edit::Delete, "/0/", ""), Ok(format!("[{second}]\n")));
    assert_eq!(edited(Edit::Delete, "/...", ""), Ok("null\n".to_owned()));
    for edit in [Edit::Patch, Edit::Delete] {
        assert_eq!(
            edited(edit, "/0/nope", "1"),
            Err(format!("[{ROUTES}/0/nope] key does not exist: nope"))
        );
        assert_eq!(
            edited(edit, "/99", "1"),
            Err(format!("[{ROUTES}/99] array index out of bounds: 99"))
        );
        assert_eq!(
            edited(edit, "/0/handle/0/body/x", "1"),
            Err("invalid traversal path at: config/apps/http/servers/s/routes/0/handle/0/body/x".to_owned())
        );
    }
}

#[test]
fn objects_are_found_by_their_ids() {
    let document = document();
    let at = |id, rest| document.locate(id, rest).map(|place| place.text().to_owned());
    assert_eq!(at("r1", ""), Some(format!("{ROUTES}/0")));
    assert_eq!(at("7", "/handle/0/"), Some(format!("{ROUTES}/1/handle/0")));
    assert_eq!(at("x", ""), None);
}

#[test]
fn a_key_with_a_slash_does_not_lead_an_id_astray() {
    let document = Document::new(&json!({"a/..": {"...": {"@id": "x", "v": 1}}, "v": 2})).unwrap();
    let place = document.locate("x", "v").unwrap();
    assert_eq!(document.show(&place).unwrap().body, "1\n");
}

#[test]
fn bad_ids_are_told_with_their_places() {
    let post = |body: &str| edited(Edit::Post, "", body).unwrap_err();
    assert_eq!(
        post(r#"{"@id":"r1"}"#),
        format!("indexing config: duplicate ID 'r1' found at {ROUTES}/0 and {ROUTES}/2")
    );
    assert_eq!(
        post(r#"{"@id":"7"}"#),
        format!("indexing config: duplicate ID '7' found at {ROUTES}/1 and {ROUTES}/2")
    );
    for id in ["true", "null", "[]"] {
        assert_eq!(
            post(&format!("{{\"@id\":{id}}}")),
            format!("indexing config: {ROUTES}/2: @id field must be a string or number")
        );
    }
}

#[test]
fn a_state_is_recognised_by_the_path_and_hash_that_were_sent() {
    let document = document();
    let etag = document.show(&Pointer::parse(ROUTES)).unwrap().etag;
    assert_eq!(document.check_match(&etag), Ok(()));
    let changed = document
        .edited(Edit::Delete, &Pointer::parse(&format!("{ROUTES}/1")), b"")
        .unwrap();
    assert_eq!(changed.check_match(&etag), Err(MatchError::Differs));
    for (field, expected) in [
        ("*", MatchError::Unquoted),
        ("\"", MatchError::Unquoted),
        ("W/\"a b\"", MatchError::Unquoted),
        ("\"x\"", MatchError::Parts),
        ("\"a b c\"", MatchError::Parts),
        ("\" 12\"", MatchError::Parts),
        ("\"/config/ 12\"", MatchError::Differs),
        ("\"nope 12\"", MatchError::Differs),
        ("\"/config/nope   396548453CAEBA50\"", MatchError::Differs),
        ("\"/ 12\"", MatchError::Path(EditError::NoPath)),
        (
            "\"/config/nope/x 12\"",
            MatchError::Path(EditError::Traversal("config/nope/x".to_owned())),
        ),
    ] {
        assert_eq!(document.check_match(field), Err(expected), "{field}");
    }
    assert_eq!(
        document.check_match("\"/config/nope   396548453caeba50\""),
        Ok(())
    );
}

#[test]
fn what_is_no_json_or_too_much_of_it_is_refused() {
    let deep = "[".repeat(10_000);
    let many = format!("[{}0]", "0,".repeat(2_000_000));
    for (body, expected) in [
        ("{bad", "key must be a string at line 1 column 2"),
        ("1 2", "trailing characters at line 1 column 3"),
        (
            r#"{"a":1,"a":2}"#,
            "the key \"a\" occurs twice at line 1 column 13",
        ),
        (deep.as_str(), "recursion limit exceeded at line 1 column 128"),
        (many.as_str(), "more than 2000000 values at line 1 column 3999999"),
        (
            "\"\u{0}\"",
            "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 2",
        ),
    ] {
        let error = edited(Edit::Post, "", body).unwrap_err();
        assert_eq!(error, format!("decoding request body: {expected}"));
    }
}

#[test]
fn a_document_of_nothing_is_the_default_configuration() {
    let gone = document()
        .edited(Edit::Delete, &Pointer::parse("/config/"), b"")
        .unwrap();
    assert_eq!(gone.decode(), Ok(Config::default()));
    assert_eq!(show(&gone, "/config/").as_deref(), Ok("null\n"));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c<>&\u{2028}\"\\\\/é]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-d/.<]{1,2}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn paths() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-d/.<]{1,2}",
        "[0-6]",
        Just("...".to_owned()),
        "[+-]?0{0,2}[0-9]{1,2}"
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| format!("/config/{}", parts.join("/")))
}

proptest! {
    #[test]
    fn what_is_printed_reads_as_what_it_was(value in values()) {
        let printed = print::line(&value);
        let again = print::line(&read::value(printed.as_bytes()).unwrap());
        prop_assert_eq!(printed, again);
    }

    #[test]
    fn an_edit_that_is_refused_says_why_and_one_that_is_made_can_be_seen(
        config in values(), path in paths(), new in values(), which in 0..4_usize,
    ) {
        let document = Document::new(&config).unwrap();
        let before = document.text().to_owned();
        let edit = [Edit::Post, Edit::Put, Edit::Patch, Edit::Delete][which];
        let place = Pointer::parse(&path);
        let body = print::line(&new);
        match document.edited(edit, &place, body.as_bytes()) {
            Err(error) => prop_assert!(error.status().is_client_error() && !error.to_string().is_empty()),
            Ok(edited) => {
                let reread = Document::new(&read::value(edited.text().as_bytes()).unwrap()).unwrap();
                prop_assert_eq!(reread.text(), edited.text(), "what is saved loads as the same document");
                if edit == Edit::Patch {
                    let shown = edited.show(&place).unwrap().body;
                    prop_assert_eq!(shown.trim_end(), body);
                }
            }
        }
        prop_assert_eq!(document.text(), before, "the document itself never changes");
    }

    #[test]
    fn what_was_put_can_be_deleted_again(config in values(), path in paths(), new in values()) {
        let document = Document::new(&config).unwrap();
        let place = Pointer::parse(&path);
        if let Ok(put) = document.edited(Edit::Put, &place, print::line(&new).as_bytes()) {
            let deleted = put.edited(Edit::Delete, &place, b"").unwrap();
            let shown = deleted.show(&place);
            // Objects on the way that were made for it stay; an element behind it takes its place.
            prop_assert!(shown.is_err() || shown.unwrap().body == "null\n" || document.show(&place).is_ok());
        }
    }
}
