//! The encoders of one worker: how many may be at work, and some that wait for more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::coder::{Coder, Coding, Until};

/// Answers that may be compressed at once. Each holds about a MiB as long as its client takes, so clients that
/// take slowly must not be able to fill the memory. Further answers go out plain.
const AT_WORK: usize = 512;

/// Encoders that are kept for further answers: making one costs more than a short answer.
const IDLE: usize = 8;

/// The encoders of one worker.
#[derive(Debug, Default)]
pub(crate) struct Encoders {
    at_work: AtomicUsize,
    idle: Mutex<Vec<(Coding, Coder)>>,
}

/// An encoder at work. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lease {
    coding: Coding,
    /// `None` once it failed.
    coder: Option<Coder>,
    home: Arc<Encoders>,
}

// === impl Encoders ===

impl Encoders {
    /// An encoder, unless too many are at work.
    pub(super) fn lease(self: &Arc<Self>, coding: Coding) -> Option<Lease> {
        let added = self
            .at_work
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < AT_WORK).then_some(count + 1)
            });
        added.ok()?;
        let mut lease = Lease {
            coding,
            coder: self.take(coding),
            home: Arc::clone(self),
        };
        if lease.coder.is_none() {
            lease.coder = Some(Coder::new(coding).ok()?);
        }
        Some(lease)
    }

    fn take(&self, coding: Coding) -> Option<Coder> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle.iter().position(|(kept, _)| *kept == coding)?;
        Some(idle.swap_remove(found).1)
    }

    fn keep(&self, coding: Coding, coder: Coder) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() == IDLE {
            // Those of settings that are gone must not stay for ever.
            idle.remove(0);
        }
        idle.push((coding, coder));
    }
}

// === impl Lease ===

impl Lease {
    /// As [`Coder::run`].
    ///
    /// # Errors
    ///
    /// If the library fails or has failed before.
    pub(super) fn run(&mut self, input: &[u8], until: Until, out: &mut Vec<u8>) -> std::io::Result<()> {
        let coder = self.coder.as_mut();
        let result = coder
            .ok_or_else(|| std::io::Error::other("the encoder has failed"))
            .and_then(|coder| coder.run(input, until, out));
        if result.is_err() {
            self.coder = None;
        }
        result
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.home.at_work.fetch_sub(1, Ordering::Relaxed);
        if let Some(mut coder) = self.coder.take()
            && coder.reset()
        {
            self.home.keep(self.coding, coder);
        }
    }
}
