//! What a request asks the sources of its upstreams for, where placeholders stand in their names.

use consul_upstreams::ServiceName;

use crate::request::Context;
use crate::routing::template::Template;
use crate::upstream::discovery::{Asked, Unusable, Wanted};

/// What one source is asked for.
#[derive(Debug)]
pub(crate) enum Query {
    /// An upstream as `host:port`.
    Address(Template),
    /// The addresses of a name.
    Addresses { host: Template, port: Template },
    /// What the SRV records of a name list.
    Services(Box<[Template; 3]>),
    /// The instances of a service in Consul.
    Consul(Template),
    /// The upstream that the filters of a route have named.
    Filters,
}

// === impl Query ===

impl Query {
    /// What the request of `cx` asks for.
    pub(crate) fn of(&self, cx: &Context) -> Result<Asked, Unusable> {
        let wanted = match self {
            Self::Address(text) => Wanted::address(&text.render(cx)),
            Self::Addresses { host, port } => Wanted::addresses(&host.render(cx), &port.render(cx)),
            Self::Services(parts) => {
                let [service, proto, name] = &**parts;
                Wanted::services(&service.render(cx), &proto.render(cx), &name.render(cx))
            }
            Self::Filters => Wanted::address(cx.dynamic.as_deref().unwrap_or_default()),
            Self::Consul(name) => return Ok(Asked::Service(ServiceName::parse(&name.render(cx))?)),
        };
        wanted.map(Asked::Name)
    }
}
