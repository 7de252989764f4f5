//! Trouble is logged when it appears, when it becomes another one, and when it clears.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shipwick_routes::sync::Settings;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::fmt::MakeWriter;

use super::admin::{Admin, Answer};
use super::{doubting, syncer};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn read(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn trouble_is_said_once() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let admin = Admin::start().await;
    let ticking = Settings {
        tick: Duration::from_millis(1),
        ..doubting()
    };
    let (database, syncer) = syncer(&admin, ticking);
    database.route("web", &["web_1"]);
    let stop = CancellationToken::new();
    let work = async {
        let more = async |answer: Option<Answer>| {
            if let Some(answer) = answer {
                admin.answer(answer);
            }
            admin.asked(admin.requests().len() + 5).await;
        };
        more(None).await;
        more(Some(Answer::Status(500, "one"))).await;
        more(Some(Answer::Status(500, "two"))).await;
        more(Some(Answer::Healthy)).await;
        more(Some(Answer::Status(500, "three"))).await;
        // To be stopped is no trouble.
        admin.answer(Answer::Hang);
        admin.asked(admin.requests().len() + 1).await;
        stop.cancel();
    };
    tokio::join!(syncer.run(stop.clone()), work);
    let refused = |text: &str| {
        format!(
            r#"ERROR the proxy is out of sync; trying again every tick error="the proxy rejected the configuration (HTTP 500): {text}""#
        )
    };
    assert_eq!(
        lines.read(),
        [
            "INFO the proxy has taken the routes routes=1".to_owned(),
            refused("one"),
            refused("two"),
            "INFO the proxy is in sync again".to_owned(),
            refused("three")
        ]
    );
}
