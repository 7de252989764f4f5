//! Every file in the documents and among the examples is read, and so are the documents of hosts there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use route_sources::Snapshot;
use route_sources::file::{FileSettings, FileSource};
use route_store::document;

const README: &str = include_str!("../../../README.md");
const README_OF_ALL: &str = include_str!("../../../../README.md");
const MANUAL: &str = include_str!("../../../../proxy-core/src/manual/routes.md");

/// The blocks of a kind.
fn blocks(text: &'static str, kind: &str) -> Vec<&'static str> {
    let start = format!("```{kind}\n");
    let blocks = text.split(start.as_str()).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn every_file_in_the_documents_is_read() {
    for (text, more, expected) in [(README, " file", 4), (MANUAL, "", 2), (README_OF_ALL, "", 1)] {
        let mut count = 0;
        for format in ["yaml", "hcl", "json"] {
            for block in blocks(text, &format!("{format}{more}")) {
                count += 1;
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(
                    folder.path().join("site.hcl"),
                    "host = \"import.test\"\nupstreams = [{ ip = \"10.0.0.1\", port = 80 }]",
                )
                .unwrap();
                let path = folder.path().join(format!("routes.{format}"));
                std::fs::write(&path, block).unwrap();
                let snapshot = first(path).await;
                is_served(&snapshot, block);
            }
        }
        assert_eq!(count, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn every_file_of_the_examples_is_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for name in ["routes.yaml", "routes.hcl"] {
        let snapshot = first(examples.join(name)).await;
        is_served(&snapshot, name);
    }
}

#[test]
fn every_document_of_the_manual_is_read() {
    let documents = blocks(MANUAL, "json document");
    assert_eq!(documents.len(), 2);
    for text in documents {
        assert!(document::read(text).is_ok(), "{:?}", document::read(text));
    }
}

/// What a file says at first.
async fn first(path: PathBuf) -> Arc<Snapshot> {
    let value = |name: &str| name.ends_with("_ADDRESS").then(|| "10.20.1.4".to_owned());
    let settings = FileSettings {
        paths: vec![path],
        events: false,
        env: Arc::new(value),
        ..FileSettings::default()
    };
    let (publisher, mut snapshots) = route_sources::channel();
    let source = FileSource::new(settings, publisher).run(tokio_util::sync::CancellationToken::new());
    tokio::select! {
        () = source => panic!("it runs on"),
        snapshot = snapshots.next() => snapshot.unwrap(),
    }
}

fn is_served(snapshot: &Snapshot, what: &str) {
    assert_eq!(snapshot.invalid, [], "{what}");
    assert!(!snapshot.routes.is_empty(), "{what}");
}
