//! One look-up that is under way, and all who wait for it.

use std::sync::Arc;

use tokio::sync::SetOnce;

use crate::error::LookupError;
use crate::locality::Answer;

/// What a look-up brings to those who wait for it.
pub(crate) type Outcome = Result<Arc<Answer>, LookupError>;

/// A look-up under way. It belongs to nobody: whoever asked first may leave.
#[derive(Debug, Default)]
pub(crate) struct Flight(SetOnce<Outcome>);

/// Ends a flight that nobody ends, so that nobody waits for ever.
#[derive(Debug)]
pub(crate) struct Landing(Arc<Flight>);

// === impl Flight ===

impl Flight {
    /// Waits for its end. The caller bounds the time.
    pub(crate) async fn wait(&self) -> Outcome {
        self.0.wait().await.clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.initialized()
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        // It fails when it was ended before, which is as good.
        let _already = self.0.set(outcome);
    }
}

// === impl Landing ===

impl Landing {
    pub(crate) fn of(flight: &Arc<Flight>) -> Self {
        Self(Arc::clone(flight))
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.0.end(Err(LookupError::Stopped));
    }
}
