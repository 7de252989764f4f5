//! Rolling deployments under load: two servers, live sessions, steady new page loads, and nobody notices.

mod fleet;
mod session;
mod visitors;

use http::StatusCode;

use self::fleet::Fleet;
use self::session::Session;
use self::visitors::Visitors;
use crate::support::dns::DnsServer;
use crate::support::net::Net;
use crate::support::pod::Protocol;
use crate::support::rig::{Doors, HOST, Rig};

/// Each round deploys on both servers, which makes 20 deployments.
const ROUNDS: usize = 10;
const SESSIONS: usize = 50;

/// Two servers behind a proxy.
struct Stage {
    rig: Rig,
    fleets: [Fleet; 2],
    _dns: DnsServer,
}

// === impl Stage ===

impl Stage {
    async fn start(protocol: Protocol) -> Self {
        let net = Net::fresh();
        let dns = DnsServer::start().await;
        let first = Fleet::start(protocol, net.server(1), "one.svc.test", 0, &dns).await;
        let port = first.port();
        let second = Fleet::start(protocol, net.server(2), "two.svc.test", port, &dns).await;
        let doors =
            Doors::server(net.server(1), "one.svc.test", port).and(net.server(2), "two.svc.test", port);
        let rig = doors
            .speaking(protocol)
            .resolver(dns.address())
            .start_with_workers(2);
        Self {
            rig,
            fleets: [first, second],
            _dns: dns,
        }
    }

    /// Opens this many sessions, each with a live tab.
    async fn sessions(&self, count: usize) -> Vec<Session> {
        let mut sessions = Vec::new();
        for _ in 0..count {
            let mut session = Session::start(self.rig.addr()).await;
            session.connect(self.pod_of(&session).0).await;
            sessions.push(session);
        }
        sessions
    }

    /// Deploys on both servers and waits until new page loads land on the new pods.
    async fn deploy(&mut self, visitors: &Visitors) {
        for fleet in &mut self.fleets {
            fleet.deploy(&self._dns).await;
        }
        for fleet in &self.fleets {
            fleet.until_fresh(self.rig.addr()).await;
        }
        visitors.until_all_came_again().await;
    }

    /// The pod of a session's tab, and whether it is its server's fresh one.
    fn pod_of(&self, session: &Session) -> (&crate::support::pod::Pod, bool) {
        let found = self.fleets.iter().find_map(|fleet| fleet.pod(session.token()));
        found.expect("the session is on a pod of ours")
    }

    /// Uses a session as its user would: a click, a pushed frame.
    async fn live(&self, session: &mut Session) {
        let (pod, _) = self.pod_of(session);
        session.click().await;
        session.frame(pod).await;
    }

    /// Follows a link: on a draining pod the tab ends there and begins again on a fresh one of the same server.
    async fn navigate(&self, session: &mut Session) {
        let (_, fresh) = self.pod_of(session);
        if fresh {
            session.link_stays().await;
            return;
        }
        let server = self
            .fleets
            .iter()
            .position(|fleet| fleet.pod(session.token()).is_some());
        session.link_ends_here().await;
        session.reload().await;
        let (pod, fresh) = self.pod_of(session);
        assert!(fresh, "a new session lands on a fresh pod");
        assert_eq!(
            self.fleets
                .iter()
                .position(|fleet| fleet.pod(session.token()).is_some()),
            server,
            "same server"
        );
        session.connect(pod).await;
    }
}

#[tokio::test]
async fn twenty_rolling_deployments_cut_nobody_and_move_nobody() {
    roll_out(Protocol::Http1).await;
}

#[tokio::test]
async fn twenty_rolling_deployments_of_h2c_pods_cut_nobody_and_move_nobody() {
    roll_out(Protocol::H2c).await;
}

async fn roll_out(protocol: Protocol) {
    let mut stage = Stage::start(protocol).await;
    let mut sessions = stage.sessions(SESSIONS).await;
    let visitors = Visitors::start(stage.rig.addr(), HOST);
    for round in 0..ROUNDS {
        stage.deploy(&visitors).await;
        for fleet in &mut stage.fleets {
            visitors.forbid(&fleet.drain_old());
        }
        for (number, session) in sessions.iter_mut().enumerate() {
            stage.live(session).await;
            if number % 5 == round % 5 {
                stage.navigate(session).await;
            } else if number % 3 == round % 3 {
                session.roll().await;
            }
        }
        for fleet in &mut stage.fleets {
            fleet.reap().await;
        }
    }
    // Every tab gets to navigate once more, so that every old pod can end.
    for session in &mut sessions {
        stage.live(session).await;
        stage.navigate(session).await;
        stage.live(session).await;
    }
    for fleet in &mut stage.fleets {
        assert_eq!(fleet.deployed(), ROUNDS + 1);
        fleet.until_all_old_ended().await;
        assert_eq!(
            fleet.gone(),
            0,
            "no request of a session reached a pod that did not know it"
        );
    }
    let loads = visitors.stop().await;
    assert!(loads > ROUNDS * 10, "{loads} page loads were steady enough");
    drop(sessions);
    assert!(stage.rig.stop().await.drained);
}

#[tokio::test]
async fn a_killed_pod_costs_its_own_sessions_a_reload_and_nobody_else_anything() {
    kill(Protocol::Http1).await;
}

#[tokio::test]
async fn a_killed_h2c_pod_costs_its_own_sessions_a_reload_and_nobody_else_anything() {
    kill(Protocol::H2c).await;
}

async fn kill(protocol: Protocol) {
    let mut stage = Stage::start(protocol).await;
    let mut sessions = stage.sessions(20).await;
    let visitors = Visitors::start(stage.rig.addr(), HOST);
    for round in 0..3 {
        stage.deploy(&visitors).await;
        let killed = stage.fleets[round % 2].kill_old().await;
        visitors.forbid(&killed);
        for session in &mut sessions {
            if session.token() == killed {
                session.expect_cut().await;
                // The client of a cut stream asks for the next one; that is how it learns that the page is dead.
                for answer in [session.try_sync().await, session.try_click().await] {
                    assert_eq!(answer.status, StatusCode::GONE);
                    assert_eq!(answer.headers["cache-control"], "no-store");
                }
                session.reload().await;
                let (pod, fresh) = stage.pod_of(session);
                assert!(fresh, "the reload lands on a fresh pod");
                session.connect(pod).await;
            }
            stage.live(session).await;
        }
        // The other server's old pod drains as usual.
        visitors.forbid(&stage.fleets[(round + 1) % 2].drain_old());
    }
    visitors.stop().await;
}
