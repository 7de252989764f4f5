//! Commands, options, help and exit codes.

use std::fs::File;
use std::process::Stdio;

use crate::support::{Directory, doorway, finish};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let directory = Directory::new();
    let finished = finish(&mut doorway(directory.path(), arguments));
    (finished.code, finished.stdout, finished.stderr)
}

#[test]
fn every_command_has_help_with_examples_on_standard_output() {
    for command in [
        &["run"][..],
        &["reload"],
        &["stop"],
        &["config"],
        &["validate"],
        &["adapt"],
        &["token"],
        &["token", "secret"],
        &["token", "encode"],
        &["token", "decode"],
        &["demo"],
        &["version"],
        &[],
    ] {
        let (code, stdout, stderr) = run(&[command, &["--help"]].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{command:?}");
        let example = format!("\n  doorway {}", command.join(" "));
        assert!(
            stdout.contains("Examples:") && stdout.contains(example.trim_end()),
            "{command:?}: {stdout}"
        );
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2_and_says_what_would_be_right() {
    for (arguments, hint) in [
        (&["rum"][..], "run"),
        (&["run", "--confg", "x"], "--config"),
        (&["run", "one", "two"], "two"),
        (&["validate", "one", "--config", "two"], "cannot be used with"),
        (
            &["run", "--routes-file", "a.eskip", "--config", "b"],
            "cannot be used with '--config",
        ),
        (&["run", "--address", ":0"], "add --routes-file"),
        (&["run", "-routes-file", "a.eskip"], "--routes-file"),
        (&["run", "--enable-breakers"], "always on"),
        (&["start"], "keep `doorway run`"),
        (&["file-server", "--listen", ":80"], "Doorway serves no files"),
        (&["trust"], "/pki/ca/local/certificates"),
        (&["adapt", "--adapter", "yaml"], "caddyfile"),
        (&["run", "--workers", "0"], "from 1 to 1024"),
        (&["run", "--lax", "everything"], "bare-line-feeds"),
        (&["demo", "--port", "65536"], "--port"),
        (&["token", "encode", "10.0.0"], "ADDRESS"),
        (&["token"], "secret"),
        (&[], "Usage: doorway"),
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.contains(hint), "{arguments:?}: {stderr}");
    }
}

#[test]
fn the_version_is_one_line() {
    let expected = format!("doorway {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [["version"], ["--version"]] {
        assert_eq!(run(&arguments), (Some(0), expected.clone(), String::new()));
    }
}

#[test]
fn without_a_configuration_it_says_how_to_start() {
    let (code, stdout, stderr) = run(&["run"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    for way in [
        "doorway demo",
        "doorway run --config FILE",
        "reverse_proxy 127.0.0.1:3000",
    ] {
        assert!(stderr.contains(way), "{stderr}");
    }
}

#[test]
fn a_bad_number_of_workers_in_the_environment_is_wrong_usage() {
    let directory = Directory::with("Caddyfile", ":0");
    let finished = finish(doorway(directory.path(), &["run"]).env("DOORWAY_WORKERS", "many"));
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.contains("DOORWAY_WORKERS is \"many\""),
        "{}",
        finished.stderr
    );
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let directory = Directory::with("Caddyfile", ":8080 {\n\trespond hello\n}\n");
    for arguments in [
        &["adapt", "--pretty"][..],
        &["version"],
        &["run", "--help"],
        &["token", "secret"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let finished = finish(doorway(directory.path(), arguments).stdout(writer));
        assert_eq!(
            (finished.code, finished.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let directory = Directory::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let finished = finish(doorway(directory.path(), &["version"]).stdout(Stdio::from(full)));
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("cannot write to standard output"),
        "{}",
        finished.stderr
    );
}
