//! The language above single directives: snippets and files, named routes, the order of directives, error routes.

use std::{collections::BTreeMap, path::Path};

use caddy_config::{
    Adapted, Diagnostics, FileError, Severity, Surroundings, from_caddyfile, from_caddyfile_in,
};

/// Files by path.
struct Files(BTreeMap<&'static str, &'static str>);

impl Surroundings for Files {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "KEY").then(|| "c2VjcmV0LXNlY3JldA==".to_owned())
    }

    fn read(&self, path: &Path, _: usize) -> Result<Vec<u8>, FileError> {
        let text = path.to_str().and_then(|path| self.0.get(path));
        text.map(|text| text.as_bytes().to_vec())
            .ok_or(FileError::NotFound)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let inside = self.0.keys().filter_map(|path| {
            let path = Path::new(path);
            (path.parent()? == directory).then(|| path.file_name()?.to_str().map(str::to_owned))?
        });
        Ok(inside.collect())
    }
}

fn adapt(text: &str) -> Result<Adapted, Diagnostics> {
    from_caddyfile("Caddyfile", text, &|_| None)
}

/// `line:column: message` of every finding.
fn findings(text: &str) -> Vec<String> {
    let findings = adapt(text).expect_err("the text is wrong");
    findings.iter().map(short).collect()
}

fn warnings(text: &str) -> Vec<String> {
    let adapted = adapt(text).unwrap_or_else(|findings| panic!("{findings}"));
    adapted.warnings.iter().map(short).collect()
}

fn short(finding: &caddy_config::Diagnostic) -> String {
    let kind = if finding.severity() == Severity::Warning {
        "warning: "
    } else {
        ""
    };
    let place = finding.place();
    format!("{}:{}: {kind}{}", place.line(), place.column(), finding.message())
}

/// Each text has the one finding beside it.
fn refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(findings(text), [*expected], "{text}");
    }
}

#[test]
fn a_finding_in_a_snippet_shows_where_it_was_imported() {
    let text = "(s) {\n\trespond hi {args[0]}\n}\n:80 {\n\timport s teapot\n}\n";
    let expected = "Caddyfile:2:13: `{args[0]}` is not a final status\n  2 | \trespond hi {args[0]}\n    \
                    | \t           ^^^^^^^^^\n  imported at Caddyfile:5:9: import s teapot";
    assert!(
        adapt(text).unwrap_err().to_string().starts_with(expected),
        "{}",
        adapt(text).unwrap_err()
    );
}

#[test]
fn the_same_mistake_by_several_imports_is_told_once() {
    let text = "(s) {\n\trespnd\n}\n:80 {\n\timport s\n}\n:81 {\n\timport s\n}\n";
    assert_eq!(findings(text), ["2:2: unknown directive `respnd`"]);
}

#[test]
fn an_address_of_another_file_is_told_with_its_file() {
    let files = Files(BTreeMap::from([("sites/a", "a.com {\n}\n")]));
    let found = from_caddyfile_in("Caddyfile", "a.com {\n}\nimport sites/*\n", &files).unwrap_err();
    let found: Vec<String> = found
        .iter()
        .map(|finding| format!("{}: {}", finding.place(), finding.message()))
        .collect();
    assert_eq!(found, ["sites/a:1:1: this address has a site already, on line 1"]);
    let twice = "import sites/*\nimport sites/a\n";
    let found = from_caddyfile_in("Caddyfile", twice, &files).unwrap_err();
    let found: Vec<String> = found.iter().map(|finding| finding.message().to_owned()).collect();
    assert_eq!(found, ["this address has a site already, on line 1 of sites/a"]);
}

#[test]
fn what_was_read_is_told_even_if_something_is_wrong() {
    let files = Files(BTreeMap::from([("conf/a", "respnd")]));
    let found = from_caddyfile_in(
        "Caddyfile",
        ":80 {\n\timport conf/*\n\timport conf/b\n}\n",
        &files,
    )
    .unwrap_err();
    let paths: Vec<_> = found
        .inputs()
        .files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(paths, ["conf/a", "conf/b"]);
    assert!(found.inputs().directories.contains(Path::new("conf")));
}

#[test]
fn a_secret_that_is_given_to_an_import_is_not_shown() {
    let snippet =
        "(app) {\n\tdoors_handler {\n\t\tsecret {args[0]}\n\t\tupstream {\n\t\t\thost a\n\t\t}\n\t}\n}\n";
    for import in [
        "import app c2VjcmV0LXNlY3JldA==",
        "import outer c2VjcmV0LXNlY3JldA==",
        "import word secret c2VjcmV0LXNlY3JldA==",
        "import wrap {\n\t\tdoors_handler {\n\t\t\tsecret c2VjcmV0LXNlY3JldA== {}\n\t\t}\n\t}",
    ] {
        let others = "(outer) {\n\timport app {args[0]}\n}\n(word) {\n\tdoors_handler {\n\t\t{args[0]} {args[1]}\n\t}\n}\n\
                      (wrap) {\n\t{block}\n}\n";
        let text = format!("{snippet}{others}:80 {{\n\t{import}\n}}\n");
        let shown = adapt(&text).unwrap_err().to_string();
        assert!(!shown.contains("c2V"), "{shown}");
    }
}

#[test]
fn imports_need_files_that_can_be_read() {
    refused(&[
        (
            ":80 {\n\timport nope\n}",
            "2:9: there is no snippet `(nope)` above, and no file can be imported here",
        ),
        (
            ":80 {\n\timport\n}",
            "2:2: `import` needs the name of a snippet or file",
        ),
        (
            "(s) {\n}\n(s) {\n}\n:80 {\n}",
            "3:1: the snippet `(s)` has a definition already, on line 1",
        ),
        ("(s)\n:80 {\n}", "1:1: a snippet without braces"),
        (
            "(s) {\n\timport s\n}\n:80 {\n\timport s\n}",
            "2:9: this import leads back to itself: (s) -> (s)",
        ),
        (
            "(s) {\n}\n:80 {\n\timport s {\n\t\t{\n\t\t}\n\t}\n}",
            "5:3: a block without a name",
        ),
    ]);
}

