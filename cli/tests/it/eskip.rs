//! `doorway eskip`: files of routes.

use std::os::unix::fs::MetadataExt as _;

use crate::support::{Directory, Finished, doorway, finish, finish_with_input};

const ROUTES: &str = "// ours\na: Path(\"/a\") -> \"http://a\"; // first\nb: * -> status(404) -> <shunt>;\n";

#[track_caller]
fn eskip(directory: &Directory, arguments: &[&str]) -> Finished {
    finish(&mut doorway(directory.path(), &[&["eskip"], arguments].concat()))
}

/// What a command prints that succeeds.
#[track_caller]
fn printed(directory: &Directory, arguments: &[&str]) -> String {
    let done = eskip(directory, arguments);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    done.stdout
}

/// What a command says that fails.
#[track_caller]
fn refused(directory: &Directory, arguments: &[&str], code: i32) -> String {
    let done = eskip(directory, arguments);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(code), ""),
        "{arguments:?}: {}",
        done.stderr
    );
    done.stderr
}

fn content(directory: &Directory, name: &str) -> String {
    std::fs::read_to_string(directory.path().join(name)).unwrap()
}

#[test]
fn check_says_what_is_wrong_and_where() {
    let directory = Directory::with("routes.eskip", ROUTES);
    assert_eq!(
        printed(&directory, &["check", "routes.eskip"]),
        "Valid routes: 2\n"
    );
    assert_eq!(
        printed(&directory, &["check", "--routes", "* -> <shunt>"]),
        "Valid routes: 1\n"
    );
    for (text, said) in [
        (
            "a: * -> <shunt>\nb: * -> <shunt>",
            "r:2:1: expected `;` or the end, found the name `b`\n  2 | b: * -> <shunt>\n    | ^\n  help: put a `;` between routes\n",
        ),
        (
            "a: Path() -> <shunt>;\n\tb: * -> '",
            concat!(
                "r:1:4: Path predicate expects 1 string argument\n  1 | a: Path() -> <shunt>;\n    |    ^^^^^^\n",
                "r:2:10: this character begins no word of the language\n  2 | \tb: * -> '\n    | \t        ^\n",
                "  help: strings stand between double quotes or backquotes\n"
            ),
        ),
        (
            "a: * -> \"\";\nbb: * -> <shunt>; bb: * -> <shunt>;",
            concat!(
                "r:1:1: route has empty backend: a\n  1 | a: * -> \"\";\n    | ^\n",
                "r:2:19: repeating route with id bb\n  2 | bb: * -> <shunt>; bb: * -> <shunt>;\n    |                   ^^\n"
            ),
        ),
        (
            "* -> \"\"",
            "r:1:1: route has empty backend: \n  1 | * -> \"\"\n    | ^\n",
        ),
        (
            r#"[{"id":"a"},{"id":"a","backend":{"type":"shunt"}}]"#,
            "r: route has empty backend: a\nr: repeating route with id a\n",
        ),
        (
            r#"[{"id":1}]"#,
            "r:1:8: invalid type: integer `1`, expected a string\n  1 | [{\"id\":1}]\n    |        ^\n",
        ),
    ] {
        directory.write("r", text);
        assert_eq!(refused(&directory, &["check", "r"], 1), said);
    }
}

#[test]
fn routes_come_from_a_file_standard_input_or_the_command_line() {
    let directory = Directory::with("routes.eskip", ROUTES);
    let piped =
        |arguments: &[&str], input: &str| finish_with_input(&mut doorway(directory.path(), arguments), input);
    for arguments in [&["eskip", "check"][..], &["eskip", "check", "-"]] {
        let done = piped(arguments, ROUTES);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Valid routes: 2\n"));
        let done = piped(arguments, "#");
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.starts_with("stdin:1:1: "), "{}", done.stderr);
    }
    assert!(refused(&directory, &["check", "--routes", "#"], 1).starts_with("routes:1:1: "));
    assert!(refused(&directory, &["check", "none.eskip"], 1).starts_with("error: cannot read none.eskip: "));
    assert!(refused(&directory, &["check", "/dev/zero"], 1).contains("longer than 256 MiB"));
    refused(
        &directory,
        &["check", "routes.eskip", "--routes", "* -> <shunt>"],
        2,
    );
    // As Skipper's own tool has them: said to be none, never taken for others.
    for option in ["-routes", "-pretty", "-json", "-ids", "-prepend"] {
        refused(&directory, &["print", option, "routes.eskip"], 2);
    }
    refused(&directory, &[], 2);
}

