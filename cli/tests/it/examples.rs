//! The configurations in `examples/` are valid.

use std::path::Path;

use crate::support::{Directory, SECRET, doorway, finish};

#[test]
fn every_caddyfile_of_the_examples_is_valid() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let directory = Directory::new();
    let mut checked = 0;
    for entry in examples.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.to_str().filter(|name| name.ends_with(".Caddyfile")) else {
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
