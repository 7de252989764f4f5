//! Routes: from a request to the backend that answers it, with the filters on the way.
//!
//! A server's routes follow Caddy's semantics: they are tried in order, each matching route runs its
//! handlers, and the first handler that answers ends the walk. [`routes::Routes`] holds them compiled,
//! [`walk::Walk`] goes through them for one request.

pub(crate) mod copy;
pub(crate) mod doors;
pub(crate) mod expression;
pub(crate) mod geo;
pub(crate) mod glob;
pub(crate) mod header_ops;
pub(crate) mod host_index;
pub(crate) mod map;
pub(crate) mod matcher;
pub(crate) mod regexp;
pub(crate) mod respond;
pub(crate) mod rewrite;
pub(crate) mod routes;
pub(crate) mod slots;
pub(crate) mod template;
pub(crate) mod trace;
pub(crate) mod vars;
pub(crate) mod walk;

#[cfg(test)]
mod tests {
    //! What the routing tests share.

    use http::Request;

    use crate::request::Context;

    /// A request for an absolute URI from 192.0.2.1:4711, whose client is 192.0.2.9.
    pub(super) fn context(method: &str, uri: &str) -> Context {
        let uri: http::Uri = uri.parse().unwrap();
        let host = uri.authority().unwrap().as_str().parse().unwrap();
        let target = uri.path_and_query().unwrap().clone();
        let parts = Request::builder()
            .method(method)
            .uri(target.as_str())
            .body(())
            .unwrap()
            .into_parts()
            .0;
        let peer = "192.0.2.1:4711".parse().ok();
        Context::new(parts, Some(host), peer, "192.0.2.9".parse().ok(), false)
    }
}