#[test]
fn routes_that_would_not_run_are_warned_of() {
    let directory = Directory::with(
        "r",
        "a: * -> stauts(200) -> <shunt>; b: Hots(\"x\") -> <shunt>; c: * -> lua(\"x\") -> <shunt>; d: * -> status(7) -> <shunt>;",
    );
    let done = finish_with_input(&mut doorway(directory.path(), &["eskip", "check", "r"]), "");
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Valid routes: 4\n"));
    for (id, why) in [
        ("a", "filter \"stauts\" not found"),
        ("b", "predicate \"Hots\" not found"),
        ("c", "filter \"lua\" is not supported"),
        ("d", "failed to create filter status()"),
    ] {
        let line = done
            .stderr
            .lines()
            .find(|line| line.contains(&format!("process route {id}:")));
        assert!(
            line.is_some_and(|line| line.contains(why)),
            "{id}: {}",
            done.stderr
        );
    }
}

#[test]
fn match_says_that_the_route_would_be_left_out() {
    let directory = Directory::with(
        "r",
        "a: Path(\"/a\") -> lua(\"x\") -> <shunt>; b: Path(\"/b\") -> <shunt>",
    );
    let told = printed(&directory, &["match", "GET", "http://h.test/a", "r"]);
    assert!(
        told.contains("\n  here it would be left out: unknown_filter: filter \"lua\" is not supported"),
        "{told}"
    );
    let told = printed(&directory, &["match", "GET", "http://h.test/b", "r"]);
    assert!(!told.contains("left out"), "{told}");
}

#[test]
fn any_bytes_end_in_a_message() {
    let directory = Directory::new();
    std::fs::write(directory.path().join("r"), b"a: * -> <shunt>;\nb: \xff").unwrap();
    assert!(refused(&directory, &["check", "r"], 1).starts_with("r:2:4: this is not UTF-8"));
    directory.write("r", "\u{feff}a: *\r\n-> f(\"\0\") -> <shunt>\r\n// end");
    assert_eq!(
        printed(&directory, &["print", "r"]),
        "a: * -> f(\"\0\") -> <shunt>;\n"
    );
    directory.write("r", "a: \0");
    assert!(refused(&directory, &["check", "r"], 1).contains("  1 | a: \u{fffd}\n    |    ^\n"));
}

#[test]
fn print_has_three_forms() {
    let directory = Directory::with("routes.eskip", ROUTES);
    let plain = "a: Path(\"/a\") -> \"http://a\";\nb: * -> status(404) -> <shunt>;\n";
    assert_eq!(printed(&directory, &["print", "routes.eskip"]), plain);
    assert_eq!(
        printed(&directory, &["print", "--pretty", "routes.eskip"]),
        "a: Path(\"/a\")\n  -> \"http://a\";\n\nb: *\n  -> status(404)\n  -> <shunt>;\n"
    );
    assert_eq!(
        printed(
            &directory,
            &["print", "-p", "--indent", " ", "--routes", "* -> <shunt>"]
        ),
        "*\n -> <shunt>\n"
    );
    let json = printed(&directory, &["print", "--json", "routes.eskip"]);
    assert_eq!(
        json,
        concat!(
            r#"[{"id":"a","backend":{"type":"network","address":"http://a"},"predicates":[{"name":"Path","args":["/a"]}]},"#,
            r#"{"id":"b","backend":{"type":"shunt"},"filters":[{"name":"status","args":[404]}]}]"#,
            "\n"
        )
    );
    directory.write("routes.json", &json);
    assert_eq!(printed(&directory, &["print", "routes.json"]), plain);
    assert!(
        printed(&directory, &["print", "--json", "--pretty", "routes.eskip"])
            .starts_with("[\n  {\n    \"id\": \"a\",\n")
    );
    assert_eq!(printed(&directory, &["print", "--routes", "// nothing"]), "");
    assert_eq!(
        printed(
            &directory,
            &["print", "routes.eskip", "--output", "printed.eskip"]
        ),
        ""
    );
    assert_eq!(content(&directory, "printed.eskip"), plain);
    assert_eq!(
        printed(&directory, &["print", "routes.eskip", "--output", "-"]),
        plain
    );
    refused(&directory, &["print", "-p", "--indent", "x", "routes.eskip"], 2);
    refused(&directory, &["print", "--indent", "  ", "routes.eskip"], 2);
}

