//! What the stores on SQL databases share: the text, the order of statements, and what rows mean.
//!
//! | ADR | here | why |
//! | --- | --- | --- |
//! | `routes(host, schema_version, data, updated_at)` | `{prefix}_routes` with `version` and `revision` too | conditional writes, changes since a revision |
//! | revision in a row of `meta` | the one row of `{prefix}_meta`: `epoch`, `revision`, `forgotten`, `last_value` | lost data is seen |
//! | `replicas` | `{prefix}_replicas(id, data, expires_at)` | by the database's clock, in milliseconds since 1970 |
//! | | `{prefix}_versions`, `{prefix}_changes`, `{prefix}_deleted` | history, rollback, changes |
//! | | `{prefix}_leases`, `{prefix}_values` | leases; certificates, challenges |
//!
//! A write updates the row of `{prefix}_meta` first: its lock makes writers wait for each other, so numbers follow the order of
//! commits and no reader that knows a number misses one below it.

mod engine;
mod migrate;
mod read;
mod row;
mod shared;
mod store;
mod write;

pub(crate) use engine::{Arg, Engine, Session, run_on};
pub(crate) use row::Row;
pub(crate) use store::SqlStore;
