//! The layout of the corpus, and what Caddy's is.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use caddy_config::{format, unformatted};

/// The Caddyfiles of the corpus. All without backquotes are one text: starting Caddy takes longer than all that it
/// does. Behind a backquote in quotes it no longer knows what is quoted, so those stand alone.
fn corpus() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapt");
    let mut files: Vec<PathBuf> = ["", "doors"]
        .into_iter()
        .flat_map(|name| fs::read_dir(directory.join(name)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "caddyfile"))
        .collect();
    files.sort();
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let (mut alone, together): (Vec<String>, Vec<String>) = texts.partition(|text| text.contains('`'));
    alone.push(together.join("\n"));
    alone
}

/// The same in layouts that nobody would choose.
fn variants() -> impl Iterator<Item = String> {
    corpus().into_iter().flat_map(|text| {
        let flat = text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
        [
            text.replace('\t', "    "),
            flat.replace(" {\n", "{\n"),
            flat.replace(" {\n", "\n{\n\n\n"),
            text.replace('\n', "\n\n\n").replace(" {", "   {"),
        ]
    })
}

#[test]
fn the_corpus_keeps_what_it_says_in_every_layout() {
    for text in variants() {
        let formatted = format(&text);
        assert_ne!(formatted, text, "something in it cannot be laid out");
        assert_eq!(format(&formatted), formatted);
        assert_eq!(unformatted("t", &formatted), None);
    }
}

#[test]
fn real_caddy_lays_the_corpus_out_the_same() {
    for text in variants() {
        let spawned = Command::new("caddy")
            .args(["fmt", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut caddy) = spawned else {
            println!("skipped: caddy is not installed");
            return;
        };
        // It reads all of it before it writes.
        caddy.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = caddy.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format(&text));
    }
}