#[test]
fn an_open_file_is_written_to_and_not_replaced() {
    let directory = Directory::with("out", "");
    let path = directory.path().join("out");
    let open = std::fs::File::create(&path).unwrap();
    let inode = open.metadata().unwrap().ino();
    let mut print = doorway(
        directory.path(),
        &["eskip", "print", "--routes", "* -> <shunt>", "-o", "/dev/stdout"],
    );
    assert!(print.stdout(open).status().unwrap().success());
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(content(&directory, "out"), "* -> <shunt>\n");
}

#[test]
fn patch_puts_filters_around() {
    let directory = Directory::with("routes.eskip", ROUTES);
    directory.write("filters.eskip", "// all\nz() -> zz()\n");
    assert_eq!(
        printed(
            &directory,
            &[
                "patch",
                "--prepend",
                "x(1) -> y()",
                "--append-file",
                "filters.eskip",
                "routes.eskip"
            ]
        ),
        "a: Path(\"/a\") -> x(1) -> y() -> z() -> zz() -> \"http://a\";\nb: * -> x(1) -> y() -> status(404) -> z() -> zz() -> <shunt>;\n"
    );
    assert_eq!(
        printed(
            &directory,
            &[
                "patch",
                "--append",
                "",
                "--prepend-file",
                "filters.eskip",
                "--routes",
                "* -> <shunt>"
            ]
        ),
        "* -> z() -> zz() -> <shunt>\n"
    );
    assert!(
        refused(&directory, &["patch", "--append", "x", "routes.eskip"], 1)
            .starts_with("append:1:2: expected `(`")
    );
    directory.write("filters.eskip", "\nx;");
    let said = refused(
        &directory,
        &["patch", "--prepend-file", "filters.eskip", "routes.eskip"],
        1,
    );
    assert!(said.starts_with("filters.eskip:2:2: expected `(`"), "{said}");
    refused(
        &directory,
        &[
            "patch",
            "--append",
            "x()",
            "--append-file",
            "filters.eskip",
            "routes.eskip",
        ],
        2,
    );
}

#[test]
fn upsert_changes_a_file_and_leaves_the_rest_as_it_was() {
    let directory = Directory::with("routes.eskip", ROUTES);
    directory.write("new.eskip", "c: * -> <loopback>; b: * -> status(410) -> <shunt>;");
    let upsert = ["upsert", "new.eskip", "--into", "routes.eskip"];
    let after = "// ours\na: Path(\"/a\") -> \"http://a\"; // first\nb: *\n  -> status(410)\n  -> <shunt>;\n\nc: *\n  -> <loopback>;\n";
    assert_eq!(
        printed(&directory, &[&upsert[..], &["--output", "-"]].concat()),
        after
    );
    assert_eq!(content(&directory, "routes.eskip"), ROUTES);
    assert_eq!(
        printed(&directory, &upsert),
        "routes.eskip: 1 added, 1 changed, 0 removed\n"
    );
    assert_eq!(content(&directory, "routes.eskip"), after);

    let inode = || {
        std::fs::metadata(directory.path().join("routes.eskip"))
            .unwrap()
            .ino()
    };
    let before = inode();
    assert_eq!(printed(&directory, &upsert), "routes.eskip: nothing to change\n");
    assert_eq!(inode(), before);

    assert_eq!(
        printed(&directory, &["upsert", "new.eskip", "--into", "fresh.eskip"]),
        "fresh.eskip: 2 added, 0 changed, 0 removed\n"
    );
    assert_eq!(
        content(&directory, "fresh.eskip"),
        "c: *\n  -> <loopback>;\n\nb: *\n  -> status(410)\n  -> <shunt>;\n"
    );
}

#[test]
fn reset_leaves_no_other_route() {
    let directory = Directory::with("routes.eskip", ROUTES);
    let arguments = [
        "reset",
        "--routes",
        "b: * -> status(404) -> <shunt>",
        "--into",
        "routes.eskip",
        "-o",
        "other.eskip",
    ];
    assert_eq!(
        printed(&directory, &arguments),
        "other.eskip: 0 added, 0 changed, 1 removed\n"
    );
    assert_eq!(
        content(&directory, "other.eskip"),
        "// ours\n // first\nb: * -> status(404) -> <shunt>;\n"
    );
    assert_eq!(content(&directory, "routes.eskip"), ROUTES);
}

