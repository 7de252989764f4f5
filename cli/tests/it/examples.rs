//! The configurations in `examples/` are valid.

use std::path::Path;

use crate::support::{Directory, SECRET, doorway, finish};

#[test]
fn every_caddyfile_of_the_examples_is_valid() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let directory = Directory::new();
    let mut checked = 0;
    let entries = examples.read_dir().unwrap().map(|entry| entry.unwrap().path());
    for path in entries.chain([examples.join("kubernetes/Caddyfile")]) {
        let Some(name) = path.to_str().filter(|name| name.ends_with("Caddyfile")) else {
            continue;
        };
        let arguments = ["validate", "--adapter", "caddyfile", "--config", name];
        let validated = finish(doorway(directory.path(), &arguments).env("SECRET", SECRET));
        let outcome = (
            validated.code,
            validated.stdout.as_str(),
            validated.stderr.as_str(),
        );
        assert_eq!(outcome, (Some(0), "Valid configuration\n", ""), "{name}");
        checked += 1;
    }
    assert!(checked >= 2, "only {checked} examples were found");
}

const README: &str = include_str!("../../../README.md");
const ROUTES: &str = include_str!("../../../proxy-core/src/manual/routes.md");

#[test]
fn the_configurations_of_the_documents_are_valid() {
    for (text, kind, expected) in [
        (README, "caddyfile", 2),
        (ROUTES, "caddyfile", 3),
        (ROUTES, "json", 1),
    ] {
        let start = format!("```{kind}\n");
        let blocks = text.split(start.as_str()).skip(1);
        let blocks: Vec<&str> = blocks
            .filter_map(|rest| Some(rest.split_once("```")?.0))
            .collect();
        assert_eq!(blocks.len(), expected);
        for block in blocks {
            let directory = Directory::new();
            std::fs::write(directory.path().join("shown"), block).unwrap();
            let arguments = ["validate", "--adapter", kind, "--config", "shown"];
            let mut validate = doorway(directory.path(), &arguments);
            validate.env("SECRET", SECRET).env("DEPLOY_TOKEN", SECRET);
            let validated = finish(&mut validate);
            assert_eq!(
                (validated.code, validated.stderr.as_str()),
                (Some(0), ""),
                "{block}"
            );
        }
    }
}
