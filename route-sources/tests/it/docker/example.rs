//! The example is one.

use serde_json::{Map, Value};

use super::fake::{Fake, container};
use super::{Running, settings, shown};

const EXAMPLE: &str = include_str!("../../../../examples/docker-compose.yml");
const README: &str = include_str!("../../../README.md");

/// The labels in a text, each in its own line.
fn labels(text: &str) -> Value {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("doorway."));
    let pairs = lines.map(|line| line.split_once(": ").unwrap());
    let pairs = pairs.map(|(name, value)| (name.to_owned(), Value::from(value.trim_matches('"'))));
    Value::Object(pairs.collect::<Map<_, _>>())
}

#[tokio::test]
async fn the_labels_of_the_examples_are_read() {
    for (text, routes) in [
        (EXAMPLE, "app.localhost 10.0.0.1:80 10.0.0.2:80"),
        (README, "shop.example.com 10.0.0.1:8080 10.0.0.2:8080"),
    ] {
        let fake = Fake::started();
        let labels = labels(text);
        fake.run(vec![
            container("app-1", "10.0.0.1", &labels),
            container("app-2", "10.0.0.2", &labels),
        ]);
        let mut source = Running::with(settings(&fake));
        let snapshot = source.next().await;
        assert_eq!(shown(&snapshot), [routes]);
        assert_eq!(snapshot.invalid, []);
        source.end().await;
    }
}
