//! The wall clock, read in one place.

use std::cell::RefCell;
use std::time::SystemTime;

use http::HeaderValue;

/// Now, for log lines and certificates. Everything that waits uses tokio's clock instead.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

thread_local! {
    static DATE: RefCell<Option<HeaderValue>> = const { RefCell::new(None) };
}

/// The date as answers give it. It is read anew when [`tick`] was called on this thread.
pub(crate) fn http_date() -> HeaderValue {
    DATE.with_borrow_mut(|date| date.get_or_insert_with(rendered).clone())
}

/// A second or so has passed, and the date may be another one.
pub(crate) fn tick() {
    DATE.set(None);
}

fn rendered() -> HeaderValue {
    let date = httpdate::fmt_http_date(wall());
    HeaderValue::from_maybe_shared(bytes::Bytes::from(date)).unwrap_or_else(|_| HeaderValue::from_static(""))
}