#[test]
fn named_routes_say_what_is_wrong() {
    refused(&[
        (
            ":80 {\n\tinvoke\n}",
            "2:2: `invoke` needs the name of a route, defined as `&(name) { ... }`",
        ),
        (":80 {\n\tinvoke r\n}", "2:9: there is no named route `r`"),
        (
            "&(r) {\n}\n:80 {\n\tinvoke r s\n}",
            "4:11: unexpected argument `s`",
        ),
        (
            "&(r) {\n}\n:80 {\n\tinvoke /x r {\n\t}\n}",
            "4:2: `invoke` takes no block here",
        ),
        (
            "&(r) {\n}\n&(r) {\n}\n:80 {\n\tinvoke r\n}",
            "3:1: the named route `r` has a definition already, on line 1",
        ),
        (
            "&(a) {\n\tinvoke b\n}\n&(b) {\n\tinvoke a\n}\n:80 {\n\tinvoke a\n}",
            "5:9: the named route `a` leads back to itself",
        ),
        (
            "&(a) {\n\tinvoke b\n}\n:80 {\n\tinvoke a\n}",
            "2:9: there is no named route `b`",
        ),
        (
            "&(a) {\n\ttls internal\n}\n:80 {\n}",
            "2:2: `tls` stands only directly in a site",
        ),
        ("&(a)\n:80 {\n}", "1:1: a named route without braces"),
        (
            ":80 {\n\t@m path /a\n}\n&(a) {\n\trespond @m 1\n}",
            "5:10: the matcher `@m` is not defined",
        ),
    ]);
}

#[test]
fn what_no_site_reaches_may_invoke_what_is_not_there() {
    assert_eq!(
        warnings("&(a) {\n\tinvoke b\n}\n:80 {\n}"),
        ["2:9: warning: there is no named route `b`"]
    );
}

#[test]
fn doors_may_be_split_between_a_site_and_a_named_route() {
    let doors = "doors_handler {\n\t\tsecret MDEyMzQ1Njc4OWFiY2RlZg==\n\t\tupstream {\n\t\t\tpod_cidr 10.0.0.0/8\n\t\t\t\
                 host a\n\t\t\tupstream_port 80\n\t\t}\n\t}";
    let proxy = "reverse_proxy {\n\t\tdynamic doors_upstreams\n\t}";
    for (named, site) in [(doors, proxy), (proxy, doors)] {
        let text = format!("&(r) {{\n\t{named}\n}}\n:80 {{\n\tinvoke r\n\t{site}\n}}");
        assert_eq!(warnings(&text), Vec::<String>::new());
    }
}

#[test]
fn the_order_of_directives_says_what_is_wrong() {
    let cases = [
        ("order", "2:2: `order` needs a directive and a place"),
        ("order respond", "2:2: `order` needs a directive and a place"),
        ("order nope first", "2:8: `nope` is no directive"),
        (
            "order respond early",
            "2:16: unknown or unsupported place `early`",
        ),
        ("order respond before", "2:16: `before` needs another directive"),
        (
            "order respond after nope",
            "2:22: `nope` is no other directive that has a place in the order",
        ),
        (
            "order respond before respond",
            "2:23: `respond` is no other directive that has a place in the order",
        ),
        (
            "order respond before tls",
            "2:23: `tls` is no other directive that has a place in the order",
        ),
        ("order respond first redir", "2:22: unexpected argument `redir`"),
        (
            "order respond before redir header",
            "2:29: unexpected argument `header`",
        ),
        ("order respond first {\n\t}", "2:2: `order` takes no block here"),
    ];
    for (line, expected) in cases {
        let text = format!("{{\n\t{line}\n}}\n:80 {{\n}}");
        assert_eq!(findings(&text), [expected], "{line}");
    }
}

#[test]
fn blocks_of_directives_say_what_is_wrong() {
    let cases = [
        (
            "handle_path {\n\t}",
            "2:2: `handle_path` needs a path, such as /api/*",
        ),
        ("handle_path a {\n\t}", "2:14: a path begins with `/`"),
        ("handle_path @m {\n\t}", "2:14: a path begins with `/`"),
        ("handle_path /a /b {\n\t}", "2:17: unexpected argument `/b`"),
        ("handle a {\n\t}", "2:9: unexpected argument `a`"),
        ("handle /a /b {\n\t}", "2:12: unexpected argument `/b`"),
        ("route a {\n\t}", "2:8: unexpected argument `a`"),
        ("handle_errors 99 {\n\t}", "2:16: `99` is not a status code"),
        ("handle_errors 1000 {\n\t}", "2:16: `1000` is not a status code"),
        ("handle_errors xxx {\n\t}", "2:16: `xxx` is not a status code"),
        ("handle_errors 44xx {\n\t}", "2:16: `44xx` is not a status code"),
        ("handle_errors /a {\n\t}", "2:16: `/a` is not a status code"),
        (
            "handle {\n\t\thandle_errors {\n\t\t}\n\t}",
            "3:3: `handle_errors` stands only directly in a site",
        ),
        (
            "handle_errors {\n\t\trespnd\n\t}",
            "3:3: unknown directive `respnd`",
        ),
    ];
    for (lines, expected) in cases {
        let text = format!(":80 {{\n\t{lines}\n}}");
        assert_eq!(findings(&text), [expected], "{lines}");
    }
}