#[test]
fn delete_goes_by_ids_or_by_other_routes() {
    let directory = Directory::with("routes.eskip", ROUTES);
    let print = ["--from", "routes.eskip", "--output", "-"];
    let left = "// ours\na: Path(\"/a\") -> \"http://a\"; // first\n";
    for chosen in [
        &["--ids", "b,x"][..],
        &["--ids", "b", "--ids", "y"],
        &["--routes", "b: * -> \"\""],
    ] {
        assert_eq!(
            printed(&directory, &[&["delete"], chosen, &print].concat()),
            left,
            "{chosen:?}"
        );
    }
    assert_eq!(
        printed(&directory, &["delete", "routes.eskip", "--from", "routes.eskip"]),
        "routes.eskip: 0 added, 0 changed, 2 removed\n"
    );
    assert_eq!(content(&directory, "routes.eskip"), "// ours\n // first\n");
    assert!(
        refused(&directory, &["delete", "--ids", "a", "--from", "none.eskip"], 1)
            .contains("cannot read none.eskip")
    );
    assert_eq!(
        refused(&directory, &["delete", "a", "--from", "routes.eskip"], 1),
        "error: cannot read a: there is no such file\n  help: the id of a route is written `--ids a`\n"
    );
    refused(
        &directory,
        &["delete", "--ids", "a", "routes.eskip", "--from", "routes.eskip"],
        2,
    );
}

#[test]
fn files_of_json_stay_json() {
    let directory = Directory::with("routes.json", r#"[{"id":"a","backend":{"type":"shunt"}}]"#);
    let arguments = [
        "upsert",
        "--routes",
        "b: * -> <loopback>",
        "--into",
        "routes.json",
    ];
    assert_eq!(
        printed(&directory, &arguments),
        "routes.json: 2 routes, 1 before\n"
    );
    let json = content(&directory, "routes.json");
    assert!(json.starts_with("[\n") && json.ends_with("]\n"), "{json}");
    assert_eq!(
        printed(&directory, &["print", "routes.json"]),
        "a: * -> <shunt>;\nb: * -> <loopback>;\n"
    );
    assert_eq!(
        printed(&directory, &arguments),
        "routes.json: nothing to change\n"
    );
    assert_eq!(content(&directory, "routes.json"), json);
}

#[test]
fn what_cannot_be_put_into_a_file_changes_nothing() {
    let directory = Directory::with("routes.eskip", ROUTES);
    directory.write("alone.eskip", "* -> <shunt>");
    directory.write("bad.eskip", "a: * -> <shunt>; b");
    for command in ["upsert", "reset"] {
        for (routes, said) in [
            (
                "* -> <shunt>",
                "routes: a route without an id stands alone: give it one, as in `id: ...`\n",
            ),
            ("a: * -> \"\"", "routes:1:1: route has empty backend: a\n"),
            (
                "a: * -> <shunt>; a: * -> <shunt>",
                "routes:1:18: repeating route with id a\n",
            ),
            (
                "a: * -> ",
                "routes:1:9: expected a filter or a backend, found the end\n",
            ),
        ] {
            let found = refused(
                &directory,
                &[command, "--routes", routes, "--into", "routes.eskip"],
                1,
            );
            assert!(found.starts_with(said), "{found}");
        }
        let good = [command, "--routes", "c: * -> <shunt>", "--into"];
        let found = refused(&directory, &[&good[..], &["bad.eskip"]].concat(), 1);
        assert!(found.starts_with("bad.eskip:1:19: "), "{found}");
        let found = refused(&directory, &[&good[..], &["alone.eskip"]].concat(), 1);
        assert!(
            found.starts_with("alone.eskip: a route without an id stands alone"),
            "{found}"
        );
        let found = refused(&directory, &[&good[..], &["none/routes.eskip"]].concat(), 1);
        assert!(
            found.starts_with("error: cannot write none/routes.eskip: "),
            "{found}"
        );
        // Nothing is not taken for an empty standard input.
        let found = refused(&directory, &[command, "--into", "routes.eskip"], 2);
        assert!(found.contains("`-` for standard input"), "{found}");
        refused(&directory, &[command, "bad.eskip"], 2);
        refused(&directory, &[&good[..], &["-"]].concat(), 2);
    }
    assert_eq!(content(&directory, "routes.eskip"), ROUTES);
}
