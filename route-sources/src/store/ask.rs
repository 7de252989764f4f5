//! Asking a store, for a while.

use std::time::Duration;

use route_store::{Answer, Store, StoreError};
use thiserror::Error;
use tokio::time;

/// A store took too long.
#[derive(Debug, Error)]
#[error("it did not answer within {0:?}")]
pub(super) struct TookTooLong(pub(super) Duration);

/// Waits for an answer, but not for ever.
pub(super) async fn within<T>(
    store: &dyn Store,
    limit: Duration,
    answer: Answer<'_, T>,
) -> Result<T, StoreError> {
    time::timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(took_too_long(store, limit)))
}

pub(super) fn took_too_long(store: &dyn Store, limit: Duration) -> StoreError {
    StoreError::Unavailable {
        kind: store.kind(),
        source: Box::new(TookTooLong(limit)),
    }
}

/// An error and its causes in one line.
pub(super) fn in_full(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(because) = cause {
        text = format!("{text}: {because}");
        cause = because.source();
    }
    text
}

/// A time in seconds since 1970 as people read it.
pub(super) fn utc(at: u64) -> String {
    let (days, second) = (at / 86_400, at % 86_400);
    // Years begin in March here, so that the day that some years have more is the last of its year.
    let day = days + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_read_them() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_796_106_387, "2026-12-01T06:26:27Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(at), text);
        }
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let error = StoreError::Unavailable {
            kind: "redis",
            source: Box::new(TookTooLong(Duration::from_secs(2))),
        };
        assert_eq!(
            in_full(&error),
            "the redis store cannot be reached: it did not answer within 2s"
        );
    }
}
