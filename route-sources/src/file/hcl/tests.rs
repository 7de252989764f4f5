//! HCL out of texts, with files beside them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

/// Reads a file beside others.
fn read_with(text: &str, files: &[(&str, &str)]) -> (Result<Contents, ParseError>, Vec<String>) {
    let env = |name: &str| (name == "PORT").then(|| "8080".to_owned());
    let load = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map_or(Seen::Missing, |(_, text)| Seen::Bytes(Arc::from(text.as_bytes())))
    };
    let mut surroundings = Surroundings::new(Path::new("/etc/routes.hcl"), &env, &load);
    let contents = read(text, &mut surroundings);
    let imported = surroundings.into_imported();
    (
        contents,
        imported.keys().map(|path| path.display().to_string()).collect(),
    )
}

fn routes(text: &str, files: &[(&str, &str)]) -> Vec<Item> {
    let (contents, _) = read_with(text, files);
    contents.unwrap().routes.unwrap()
}

fn values(text: &str, files: &[(&str, &str)]) -> Vec<Value> {
    routes(text, files)
        .into_iter()
        .map(|item| item.node.unwrap().to_json())
        .collect()
}

fn error(text: &str, files: &[(&str, &str)]) -> ParseError {
    read_with(text, files).0.unwrap_err()
}

/// What is wrong with the value of one attribute of a route.
fn fault(value: &str) -> ParseError {
    let text = format!("routes = [{{\n  host = \"a.test\"\n  value = {value}\n}}]");
    let item = routes(&text, &[]).remove(0);
    assert_eq!(item.host.as_deref(), Some("a.test"), "{value}");
    item.node.unwrap_err()
}

#[test]
fn values_are_worked_out() {
    let text = r#"
        routes = [{
          host       = "${"a"}-${1 + 1}.test"
          port       = env("PORT")
          sum        = (80 + 3) * 2 - 10 / 5 % 2
          negative   = -1
          flag       = !false
          half       = 0.5
          none       = null # nothing
          colons     = { name: "a", "b c" = { d: [1] }, }
          "quoted"   = ["a", 1, true]
          match_with = { path = { patterns = ["/${env("PORT")}/*"] } }
          text       = <<END
line
END
        }]
    "#;
    assert_eq!(
        values(text, &[]),
        [json!({
            "host": "a-2.test", "port": "8080", "sum": 166, "negative": -1, "flag": true, "half": 0.5, "none": null, "colons": {"name": "a", "b c": {"d": [1]}},
            "quoted": ["a", 1, true], "match_with": {"path": {"patterns": ["/8080/*"]}}, "text": "line\n",
        })]
    );
}

#[test]
fn one_route_that_cannot_be_worked_out_leaves_the_others() {
    let text = "routes = [\n  { host = \"a\", x = env(\"NONE\") },\n  { host = \"b\" },\n  { host = env(\"NONE\") },\n]";
    let items = routes(text, &[]);
    let error = items[0].node.clone().unwrap_err();
    assert_eq!(error.line, 2);
    assert_eq!(error.message, "the variable NONE of the environment is not set");
    assert_eq!(items[0].host.as_deref(), Some("a"));
    assert_eq!(items[1].node.clone().unwrap().to_json(), json!({"host": "b"}));
    assert_eq!((items[2].host.as_deref(), items[2].node.is_err()), (None, true));
}

#[test]
fn what_has_no_meaning_is_told_with_its_line() {
    for (value, message) in [
        ("env()", "takes one argument"),
        ("env(\"A\", \"B\")", "takes one argument"),
        ("env(1)", "takes text"),
        ("num_cpus()", "no function `num_cpus`"),
        ("a::env(\"PORT\")", "no function"),
        ("bare", "no `bare`; texts are written in quotes"),
        ("1 / 0", "whole numbers"),
        ("3 / 2", "whole numbers"),
        ("1 % 0", "whole numbers"),
        ("9223372036854775807 + 1", "whole numbers"),
        ("-\"a\"", "whole numbers"),
        ("1 == 1", "whole numbers"),
        ("true ? 1 : 2", "conditions"),
        ("[for a in [1]: a]", "`for`"),
        ("\"${[1]}\"", "text or a number"),
        ("\"%{if true}a%{endif}\"", "`%{...}`"),
        ("{ a = 1 }.b", "no `b`"),
        ("[1][0]", "only fields"),
        ("{ (null) = 1 }", "a name"),
    ] {
        let error = fault(value);
        assert_eq!(error.line, 3, "{value}: {error:?}");
        assert!(error.message.contains(message), "{value}: {error:?}");
    }
}

