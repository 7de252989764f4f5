//! The corpus: each `tests/adapt/NAME.caddyfile` adapts to `NAME.json`, character by character.
//!
//! Those directly in the directory are what Caddy makes of them too, which is checked wherever a `caddy` is
//! installed. `better/` holds those that Caddy gets wrong, each with the reason in its first line; `doors/` those
//! with directives that plain Caddy does not have. `imports/` has what some of them import.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use caddy_config::{Adapted, FileError, Surroundings, from_caddyfile_in, from_json};

/// The version that the corpus was made with.
const CADDY: &str = "v2.11.7";

/// The environment of the corpus.
const VARIABLES: [(&str, &str); 6] = [
    ("CORPUS_DIRECTIVES", "header X-A 1\n\theader X-B \"2 3\""),
    ("CORPUS_EMPTY", ""),
    ("CORPUS_HOST", "env.example.com"),
    ("CORPUS_SITE", ":80 {\n\trespond \"from the environment\"\n}"),
    ("CORPUS_WORD", "word"),
    ("CORPUS_WORDS", "two words"),
];

/// The files of the corpus, and its environment.
struct Corpus;

impl Surroundings for Corpus {
    fn variable(&self, name: &str) -> Option<String> {
        let variable = VARIABLES.iter().find(|(known, _)| *known == name);
        variable.map(|(_, value)| (*value).to_owned())
    }

    fn read(&self, path: &Path, _: usize) -> Result<Vec<u8>, FileError> {
        fs::read(path).map_err(|_| FileError::NotFound)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let entries = fs::read_dir(directory).map_err(|_| FileError::NotFound)?;
        Ok(entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect())
    }
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/adapt")
        .join(name)
}

/// The Caddyfiles of a directory, by name.
fn caddyfiles(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory(name)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "caddyfile"));
    files.sort();
    assert!(!files.is_empty());
    files
}

fn adapt(path: &Path) -> Adapted {
    let text = fs::read_to_string(path).unwrap();
    from_caddyfile_in(path.to_str().unwrap(), &text, &Corpus).unwrap_or_else(|findings| panic!("{findings}"))
}

fn expected(path: &Path) -> String {
    fs::read_to_string(path.with_extension("json")).unwrap()
}

#[test]
fn every_caddyfile_adapts_to_its_json() {
    for path in ["", "better", "doors"].into_iter().flat_map(caddyfiles) {
        let json = adapt(&path).config.to_json_pretty();
        assert!(json == expected(&path), "{} adapts to\n{json}", path.display());
    }
}

#[test]
fn every_json_reads_as_the_model_that_printed_it() {
    for path in ["", "better", "doors"].into_iter().flat_map(caddyfiles) {
        let json = expected(&path);
        let config = from_json("expected.json", &json).unwrap_or_else(|findings| panic!("{findings}"));
        assert_eq!(config, adapt(&path).config, "{}", path.display());
        assert_eq!(config.to_json_pretty(), json, "{}", path.display());
    }
}

#[test]
fn the_corpus_is_free_of_warnings_but_where_one_is_due() {
    let due = [
        "basic_auth_old_name",
        "header_block",
        "import_no_file",
        "options_only",
        "proxy_headers",
        "proxy_health_old",
        "proxy_nothing",
        "proxy_transport_old",
        "servers_old_metrics",
        "site_paths",
        "tls_and_http",
    ];
    for path in ["", "better", "doors"].into_iter().flat_map(caddyfiles) {
        let warnings = adapt(&path).warnings;
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(!warnings.is_empty(), due.contains(&name), "{name}: {warnings:?}");
    }
}

/// How often Caddy is asked about a file before its answer is taken for another one.
const TRIES: usize = 12;

#[test]
fn real_caddy_adapts_the_corpus_to_the_same_json() {
    let version = Command::new("caddy").arg("version").output();
    let Ok(version) = version else {
        println!("skipped: caddy is not installed");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.starts_with(CADDY) {
        println!("skipped: the corpus was made with caddy {CADDY}, this is {version}");
        return;
    }
    // Starting Caddy takes longer than all that it does.
    let same = caddyfiles("");
    thread::scope(|scope| {
        for paths in same.chunks(same.len().div_ceil(4)) {
            scope.spawn(move || {
                for path in paths {
                    // Its answer about some files changes from run to run, with the order of Go's maps.
                    let wanted = Some(expected(path));
                    let found = (0..TRIES).map(|_| by_caddy(path)).find(|found| *found == wanted);
                    let found = found.unwrap_or_else(|| by_caddy(path));
                    assert_eq!(found, wanted, "{}", path.display());
                }
            });
        }
    });
    for path in caddyfiles("better") {
        assert_ne!(
            by_caddy(&path),
            Some(expected(&path)),
            "{} is no longer a difference",
            path.display()
        );
    }
}

/// What Caddy adapts a file to; `None` if it refuses.
fn by_caddy(path: &Path) -> Option<String> {
    let output = Command::new("caddy")
        .args(["adapt", "--pretty", "--config"])
        .arg(path)
        .envs(VARIABLES)
        .output()
        .unwrap();
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).unwrap())
}
