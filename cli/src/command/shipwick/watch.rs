//! `doorway shipwick watch`: the loop of Shipwick's agent, over a file or a directory.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use proxy_core::LogFiles;
use shipwick_routes::Desired;
use shipwick_routes::sync::{Settings, Source, Syncer};
use tokio::task;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::desired::{self, Texts};
use crate::args::{DesiredFrom, RenderArgs};
use crate::exit::{Failure, Outcome};
use crate::settings::Environment;
use crate::signals::{Signal, Signals};
use crate::{logging, runtime};

/// The files, and what they said when they were last right.
#[derive(Debug)]
struct Watched(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: PathBuf,
    admin: Option<String>,
    environment: Environment,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    texts: Texts,
    good: Desired,
    /// What was said of files that are wrong now.
    wrong: Option<String>,
}

/// Keeps the proxy at what the files say, until a signal.
pub(super) fn watch(from: &DesiredFrom, args: &RenderArgs, environment: &Environment) -> Outcome {
    let file = from.file.as_deref().filter(|path| *path != Path::new("-"));
    let Some(file) = file else {
        return Err(Failure::Usage(
            "standard input cannot be watched; name a file or a directory".to_owned(),
        ));
    };
    let texts = desired::texts(from, environment)?;
    let good = desired::check(&texts, from, environment)?;
    logging::start(None, environment.coloured_stderr(), &LogFiles::default())?;
    let settings = Settings {
        render: args.options(),
        ..Settings::default()
    };
    let admin = good.admin.clone();
    let watched = Watched(Arc::new(Inner {
        file: file.to_owned(),
        admin: from.admin.clone(),
        environment: environment.clone(),
        seen: Mutex::new(Seen {
            texts,
            good,
            wrong: None,
        }),
    }));
    runtime::block_on(async {
        let mut signals = Signals::listen()?;
        info!(file = %file.display(), admin = %admin, "keeping the proxy at the desired routes");
        let syncer = Syncer::new(admin, watched, settings);
        let stop = CancellationToken::new();
        let mut running = pin!(syncer.run(stop.clone()));
        loop {
            tokio::select! {
                () = running.as_mut() => return Ok(()),
                signal = signals.next() => match signal {
                    Signal::Stop(signal) | Signal::Quit(signal) => {
                        info!(signal, "stopping; the proxy keeps its routes");
                        stop.cancel();
                    }
                    Signal::Reload | Signal::Ignored(_) => {}
                }
            }
        }
    })
}

// === impl Watched ===

impl Source for Watched {
    type Error = task::JoinError;

    /// Files that are wrong say what they said before.
    async fn desired(&self) -> Result<Desired, task::JoinError> {
        let inner = Arc::clone(&self.0);
        // A disk may take its time.
        task::spawn_blocking(move || inner.look()).await
    }
}

// === impl Inner ===

impl Inner {
    fn look(&self) -> Desired {
        let from = DesiredFrom {
            file: Some(self.file.clone()),
            admin: self.admin.clone(),
        };
        let read = desired::texts(&from, &self.environment);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let checked = match read {
            Ok(texts) if texts == seen.texts => Ok(None),
            Ok(texts) => {
                let checked = desired::check(&texts, &from, &self.environment);
                checked.map(|good| Some((texts, good)))
            }
            Err(failure) => Err(failure),
        };
        let wrong = checked.as_ref().err().map(ToString::to_string);
        if let Ok(Some((texts, good))) = checked {
            (seen.texts, seen.good) = (texts, good);
        }
        match &wrong {
            Some(text) if seen.wrong != wrong => {
                let text = text.trim_start_matches("error: ");
                error!("the routes stay as they are: {text}");
            }
            None if seen.wrong.is_some() => info!("what is read is right again"),
            _ => {}
        }
        seen.wrong = wrong;
        seen.good.clone()
    }
}