#[test]
fn files_are_imported_from_beside_the_one_that_names_them() {
    let text =
        "routes = [\n  import(\"sites/a.hcl\"),\n  import(\"b.hcl\"),\n  import(\"c.hcl\").inner[0],\n]";
    let text = text.replace("[0]", "");
    let files = [
        (
            "/etc/sites/a.hcl",
            "host = \"a\"\nmatch_with {\n  path {\n    patterns = [\"/x\"]\n  }\n}\nmore = import(\"d.hcl\")",
        ),
        ("/etc/sites/d.hcl", "d = 1"),
        ("/etc/b.hcl", "host = \"b\"\nkind \"label\" { x = 1 }"),
        ("/etc/c.hcl", "inner = { host = \"c\" }"),
    ];
    assert_eq!(
        values(&text, &files),
        [
            json!({"host": "a", "match_with": {"path": {"patterns": ["/x"]}}, "more": {"d": 1}}),
            json!({"host": "b", "kind": {"label": {"x": 1}}}),
            json!({"host": "c"}),
        ]
    );
    let (_, imported) = read_with(&text, &files);
    assert_eq!(
        imported,
        ["/etc/b.hcl", "/etc/c.hcl", "/etc/sites/a.hcl", "/etc/sites/d.hcl"]
    );
    let whole = read_with(
        "routes = import(\"all.hcl\").routes",
        &[("/etc/all.hcl", "routes = [{ host = \"a\" }]")],
    );
    assert_eq!(whole.0.unwrap().routes.unwrap().len(), 1);
}

#[test]
fn an_import_that_fails_fails_the_whole_file() {
    let text = "routes = [\n  { host = \"a\" },\n  import(\"b.hcl\"),\n]";
    for (content, message) in [
        (None, "/etc/b.hcl is not there"),
        (Some(""), "/etc/b.hcl is empty"),
        (Some("a = \n"), "/etc/b.hcl:"),
        (
            Some("host = \"a\"\nb = env(\"NONE\")"),
            "/etc/b.hcl:2: the variable NONE",
        ),
        (Some("a = import(\"b.hcl\")"), "/etc/b.hcl imports itself"),
        (
            Some("a = import(\"routes.hcl\")"),
            "/etc/routes.hcl imports itself",
        ),
    ] {
        let files: Vec<_> = content
            .into_iter()
            .map(|content| ("/etc/b.hcl", content))
            .collect();
        let error = error(text, &files);
        assert_eq!(error.line, 3, "{error:?}");
        assert!(error.message.contains(message), "{error:?}");
    }
    assert!(
        error("routes = [import(\"b.yaml\")]", &[])
            .message
            .contains("no .hcl file")
    );
}

#[test]
fn imports_have_bounds() {
    let files: Vec<(String, String)> = (0..20)
        .map(|number| {
            let next = format!("import(\"{}.hcl\")", number + 1);
            (
                format!("/etc/{number}.hcl"),
                format!("a = [{}]", vec![next; 10].join(",")),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let message = error("routes = [import(\"0.hcl\")]", &files).message;
    assert!(message.contains("8 files deep"), "{message}");
    let many = format!("routes = [{}]", "import(\"x.hcl\"),".repeat(1001));
    assert!(
        error(&many, &[("/etc/x.hcl", "a = 1")])
            .message
            .contains("1000 at most")
    );
}

#[test]
fn other_settings_are_named_and_newer_blocks_refused() {
    let text = "service_name = \"x\"\nworker_threads = num_cpus()\nserver { http_address = \"0.0.0.0:80\" }\nroutes = []";
    let contents = read_with(text, &[]).0.unwrap();
    assert_eq!(contents.others, ["service_name", "worker_threads", "server"]);
    assert_eq!(contents.routes.map(|routes| routes.len()), Some(0));
    let newer = error("a = 1\nhost \"shop.test\" {\n}", &[]);
    assert_eq!(newer.line, 2);
    assert!(newer.message.contains("newer releases of Proksi") && newer.message.contains("routes = [...]"));
    assert!(error("routes {\n}", &[]).message.contains("`routes = [...]`"));
    assert!(
        error("route \"a\" {\n}", &[])
            .message
            .contains("`routes = [...]`")
    );
    assert!(error("routes = {}", &[]).message.contains("a list is expected"));
}

#[test]
fn lists_that_are_not_there_are_not_empty_ones() {
    assert!(read_with("a = 1", &[]).0.unwrap().into_items().is_none());
    assert!(read_with("routes = null", &[]).0.unwrap().into_items().is_none());
    assert!(read_with("", &[]).0.unwrap().into_items().is_none());
    assert_eq!(
        read_with("hosts = []", &[])
            .0
            .unwrap()
            .into_items()
            .map(|items| items.len()),
        Some(0)
    );
}

#[test]
fn broken_hcl_has_a_line() {
    assert_eq!(error("a = 1\nroutes = [\n  {\n", &[]).line, 3);
    for text in [
        "routes = [".to_owned(),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}1", "-".repeat(100_000)),
        "a {".repeat(100_000),
    ] {
        assert!(read_with(&text, &[]).0.is_err());
    }
}
