//! Files that a Caddyfile imports from the file system.

use std::fs;

use crate::support::{Directory, doorway, finish};

#[test]
fn imports_are_read_from_where_the_importing_file_is() {
    let directory = Directory::new();
    let etc = directory.path().join("etc");
    fs::create_dir_all(etc.join("sites")).unwrap();
    fs::write(
        etc.join("Caddyfile"),
        "import sites/*.conf\nimport common\n:82 {\n\timport headers {$NAME}\n}\n",
    )
    .unwrap();
    fs::write(etc.join("sites/b.conf"), ":81 {\n\timport ../answer b\n}\n").unwrap();
    fs::write(etc.join("sites/a.conf"), ":80 {\n\timport ../answer a\n}\n").unwrap();
    fs::write(etc.join("sites/.hidden.conf"), "nonsense {").unwrap();
    fs::write(etc.join("answer"), "respond {args[0]}\n").unwrap();
    fs::write(etc.join("common"), "(headers) {\n\theader X {args[0]}\n}\n").unwrap();
    let adapted =
        finish(doorway(directory.path(), &["adapt", "--config", "etc/Caddyfile"]).env("NAME", "value"));
    assert_eq!((adapted.code, adapted.stderr.as_str()), (Some(0), ""));
    for part in [r#""body":"a""#, r#""body":"b""#, r#"{"X":["value"]}"#] {
        assert!(adapted.stdout.contains(part), "{}", adapted.stdout);
    }
}

#[test]
fn what_cannot_be_imported_says_why() {
    let directory = Directory::new();
    let path = directory.path();
    fs::create_dir(path.join("sites")).unwrap();
    fs::write(path.join("empty"), "").unwrap();
    let cases = [
        (
            "nope",
            "error",
            "there is no snippet `(nope)` above, and no file `nope`",
        ),
        (
            "Caddyfile/x",
            "error",
            "there is no snippet `(Caddyfile/x)` above, and no file `Caddyfile/x`",
        ),
        ("sites", "error", "`sites` is a directory"),
        (
            "/dev/null",
            "error",
            "`/dev/null` cannot be read: it is not a regular file",
        ),
        (
            "Caddyfile",
            "error",
            "this import leads back to itself: Caddyfile -> Caddyfile",
        ),
        (
            "./sites/../Caddyfile",
            "error",
            "this import leads back to itself",
        ),
        (
            "empty",
            "warning",
            "warning: the file `empty` is empty, so nothing is imported",
        ),
        (
            "nowhere/*",
            "warning",
            "warning: no file is like `nowhere/*`, so nothing is imported",
        ),
    ];
    for (target, kind, expected) in cases {
        fs::write(path.join("Caddyfile"), format!(":80 {{\n\timport {target}\n}}\n")).unwrap();
        let done = finish(&mut doorway(path, &["adapt"]));
        assert_eq!(
            done.code,
            Some(i32::from(kind == "error")),
            "{target}: {}",
            done.stderr
        );
        assert!(
            done.stderr.starts_with(&format!("Caddyfile:2:9: {expected}")),
            "{target}: {}",
            done.stderr
        );
    }
}
