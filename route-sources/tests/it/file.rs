//! The file source on a real disk. The clock is paused: it goes on once nothing else can.

mod written;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use route_sources::file::{FileSettings, FileSource, WhenMissing};
use route_sources::{Route, Snapshot, Snapshots};
use tokio_util::sync::CancellationToken;

const ROUTE: &str = "routes:\n  - host: a.test\n    upstreams: [{ip: 10.0.0.1, port: 80}]\n";

/// A source in a directory of its own.
struct Fixture {
    folder: tempfile::TempDir,
}

// === impl Fixture ===

impl Fixture {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, name: &str, text: &str) {
        // As careful programs do: the file is whole at every moment.
        let hidden = self.folder.path().join(format!(".{name}"));
        std::fs::write(&hidden, text).unwrap();
        std::fs::rename(hidden, self.folder.path().join(name)).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder.path().join(name)).unwrap();
    }

    /// Settings for paths in the directory, which polls alone.
    fn settings(&self, names: &[&str]) -> FileSettings {
        FileSettings {
            paths: names.iter().map(|name| self.folder.path().join(name)).collect(),
            events: false,
            ..FileSettings::default()
        }
    }

    /// Runs the source beside a test.
    async fn run<F: Future<Output = ()>>(settings: FileSettings, test: impl FnOnce(Reader) -> F) {
        let (publisher, snapshots) = route_sources::channel();
        let stop = CancellationToken::new();
        let source = FileSource::new(settings, publisher).run(stop.clone());
        let test = async {
            test(Reader(snapshots)).await;
            stop.cancel();
        };
        let both = async { tokio::join!(source, test) };
        tokio::time::timeout(Duration::from_secs(600), both)
            .await
            .unwrap();
    }
}

struct Reader(Snapshots);

// === impl Reader ===

impl Reader {
    async fn next(&mut self) -> Arc<Snapshot> {
        self.0.next().await.unwrap()
    }

    /// The hosts of the next snapshot.
    async fn hosts(&mut self) -> Vec<String> {
        hosts(self.next().await.as_ref())
    }

    /// Nothing comes for some polls.
    async fn is_quiet(&mut self) {
        let quiet = tokio::time::timeout(Duration::from_secs(9), self.0.next()).await;
        assert!(quiet.is_err(), "{quiet:?}");
    }
}

