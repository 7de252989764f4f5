//! The pods of one server through its deployments: one fresh, the others on their way out.

use std::net::SocketAddr;

use crate::support::browser::Tab;
use crate::support::dns::DnsServer;
use crate::support::net::Server;
use crate::support::pod::{ID_COOKIE, Pod, Protocol};
use crate::support::rig::HOST;
use crate::support::wait::eventually;
use crate::support::wire::Wire;

/// One server: its name leads to its fresh pod.
pub(super) struct Fleet {
    protocol: Protocol,
    server: Server,
    name: &'static str,
    fresh: Pod,
    old: Vec<Pod>,
    deployed: usize,
    gone: usize,
}

// === impl Fleet ===

impl Fleet {
    /// Deploys the first pod, on any free port if `port` is 0.
    pub(super) async fn start(
        protocol: Protocol,
        server: Server,
        name: &'static str,
        port: u16,
        dns: &DnsServer,
    ) -> Self {
        let fresh = Pod::speaking(protocol, server.pod(1), port).await;
        dns.set(name, &[fresh.addr().ip()], 0);
        Self {
            protocol,
            server,
            name,
            fresh,
            old: Vec::new(),
            deployed: 1,
            gone: 0,
        }
    }

    /// The port of every pod.
    pub(super) fn port(&self) -> u16 {
        self.fresh.addr().port()
    }

    /// How many pods there have been.
    pub(super) fn deployed(&self) -> usize {
        self.deployed
    }

    /// How many system requests were refused by pods that did not know their session, other than by draining.
    pub(super) fn gone(&self) -> usize {
        self.gone + self.fresh.look(|state| state.gone)
    }

    /// The pod with this token, and whether it is the fresh one.
    pub(super) fn pod(&self, token: &str) -> Option<(&Pod, bool)> {
        if self.fresh.token() == token {
            return Some((&self.fresh, true));
        }
        self.old
            .iter()
            .find(|pod| pod.token() == token)
            .map(|pod| (pod, false))
    }

    /// Starts the next pod and moves the name to it.
    pub(super) async fn deploy(&mut self, dns: &DnsServer) {
        self.deployed += 1;
        let number = u8::try_from(self.deployed).expect("few deployments");
        let next = Pod::speaking(self.protocol, self.server.pod(number), self.port()).await;
        dns.set(self.name, &[next.addr().ip()], 0);
        self.old.push(std::mem::replace(&mut self.fresh, next));
    }

    /// Waits until a visitor who is pinned to this server gets a page of the fresh pod.
    pub(super) async fn until_fresh(&self, proxy: SocketAddr) {
        let request = format!(
            "GET /probe HTTP/1.1\r\nHost: {HOST}\r\nCookie: {ID_COOKIE}={}\r\n\r\n",
            self.fresh.token()
        );
        eventually("a page of the fresh pod", async || {
            let answer = Wire::connect(proxy).await.ask(&request).await;
            assert_eq!(answer.head.status(), 200, "a page load fails during the flip");
            let tab = Tab::read(&answer.body).expect("a page");
            (tab.token == self.fresh.token()).then_some(())
        })
        .await;
    }

    /// Sends the pod before the fresh one its SIGTERM; gives its token.
    pub(super) fn drain_old(&self) -> String {
        let old = self.old.last().expect("deployed at least twice");
        old.drain();
        old.token().to_owned()
    }

    /// Kills the pod before the fresh one; gives its token.
    pub(super) async fn kill_old(&mut self) -> String {
        let old = self.old.pop().expect("deployed at least twice");
        let token = old.token().to_owned();
        old.kill().await;
        token
    }

    /// Lets every drained pod exit.
    pub(super) async fn reap(&mut self) {
        let (ended, left): (Vec<_>, Vec<_>) = self
            .old
            .drain(..)
            .partition(|pod| pod.look(|state| state.is_draining() && state.is_empty()));
        self.old = left;
        for pod in ended {
            self.gone += pod.look(|state| state.gone - state.ended_by_link);
            pod.exit().await;
        }
    }

    /// Waits until all old pods are drained, and lets them exit.
    pub(super) async fn until_all_old_ended(&mut self) {
        for pod in &self.old {
            pod.until_empty().await;
        }
        self.reap().await;
        assert!(self.old.is_empty(), "every old pod drains");
    }
}
