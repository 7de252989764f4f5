//! The chain of handlers as a whole: what one of them does is there for the next, errors find their routes, and
//! answers of upstreams may be routed too.

mod answers;
mod bodies;
mod errors;
mod requests;

use crate::support::wire::Message;

/// Status and body.
fn said(answer: &Message) -> (u16, String) {
    (
        answer.head.status(),
        String::from_utf8_lossy(&answer.body).into_owned(),
    )
}
