//! One turn: what the proxy was given, and whether it is to be asked or to be given something else.

use tokio::time::Instant;

use super::client::{Client, SocketFile};
use super::{Settings, SyncError, Synced};
use crate::desired::Desired;
use crate::render::{Fingerprint, Rendered, render};

/// What is remembered between turns.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// What was desired the last time, and its fingerprint: as long as it is the same, nothing is rendered.
    last: Option<(Desired, Fingerprint)>,
    /// What the proxy took last; nothing while that is not known.
    applied: Option<Fingerprint>,
    /// When it was last known to have it, and the socket at which it was asked.
    verified: Option<(Instant, Option<SocketFile>)>,
    /// Until when a load that nobody waits for any more could still arrive, in place of what was loaded since.
    doubt: Option<Instant>,
    routes: usize,
}

// === impl Turn ===

impl Turn {
    /// The routes that the proxy took last.
    pub(super) fn routes(&self) -> usize {
        self.routes
    }

    /// Sees to it that the proxy has what is `desired`. It may be dropped at any time.
    pub(super) async fn sync(
        &mut self,
        desired: Desired,
        client: &Client,
        settings: &Settings,
    ) -> Result<Synced, SyncError> {
        let known = self.last.as_ref().filter(|(last, _)| *last == desired);
        let (fingerprint, rendered) = match known {
            Some((_, fingerprint)) => (*fingerprint, None),
            None => {
                let rendered = render(&desired, &settings.render);
                (rendered.fingerprint(), Some(rendered))
            }
        };
        if known.is_none() {
            self.last = Some((desired, fingerprint));
        }
        if self.applied == Some(fingerprint) {
            if self.is_fresh(client, settings) {
                return Ok(Synced::Unchanged);
            }
            // Asked again the next time, unless there is an answer.
            self.verified = None;
            let socket = client.socket_file();
            if client.has(&fingerprint.marker()).await? {
                self.verified = Some((Instant::now(), socket));
                return Ok(Synced::Verified);
            }
        }
        let rendered = match (rendered, &self.last) {
            (None, Some((desired, _))) => render(desired, &settings.render),
            (Some(rendered), _) => rendered,
            (None, None) => return Ok(Synced::Unchanged),
        };
        self.load(rendered, client, settings).await?;
        Ok(Synced::Loaded)
    }

    async fn load(
        &mut self,
        rendered: Rendered,
        client: &Client,
        settings: &Settings,
    ) -> Result<(), SyncError> {
        let (fingerprint, routes) = (rendered.fingerprint(), rendered.routes());
        let before = self.applied.take();
        // Until there is an answer it may have been taken or not, and if nobody waits for the answer it may yet be.
        let doubt = self.doubt.replace(Instant::now() + settings.timeout * 2);
        let outcome = client.load(rendered.into_bytes()).await;
        match &outcome {
            Ok(()) => {
                self.applied = Some(fingerprint);
                // A load may make the socket anew.
                self.verified = Some((Instant::now(), client.socket_file()));
                self.routes = routes;
                self.doubt = doubt;
            }
            Err(SyncError::Rejected { .. }) => {
                self.applied = before;
                self.doubt = doubt;
            }
            Err(_) => {}
        }
        outcome
    }

    /// Whether the proxy need not be asked yet.
    fn is_fresh(&self, client: &Client, settings: &Settings) -> bool {
        let now = Instant::now();
        if self.doubt.is_some_and(|until| now < until) {
            return false;
        }
        self.verified.is_some_and(|(at, socket)| {
            now.duration_since(at) < settings.verify_every && socket == client.socket_file()
        })
    }
}
