//! The wall clock, read in one place.

use std::time::SystemTime;

/// Now, for log lines and certificates. Everything that waits uses tokio's clock instead.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}
