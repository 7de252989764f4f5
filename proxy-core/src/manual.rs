//! The manual: what Doorway reads, and what users of Caddy find otherwise. Text only.
//!
//! The tables of [`configuration`] and [`skipper`] are written by `cargo xtask codegen`, from the code that they speak of; that of
//! [`strictness`] by `cargo xtask wire --write`, from what the proxies do.

/// Which upstream takes a request, and what happens when it fails.
pub mod balancing {
    #![doc = include_str!("manual/balancing.md")]
}

/// What is otherwise than with Caddy, and why.
pub mod caddy {
    #![doc = include_str!("manual/caddy.md")]
}

/// What of Caddy's configuration Doorway has.
pub mod configuration {
    #![doc = include_str!("manual/configuration.md")]
}

/// Visitors that are sent to the site of their country.
pub mod geo {
    #![doc = include_str!("manual/geo.md")]
}

/// What keeps requests away from an upstream, and what is told of it.
pub mod health {
    #![doc = include_str!("manual/health.md")]
}

/// Hosts that come and go while the proxy runs: from files, containers, a cluster, and a store that replicas share.
pub mod routes {
    #![doc = include_str!("manual/routes.md")]
}

/// Routes in Skipper's language: filters, predicates, backends.
pub mod skipper {
    #![doc = include_str!("manual/skipper.md")]
}

/// What of HTTP is refused, and what other proxies do with it.
pub mod strictness {
    #![doc = include_str!("manual/strictness.md")]
}

/// Upstreams by the addresses of a name, by SRV records, and by what requests say.
pub mod dynamic_upstreams {
    #![doc = include_str!("manual/dynamic_upstreams.md")]
}
