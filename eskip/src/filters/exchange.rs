//! What belongs to one request beside its head, from its first filter to the end of its answer.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::HeaderValue;
use http::uri::Authority;

/// One request and its answer, beside the heads. It stays the same through loopbacks.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The host of the request as predicates see it, with its port.
    pub host: String,
    /// Who is connected; `None` if it has no address, as with a unix socket.
    pub peer: Option<SocketAddr>,
    /// Whether the client speaks TLS to the proxy.
    pub tls: bool,
    /// The certificate that the client has shown, in DER. It must be a verified one: filters go by what it says. One that
    /// nobody has verified is none.
    pub client_certificate: Option<Arc<[u8]>>,
    /// The number of the table that its routes are in, if there are several. It stays when new routes come, so that what
    /// filters count for a route goes on.
    pub table: usize,
    /// The route that the request is at.
    pub route: String,
    /// What the filters put by for each other.
    pub bag: StateBag,
    /// Where a request to a `<dynamic>` backend goes.
    pub dynamic: DynamicTarget,
    /// The Host that the backend is told, if a filter has set one. It comes before what `preserveHost` says.
    pub outgoing_host: Option<HeaderValue>,
    /// Whether filters see reserved characters of the path that are encoded, such as `/`, as they are, and leave them so.
    /// Default: they see the decoded path, and a path that they change is encoded anew.
    pub keeps_reserved: bool,
    /// A filter would have made path and query longer than a request can have them, and they are as they were. Whoever
    /// runs the filters refuses the request then: what was to be taken out of it is still there.
    pub target_too_long: bool,
    /// What the access log leaves out of the query: the values of these keys.
    pub masked_query: Vec<String>,
    /// What the line of the access log says beside the usual: names and values.
    pub tags: Vec<(String, String)>,
    params: Vec<(String, String)>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

/// Values by name, which filters leave for later ones.
#[derive(Clone, Debug, Default)]
pub struct StateBag(BTreeMap<String, String>);

/// Where a request to a `<dynamic>` backend goes. There is no default: a request whose filters do not say it fails.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DynamicTarget {
    /// `http` or `https`; `http` if nothing is said.
    pub scheme: Option<String>,
    /// Host and port.
    pub authority: Option<Authority>,
    /// Whether both come from a URL. Then filters that say host or scheme alone change nothing.
    pub is_url: bool,
}

// === impl Exchange ===

impl Exchange {
    /// What a wildcard of the route's path stands for.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Takes in the wildcards of a route's path. Those of an earlier route stay, unless they have the same name.
    pub fn add_param(&mut self, name: &str, value: impl Into<String>) {
        match self.params.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.into(),
            None => self.params.push((name.to_owned(), value.into())),
        }
    }

    /// Tags the request, in place of a tag that had this name.
    pub fn tag(&mut self, name: &str, value: impl Into<String>) {
        match self.tags.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.into(),
            None => self.tags.push((name.to_owned(), value.into())),
        }
    }

    /// The address of who is connected.
    #[must_use]
    pub fn peer_ip(&self) -> Option<IpAddr> {
        self.peer.map(|peer| peer.ip().to_canonical())
    }

    /// Keeps a value of a filter until the exchange has ended, or it is taken.
    pub fn keep<T: Send + Sync + 'static>(&mut self, value: T) {
        self.kept.push(Box::new(value));
    }

    /// The value of this type that was kept last.
    #[must_use]
    pub fn kept<T: 'static>(&self) -> Option<&T> {
        self.kept.iter().rev().find_map(|kept| kept.downcast_ref())
    }

    /// The same, to be changed.
    pub fn kept_mut<T: 'static>(&mut self) -> Option<&mut T> {
        self.kept.iter_mut().rev().find_map(|kept| kept.downcast_mut())
    }

    /// Takes it out.
    pub fn take_kept<T: 'static>(&mut self) -> Option<T> {
        let index = self.kept.iter().rposition(|kept| kept.is::<T>())?;
        self.kept.remove(index).downcast().ok().map(|kept| *kept)
    }
}

// === impl StateBag ===

impl StateBag {
    /// The value under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Puts a value under a name.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }
}

impl fmt::Display for DynamicTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.as_deref().unwrap_or("http");
        write!(
            f,
            "{scheme}://{}",
            self.authority.as_ref().map_or("", Authority::as_str)
        )
    }
}
