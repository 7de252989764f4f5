//! Exchanges in which the order of things matters: what the client and the upstream do by turns, and what each sees.

use std::net::{Ipv4Addr, SocketAddr};

use Step::{
    Client, ClientEnd, ClientEnds, ClientGets, ClientQuiet, ClientResets, ClientStatus, Upstream,
    UpstreamAgain, UpstreamEnds, UpstreamGets, UpstreamHead, UpstreamIdle, UpstreamResets,
};

use super::pace::Metronome;
use super::{fault, filled_in, report, shown};
use crate::support::origin::{Origin, ok};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wire::Wire;

/// One thing that happens. A name of one that acts is said before what it sends; of one that sees, before what comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The client sends this.
    Client(&'static str),
    /// The client ends its direction.
    ClientEnds,
    /// The client resets the connection.
    ClientResets,
    /// The client gets a head with this status.
    ClientStatus(u16),
    /// The client gets exactly this.
    ClientGets(&'static str),
    /// Nothing came for the client.
    ClientQuiet,
    /// The client sees the end and nothing before it.
    ClientEnd,
    /// The upstream sends this.
    Upstream(&'static str),
    UpstreamEnds,
    UpstreamResets,
    /// The upstream gets a head, if need be on a first connection.
    UpstreamHead,
    /// The upstream gets a head on a new connection.
    UpstreamAgain,
    /// The upstream gets exactly this.
    UpstreamGets(&'static str),
    /// The upstream sees the end and nothing before it.
    UpstreamEnd,
    /// The upstream was never connected to.
    UpstreamIdle,
}

/// A named order of things.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    id: &'static str,
    steps: &'static [Step],
    /// A line of the server's timeouts.
    limit: &'static str,
}

/// Those who play a scene.
struct Stage {
    rig: Rig,
    metronome: Metronome,
    origin: Origin,
    client: Option<Wire>,
    upstream: Option<Wire>,
}

pub(super) const fn scene(id: &'static str, steps: &'static [Step]) -> Scene {
    Scene { id, steps, limit: "" }
}

// === impl Scene ===

impl Scene {
    /// Played with this timeout, and it is waited for.
    pub(super) const fn limit(mut self, limit: &'static str) -> Self {
        self.limit = limit;
        self
    }

    async fn play(self) -> Result<(), String> {
        let mut stage = Stage::set(self.limit).await;
        for (step, number) in self.steps.iter().zip(1..) {
            println!("{} {number}: {step:?}", self.id);
            // What was said is heard before the next one speaks.
            stage.metronome.tick().await;
            stage
                .take(*step)
                .await
                .map_err(|fault| format!("{number}, {step:?}: {fault}"))?;
        }
        stage.canary().await
    }
}

// === impl Stage ===

impl Stage {
    async fn set(limit: &str) -> Self {
        let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
        let rig = rig(origin.addr(), limit);
        let metronome = Metronome::start(&rig).await;
        let client = Some(rig.wire().await);
        Self {
            rig,
            metronome,
            origin,
            client,
            upstream: None,
        }
    }

    async fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Client(_) | ClientEnds | ClientResets | ClientStatus(_) | ClientGets(_) | ClientQuiet
            | ClientEnd => self.take_client(step).await,
            UpstreamIdle => {
                let idle = self.upstream.is_none() && self.origin.is_idle().await;
                idle.then_some(()).ok_or_else(|| "a connection".to_owned())
            }
            UpstreamAgain => {
                self.upstream = Some(self.origin.accept().await);
                self.take_upstream(UpstreamHead).await
            }
            UpstreamHead if self.upstream.is_none() => {
                self.upstream = Some(self.origin.accept().await);
                self.take_upstream(step).await
            }
            _ => self.take_upstream(step).await,
        }
    }

    async fn take_client(&mut self, step: Step) -> Result<(), String> {
        let client = self.client.as_mut().ok_or("there is no client")?;
        match step {
            Client(bytes) => client.send(filled_in(bytes.as_bytes())).await,
            ClientEnds => client.finish().await,
            ClientResets => self.client.take().into_iter().for_each(Wire::reset),
            ClientStatus(status) => {
                let head = client.head().await;
                return same(head.status().to_string().as_bytes(), &status.to_string());
            }
            ClientGets(bytes) => return same(&client.exactly(bytes.len()).await, bytes),
            ClientQuiet => return same(&client.pending().await, ""),
            _ => return same(&client.rest().await.0, ""),
        }
        Ok(())
    }

    async fn take_upstream(&mut self, step: Step) -> Result<(), String> {
        let upstream = self.upstream.as_mut().ok_or("there is no upstream")?;
        match step {
            Upstream(bytes) => upstream.send(bytes).await,
            UpstreamEnds => upstream.finish().await,
            UpstreamResets => self.upstream.take().into_iter().for_each(Wire::reset),
            UpstreamHead => {
                upstream.head().await;
            }
            UpstreamGets(bytes) => return same(&upstream.exactly(bytes.len()).await, bytes),
            _ => return same(&upstream.rest().await.0, ""),
        }
        Ok(())
    }

    /// A clean request on a new connection is answered by a new connection or by what is left of the old one.
    async fn canary(&mut self) -> Result<(), String> {
        self.client = None;
        self.upstream = None;
        // The one of the scene may have been idle for too long.
        Metronome::start(&self.rig).await.tick().await;
        let mut client = self.rig.wire().await;
        client.send(get("/canary")).await;
        let mut upstream = self.origin.accept().await;
        let target = upstream.head().await.target().to_owned();
        upstream.send(ok("fine")).await;
        same(target.as_bytes(), "/canary")?;
        same(&client.answer().await.body, "fine")
    }
}

fn rig(upstream: SocketAddr, limit: &str) -> Rig {
    if limit.is_empty() {
        return Rig::to(upstream);
    }
    let global = format!("{{\n\tadmin off\n\tservers {{\n\t\ttimeouts {{\n\t\t\t{limit}\n\t\t}}\n\t}}\n}}\n");
    Rig::caddyfile(&format!(
        "{global}http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {upstream}\n}}\n"
    ))
}

fn same(seen: &[u8], wanted: &str) -> Result<(), String> {
    (seen == wanted.as_bytes())
        .then_some(())
        .ok_or_else(|| shown(seen))
}

/// Plays scenes, each on a stage of its own and all at once.
pub(super) async fn check(scenes: &[Scene]) {
    let playing: Vec<_> = scenes.iter().map(|scene| tokio::spawn(scene.play())).collect();
    let mut faults = Vec::new();
    for (scene, playing) in scenes.iter().zip(playing) {
        let outcome = fault(playing).await;
        faults.extend(outcome.map(|fault| format!("{}: {fault}", scene.id)));
    }
    report(scenes.len(), &faults);
}
