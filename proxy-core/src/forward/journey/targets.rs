//! Where a request may go.

use std::net::SocketAddr;
use std::time::Duration;

use doors_routing::Decision;
use tokio::time::{self, Instant};

use super::{Journey, Waited, Waiting};
use crate::error::{Failure, Reason};
use crate::forward::choice::{Choice, List};
use crate::forward::exchange::Target;
use crate::forward::proxy::Proxy;
use crate::forward::selection::Selection;
use crate::forward::view::ClusterId;
use crate::http::forwarded::X_FORWARDED_PROTO;
use crate::routing::trace::Tracer;
use crate::upstream::cluster::{Cluster, Source, Upstream};
use crate::upstream::discovery::{Dynamic, Found, Unusable};

/// The upstreams of a request are being found out.
pub(in crate::forward) struct Finding<'a> {
    number: ClusterId,
    found: Box<Found<'a>>,
    /// How long the request waits.
    patience: Duration,
}

/// Why a request has no target.
pub(super) enum Untargeted<'a> {
    Failed(Box<Failure>),
    /// Not yet.
    Finding(Finding<'a>),
}

// === impl Finding ===

impl<'a> Finding<'a> {
    /// Waits until upstreams are known, or it has taken too long.
    pub(in crate::forward) fn wait(mut self) -> Waiting<'a> {
        Box::pin(async move {
            let _in_time = time::timeout(self.patience, self.found.ready()).await;
            self.now()
        })
    }

    /// Goes on with what is known now.
    pub(in crate::forward) fn now(mut self) -> Waited<'a> {
        self.found.renew();
        Waited::Found(self.number, self.found)
    }
}

// === impl Untargeted ===

impl Untargeted<'_> {
    fn failed(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// Where a request to the cluster of this number may go. `found` is what was waited for.
    pub(super) fn target(
        &self,
        (number, cluster, proxy): (ClusterId, &'a Cluster, &'a Proxy),
        found: Option<Box<Found<'a>>>,
    ) -> Result<Target<'a>, Untargeted<'a>> {
        match &cluster.source {
            Source::Fixed(list) => Ok(Target::Any(self.among(List::Fixed(list), proxy))),
            Source::Doors(_) => {
                let target = self.doors_target(cluster, proxy);
                target.ok_or_else(|| Untargeted::failed(Reason::NoUpstream.into()))
            }
            Source::Dynamic(dynamic) => {
                let has_waited = found.is_some();
                let found = found.unwrap_or_else(|| Box::new(self.find(dynamic, proxy)));
                if !has_waited && found.is_pending() {
                    return Err(Untargeted::Finding(Finding {
                        number,
                        patience: found.patience(cluster.transport.dial.timeout),
                        found,
                    }));
                }
                match found.unusable().filter(|_| found.list().is_empty()) {
                    Some(why) => Err(Untargeted::failed(refused(why))),
                    None => Ok(Target::Any(self.among(List::Found(found), proxy))),
                }
            }
        }
    }

    fn find(&self, dynamic: &'a Dynamic, proxy: &Proxy) -> Found<'a> {
        // Each query has its number.
        let ask = |number: usize| {
            let query = proxy.queries.get(number).ok_or(Unusable::Host)?;
            query.of(&self.cx)
        };
        dynamic.find(ask, Instant::now())
    }

    fn among(&self, list: List<'a>, proxy: &'a Proxy) -> Choice<'a> {
        Choice {
            ask: proxy.selection.ask(&self.cx, &list, self.is_behind_tls(proxy)),
            list,
            pinned: None,
            others: true,
        }
    }

    /// Where the `doors_handler` before the proxy sends the request.
    fn doors_target(&self, cluster: &'a Cluster, proxy: &'a Proxy) -> Option<Target<'a>> {
        let (doors, decision) = self.walk.doors()?;
        let list: &'a [Upstream] = cluster.source.doors(doors.id)?;
        let pinned = match decision {
            Decision::Pod { addr, server } => {
                return Some(Target::Pod {
                    address: addr,
                    server: list.get(server)?,
                    dead_status: doors.dead_pod_status,
                });
            }
            Decision::Server(pinned) => Some(pinned),
            Decision::Any => None,
            Decision::Gone(_) => return None,
        };
        let method = self.cx.parts.method.as_str();
        Some(Target::Any(Choice {
            pinned,
            others: pinned.is_none() || doors.router.alternatives(decision, method).next().is_some(),
            ..self.among(List::Fixed(list), proxy)
        }))
    }

    /// Whether a proxy before this one, which is trusted, says that the client spoke TLS to it.
    fn is_behind_tls(&self, proxy: &Proxy) -> bool {
        if !matches!(proxy.selection, Selection::Sticky(_)) || !self.is_via_trusted(proxy) {
            return false;
        }
        let said = self
            .cx
            .parts
            .headers
            .get_all(X_FORWARDED_PROTO)
            .iter()
            .next_back();
        said.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
    }

    /// Whether the peer is a proxy whose forwarding headers are believed.
    pub(super) fn is_via_trusted(&self, proxy: &Proxy) -> bool {
        let is_listed = |peer: SocketAddr| proxy.trusted.as_ref().is_some_and(|set| set.contains(peer.ip()));
        self.via_trusted_proxy || self.cx.peer.is_some_and(is_listed)
    }
}

/// The failure of a request for which no source could be asked.
fn refused(why: Unusable) -> Failure {
    let reason = match why {
        // As Caddy: a source that fails is one without upstreams.
        Unusable::Busy | Unusable::Service(_) => Reason::NoUpstream,
        _ => Reason::BadUpstream,
    };
    Failure::from(reason).with_source(why)
}
