//! The two ends of one exchange through the proxy, each HTTP/1 or HTTP/2, with the same operations on both: a test
//! of streaming is written once and runs over every pair of protocols.

mod client;
mod upstream;

pub(crate) use self::client::ClientEnd;
pub(crate) use self::upstream::{UpstreamEnd, Upstreams};
use super::rig::Rig;

/// What the client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Front {
    Http1,
    Http1Tls,
    /// HTTP/2 by prior knowledge.
    H2c,
    H2Tls,
}

/// What the upstream speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Back {
    Http1,
    H2c,
}

/// How a body ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// As it should, with these trailers (`name: value`, names in lower case).
    Clean(Vec<String>),
    /// Reset or cut, so that nobody can take it for whole.
    Cut,
}

/// One pair of protocols with a proxy between them.
pub(crate) struct Pair {
    pub(crate) front: Front,
    pub(crate) back: Back,
    pub(crate) rig: Rig,
    pub(crate) upstreams: Upstreams,
}

// === impl Pair ===

impl Pair {
    /// Starts an upstream and a proxy in front of it, for each pair of protocols.
    pub(crate) async fn all() -> Vec<Self> {
        let mut pairs = Vec::new();
        for front in [Front::Http1, Front::Http1Tls, Front::H2c, Front::H2Tls] {
            for back in [Back::Http1, Back::H2c] {
                pairs.push(Self::start(front, back).await);
            }
        }
        pairs
    }

    /// Starts one pair.
    pub(crate) async fn start(front: Front, back: Back) -> Self {
        println!("{front:?} to {back:?}");
        let upstreams = Upstreams::bind(back).await;
        let directives = match back {
            Back::Http1 => format!("\treverse_proxy {}", upstreams.addr()),
            Back::H2c => format!("\treverse_proxy h2c://{}", upstreams.addr()),
        };
        let rig = match front {
            Front::Http1 | Front::H2c => Rig::site(&directives),
            Front::Http1Tls | Front::H2Tls => Rig::tls_site(&directives),
        };
        Self {
            front,
            back,
            rig,
            upstreams,
        }
    }

    /// Opens an exchange: the client sends the head of a request, the upstream gets it.
    pub(crate) async fn open(
        &mut self,
        method: &str,
        path: &str,
        with_body: bool,
    ) -> (ClientEnd, UpstreamEnd) {
        let client = ClientEnd::open(self.front, &self.rig, method, path, with_body).await;
        let upstream = self.upstreams.next().await;
        assert_eq!(
            (upstream.method(), upstream.target()),
            (method.to_owned(), path.to_owned())
        );
        (client, upstream)
    }

    /// A clean exchange on new connections must still work, whatever happened before.
    pub(crate) async fn canary(&mut self) {
        let (mut client, mut upstream) = self.open("GET", "/canary", false).await;
        upstream.respond(200, &[("content-length", "0")]).await;
        assert_eq!(client.head().await.status, 200, "the canary is answered");
    }
}
