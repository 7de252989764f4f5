//! What goes wrong with filters and with backends, as Skipper's routes see it.

use std::panic::AssertUnwindSafe;

use eskip::filters::{Resume, Waiting};
use futures_util::FutureExt as _;

use crate::error::{Failure, Reason};
use crate::forward::exchange::Failed;
use crate::upstream::breaker::IsOpen;

/// Waits for a filter; `None`: it panicked.
pub(super) async fn unless_it_panics(waiting: Waiting) -> Option<Resume> {
    AssertUnwindSafe(waiting).catch_unwind().await.ok()
}

/// What made the last attempt fail, where no further one can be made: a breaker that opens by it is not the cause.
pub(in crate::forward::journey) fn cause(mut failed: Failed) -> Failed {
    if failed.failure.reason != Reason::NoUpstream {
        return failed;
    }
    match failed
        .failure
        .source
        .take()
        .map(|source| source.downcast::<Failure>())
    {
        Some(Ok(cause)) => failed.failure = *cause,
        Some(Err(other)) => failed.failure.source = Some(other),
        None => {}
    }
    failed
}

/// Whether a failure is that of an open circuit breaker.
pub(in crate::forward::journey) fn is_open(failure: &Failure) -> bool {
    failure
        .source
        .as_ref()
        .is_some_and(|source| source.is::<IsOpen>())
}
