//! Every file in the README is read.

use std::sync::Arc;

use route_sources::file::{FileSettings, FileSource};

const README: &str = include_str!("../../../README.md");

/// The blocks of a format, with the host that each of them is about.
fn blocks(format: &str) -> Vec<&'static str> {
    let start = format!("```{format} file\n");
    let blocks = README.split(start.as_str()).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn every_file_in_the_readme_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for format in ["yaml", "hcl", "json"] {
        for block in blocks(format) {
            count += 1;
            std::fs::write(
                folder.path().join("site.hcl"),
                "host = \"blog.test\"\nupstreams = [{ ip = \"10.0.0.1\", port = 80 }]",
            )
            .unwrap();
            let path = folder.path().join(format!("routes-{count}.{format}"));
            std::fs::write(&path, block).unwrap();
            let settings = FileSettings {
                paths: vec![path],
                events: false,
                env: Arc::new(|name| (name == "SHOP_ADDRESS").then(|| "10.20.1.4".to_owned())),
                ..FileSettings::default()
            };
            let (publisher, mut snapshots) = route_sources::channel();
            let source = FileSource::new(settings, publisher).run(tokio_util::sync::CancellationToken::new());
            let snapshot = tokio::select! {
                () = source => panic!("it runs on"),
                snapshot = snapshots.next() => snapshot.unwrap(),
            };
            assert_eq!(snapshot.invalid, [], "{block}");
            assert!(!snapshot.routes.is_empty(), "{block}");
        }
    }
    assert_eq!(count, 4);
}
