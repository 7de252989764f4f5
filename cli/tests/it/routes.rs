//! `doorway routes` against a proxy with a store, and without one.

mod bulk;
mod offline;
mod rig;
mod single;
mod store;