fn hosts(snapshot: &Snapshot) -> Vec<String> {
    snapshot
        .routes
        .iter()
        .map(|route| route.host().to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_first_snapshot_comes_whatever_is_there() {
    let fixture = Fixture::new();
    Fixture::run(FileSettings::default(), async |mut reader: Reader| {
        let snapshot = reader.next().await;
        assert!(snapshot.routes.is_empty() && snapshot.stale.is_none());
    })
    .await;
    Fixture::run(fixture.settings(&["none.yaml"]), async |mut reader: Reader| {
        let snapshot = reader.next().await;
        assert!(snapshot.routes.is_empty() && snapshot.stale.as_ref().unwrap().ends_with("it is not there"));
        reader.is_quiet().await;
        fixture.write("none.yaml", ROUTE);
        assert_eq!(reader.hosts().await, ["a.test"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn changes_are_taken_without_a_restart_and_nothing_else_is_published() {
    let fixture = Fixture::new();
    fixture.write("a.yaml", ROUTE);
    Fixture::run(fixture.settings(&["a.yaml"]), async |mut reader: Reader| {
        let first = reader.next().await;
        assert_eq!(hosts(&first), ["a.test"]);
        reader.is_quiet().await;
        fixture.write("a.yaml", &format!("{ROUTE}  - host: b.test\n    upstreams: []\n"));
        let second = reader.next().await;
        assert_eq!(hosts(&second), ["a.test", "b.test"]);
        assert!(
            first.routes[0].is_same(&second.routes[0]),
            "what is as before is the same value"
        );
        fixture.write("a.yaml", "routes: []\n");
        assert!(reader.hosts().await.is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_the_same_size_in_the_same_second_is_seen() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("a.yaml");
    fixture.write("a.yaml", ROUTE);
    let time = std::fs::metadata(&path).unwrap().modified().unwrap();
    Fixture::run(fixture.settings(&["a.yaml"]), async |mut reader: Reader| {
        assert_eq!(reader.hosts().await, ["a.test"]);
        std::fs::write(&path, ROUTE.replace("a.test", "b.test")).unwrap();
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(time)
            .unwrap();
        assert_eq!(reader.hosts().await, ["b.test"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_deleted_emptied_or_half_written_wipes_nothing() {
    let fixture = Fixture::new();
    fixture.write("a.yaml", ROUTE);
    Fixture::run(fixture.settings(&["a.yaml"]), async |mut reader: Reader| {
        assert_eq!(reader.hosts().await, ["a.test"]);
        for broken in [None, Some(""), Some("routes:\n"), Some("routes:\n  - host: \"a")] {
            match broken {
                None => fixture.remove("a.yaml"),
                Some(text) => fixture.write("a.yaml", text),
            }
            let snapshot = reader.next().await;
            assert_eq!(hosts(&snapshot), ["a.test"], "{broken:?}");
            assert!(snapshot.stale.is_some() && snapshot.invalid[0].kept, "{broken:?}");
        }
        fixture.write("a.yaml", ROUTE);
        let snapshot = reader.next().await;
        assert!(snapshot.stale.is_none() && snapshot.invalid.is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_setting_lets_routes_go_with_their_file() {
    let fixture = Fixture::new();
    fixture.write("a.yaml", ROUTE);
    let settings = FileSettings {
        when_missing: WhenMissing::Clear,
        ..fixture.settings(&["a.yaml"])
    };
    Fixture::run(settings, async |mut reader: Reader| {
        assert_eq!(reader.hosts().await, ["a.test"]);
        fixture.remove("a.yaml");
        assert!(reader.hosts().await.is_empty());
        reader.is_quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_directory_gives_files_that_come_later_too() {
    let fixture = Fixture::new();
    fixture.write("b.yaml", ROUTE);
    Fixture::run(fixture.settings(&[""]), async |mut reader: Reader| {
        assert_eq!(reader.hosts().await, ["a.test"]);
        fixture.write("a.json", r#"{"hosts": [{"host": "c.test", "upstreams": []}]}"#);
        assert_eq!(reader.hosts().await, ["c.test", "a.test"]);
        fixture.write("c.txt", "routes: 7");
        reader.is_quiet().await;
        fixture.write("c.hcl", "routes = [{ host = \"d.test\", upstreams = [] }]");
        assert_eq!(reader.hosts().await, ["c.test", "a.test", "d.test"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn imported_files_are_watched() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.folder.path().join("sites")).unwrap();
    let site = fixture.folder.path().join("sites/a.hcl");
    std::fs::write(&site, "host = \"a.test\"\nupstreams = []").unwrap();
    fixture.write("routes.hcl", "routes = [import(\"sites/a.hcl\")]");
    Fixture::run(fixture.settings(&["routes.hcl"]), async |mut reader: Reader| {
        assert_eq!(reader.hosts().await, ["a.test"]);
        std::fs::write(&site, "host = \"b.test\"\nupstreams = []").unwrap();
        assert_eq!(reader.hosts().await, ["b.test"]);
        std::fs::remove_file(&site).unwrap();
        let snapshot = reader.next().await;
        assert_eq!(hosts(&snapshot), ["b.test"]);
        assert!(snapshot.stale.as_ref().unwrap().contains("is not there"));
        std::fs::write(&site, "host = \"c.test\"\nupstreams = []").unwrap();
        assert_eq!(reader.hosts().await, ["c.test"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_being_written_is_taken_once_it_is_calm() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("a.yaml");
    fixture.write("a.yaml", "routes: []");
    Fixture::run(fixture.settings(&["a.yaml"]), async |mut reader: Reader| {
        assert!(reader.hosts().await.is_empty());
        // Another line before each look: none of these states is one.
        let mut text = "routes:\n".to_owned();
        for number in 0..30 {
            text.push_str(&format!("  - host: h{number}.test\n    upstreams: []\n"));
            std::fs::write(&path, &text).unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let snapshot = reader.next().await;
        assert_eq!(snapshot.routes.len(), 30);
        reader.is_quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_never_comes_to_rest_holds_up_no_other() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("busy.yaml");
    std::fs::write(&path, "0").unwrap();
    fixture.write("a.yaml", ROUTE);
    Fixture::run(
        fixture.settings(&["a.yaml", "busy.yaml"]),
        async |mut reader: Reader| {
            let busy = async {
                for number in 0..1_000_000 {
                    std::fs::write(&path, format!("# {number}\nroutes: []")).unwrap();
                    tokio::time::sleep(Duration::from_millis(15)).await;
                }
            };
            let snapshot = tokio::select! {
                () = busy => panic!("it is passed over"),
                snapshot = reader.next() => snapshot,
            };
            assert_eq!(hosts(&snapshot), ["a.test"]);
            assert!(snapshot.stale.as_ref().unwrap().ends_with("all the time"));
            assert!(reader.next().await.stale.is_none());
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pipe_and_a_device_hold_nothing_up() {
    let fixture = Fixture::new();
    let pipe = fixture.folder.path().join("pipe.yaml");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    fixture.write("a.yaml", ROUTE);
    let mut settings = fixture.settings(&["pipe.yaml", "a.yaml"]);
    settings.paths.push("/dev/zero".into());
    Fixture::run(settings, async |mut reader: Reader| {
        let snapshot = reader.next().await;
        assert_eq!(hosts(&snapshot), ["a.test"]);
        assert_eq!(snapshot.invalid.len(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_nobody_read_is_replaced_and_none_is_lost() {
    let fixture = Fixture::new();
    fixture.write("a.yaml", ROUTE);
    Fixture::run(fixture.settings(&["a.yaml"]), async |mut reader: Reader| {
        for number in 0..200 {
            fixture.write("a.yaml", &ROUTE.replace("a.test", &format!("h{number}.test")));
            tokio::time::sleep(Duration::from_millis(2100)).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(reader.hosts().await, ["h199.test"]);
    })
    .await;
}

/// With the system's clock: events are not moved by a paused one. Polls are too far apart to help.
#[tokio::test]
async fn events_bring_changes_at_once() {
    let fixture = Fixture::new();
    fixture.write("a.hcl", "routes = [import(\"b.hcl\")]");
    fixture.write("b.hcl", "host = \"a.test\"\nupstreams = []");
    let settings = FileSettings {
        events: true,
        poll: Duration::from_secs(3600),
        ..fixture.settings(&["a.hcl"])
    };
    Fixture::run(settings, async |mut reader: Reader| {
        assert_eq!(reader.hosts().await, ["a.test"]);
        fixture.write("b.hcl", "host = \"b.test\"\nupstreams = []");
        assert_eq!(reader.hosts().await, ["b.test"]);
        fixture.write("a.hcl", "routes = [{ host = \"c.test\", upstreams = [] }]");
        assert_eq!(reader.hosts().await, ["c.test"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn documents_are_those_of_the_check() {
    let fixture = Fixture::new();
    fixture.write("a.yaml", "routes:\n  - host: A.test\n    upstreams: [{ip: 10.0.0.1, port: 80, weight: 2}]\n    match_with: {path: {patterns: [\"/:id\"]}}\n");
    let path: &Path = fixture.folder.path();
    Fixture::run(fixture.settings(&["a.yaml"]), async |mut reader: Reader| {
        let snapshot = reader.next().await;
        let [Route::Document(document)] = snapshot.routes.as_slice() else {
            panic!("{snapshot:?} in {}", path.display());
        };
        assert_eq!(
            document.to_json(),
            r#"{"schema_version":2,"host":"a.test","paths":[{"patterns":["/?*"],"upstreams":[{"address":"10.0.0.1:80","weight":2}]}]}"#
        );
    })
    .await;
}
