//! What the log is told: each change once, and no secret.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consul_upstreams::Settings;
use tracing::instrument::WithSubscriber as _;
use tracing_subscriber::fmt::MakeWriter;

use crate::fake::{Consul, Instance, Mode};
use crate::support::{Source, settings};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn all(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap();
        String::from_utf8(bytes.clone())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Lines {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

#[test]
fn each_change_is_one_line_and_none_holds_the_token() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .without_time()
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // The driver is spawned on this thread too.
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(story().with_current_subscriber());
    });
    let all = lines.all();
    assert_eq!(all.len(), 4, "{all:#?}");
    assert!(
        all[0].contains("WARN") && all[0].contains("the last answer is used") && all[0].contains("no leader")
    );
    assert!(all[1].contains("INFO") && all[1].contains("Consul answers again"));
    assert!(all[2].contains("WARN") && all[2].contains("no instance passes any more"));
    assert!(all[3].contains("WARN") && all[3].contains("refuses the token"));
    assert!(
        all.iter()
            .all(|line| line.contains("service=api") && !line.contains("secret"))
    );
}

async fn story() {
    let consul = Consul::start().await;
    consul.set("api", [Instance::at("192.0.2.1", 80)]);
    let source = Source::new(&Settings {
        token: Some("secret".into()),
        grace_period: Duration::from_nanos(1),
        ..settings(&consul.address)
    });
    let ask = async || {
        for _ in 0..5 {
            source.addresses("api").await.unwrap();
        }
    };
    ask().await;
    consul.mode(Mode::Status(500, "No cluster leader"));
    ask().await;
    consul.mode(Mode::Good);
    ask().await;
    consul.set("api", []);
    ask().await;
    consul.mode(Mode::Status(403, "ACL not found"));
    ask().await;
}
