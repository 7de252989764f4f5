//! The client side.

mod answers;
mod failures;
mod requests;
mod reuse;
