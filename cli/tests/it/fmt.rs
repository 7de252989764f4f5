//! `doorway fmt`, and the warning about other layouts.

use crate::support::{Directory, doorway, finish, finish_with_input};

const WRITTEN: &str = "http://localhost:8080{\n  respond   hi\n}";
const LAID_OUT: &str = "http://localhost:8080 {\n\trespond hi\n}\n";

fn content(directory: &Directory) -> String {
    std::fs::read_to_string(directory.path().join("Caddyfile")).unwrap()
}

#[test]
fn the_result_is_printed_and_the_code_says_whether_it_differs() {
    let directory = Directory::with("Caddyfile", WRITTEN);
    let printed = finish(&mut doorway(directory.path(), &["fmt"]));
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(1), LAID_OUT));
    assert!(
        printed.stderr.starts_with("Caddyfile:1:22: this is not laid out"),
        "{}",
        printed.stderr
    );
    assert_eq!(content(&directory), WRITTEN);

    let directory = Directory::with("Caddyfile", LAID_OUT);
    for arguments in [
        &["fmt"][..],
        &["fmt", "Caddyfile"],
        &["fmt", "--config", "Caddyfile"],
    ] {
        let printed = finish(&mut doorway(directory.path(), arguments));
        assert_eq!(
            (printed.code, printed.stdout.as_str(), printed.stderr.as_str()),
            (Some(0), LAID_OUT, "")
        );
    }
}

#[test]
fn overwrite_writes_the_file_back() {
    for flag in ["-w", "--overwrite"] {
        let directory = Directory::with("Caddyfile", WRITTEN);
        let written = finish(&mut doorway(directory.path(), &["fmt", flag]));
        assert_eq!(
            (written.code, written.stdout.as_str(), written.stderr.as_str()),
            (Some(0), "", "")
        );
        assert_eq!(content(&directory), LAID_OUT);
    }
}

#[test]
fn diff_marks_the_lines_that_change() {
    let directory = Directory::with("Caddyfile", WRITTEN);
    let printed = finish(&mut doorway(directory.path(), &["fmt", "--diff"]));
    let expected =
        "- http://localhost:8080{\n-   respond   hi\n+ http://localhost:8080 {\n+ \trespond hi\n  }\n+ \n";
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(1), expected));
}

#[test]
fn standard_input_is_laid_out_whatever_it_was() {
    let directory = Directory::new();
    for (arguments, input) in [
        (&["fmt", "-"][..], WRITTEN),
        (&["fmt", "-"], LAID_OUT),
        (&["fmt", "-w", "-"], WRITTEN),
    ] {
        let printed = finish_with_input(&mut doorway(directory.path(), arguments), input);
        assert_eq!(
            (printed.code, printed.stdout.as_str(), printed.stderr.as_str()),
            (Some(0), LAID_OUT, "")
        );
    }
}

#[test]
fn a_pipe_is_laid_out_and_what_never_ends_is_refused() {
    let directory = Directory::new();
    let mut piped = doorway(directory.path(), &["fmt", "--diff", "/dev/stdin"]);
    let printed = finish_with_input(&mut piped, LAID_OUT);
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    let endless = finish(&mut doorway(directory.path(), &["fmt", "/dev/zero"]));
    assert_eq!((endless.code, endless.stdout.as_str()), (Some(1), ""));
    assert!(
        endless.stderr.contains("longer than 32 MiB"),
        "{}",
        endless.stderr
    );
    let device = finish(&mut doorway(directory.path(), &["fmt", "-w", "/dev/null"]));
    assert_eq!(device.code, Some(2));
    assert!(device.stderr.contains("not a regular file"), "{}", device.stderr);
}

#[test]
fn what_cannot_be_laid_out_says_why() {
    let directory = Directory::with("config.json", "{}");
    let refused = finish(&mut doorway(directory.path(), &["fmt", "config.json"]));
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("config.json is JSON"),
        "{}",
        refused.stderr
    );
    let missing = finish(&mut doorway(directory.path(), &["fmt"]));
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("cannot read Caddyfile"),
        "{}",
        missing.stderr
    );
    std::fs::write(directory.path().join("Caddyfile"), b"a {\n\xff\n}\n").unwrap();
    let binary = finish(&mut doorway(directory.path(), &["fmt", "--overwrite"]));
    assert_eq!(binary.code, Some(1));
    assert!(
        binary.stderr.starts_with("Caddyfile:2:1: this is not UTF-8"),
        "{}",
        binary.stderr
    );
}

#[test]
fn other_layouts_are_warned_of() {
    let directory = Directory::with("Caddyfile", "http://localhost:8080 {\n  respond hi\n}\n");
    for command in ["adapt", "validate"] {
        let done = finish(&mut doorway(directory.path(), &[command]));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(
            done.stderr
                .starts_with("Caddyfile:2:1: warning: this is not laid out"),
            "{}",
            done.stderr
        );
    }
}
