//! What is wrong with an expression.

/// Why a text is no expression, or none that Doorway evaluates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at character {character} of the expression")]
pub struct ExpressionError {
    message: String,
    help: Option<String>,
    /// In bytes.
    offset: usize,
    character: usize,
}

/// Why a well-formed expression has no value for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// A text is no number.
    #[error("the expression converts a text to a number that is none")]
    Number,
    /// The value is too large.
    #[error("the expression adds numbers to one that is too large")]
    Overflow,
    /// An operator or function got a value of a type that it has no meaning for.
    #[error("the expression uses {0} on a value of a type that it is not for")]
    Type(&'static str),
}

// === impl ExpressionError ===

impl ExpressionError {
    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A way out, if there is one worth telling.
    #[must_use]
    pub fn way_out(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Where it is in the text, in bytes.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With the place in characters of `text`.
    pub(super) fn located(mut self, text: &str) -> Self {
        let before = text.get(..self.offset).unwrap_or(text);
        self.character = before.chars().count().saturating_add(1);
        self
    }
}

/// An error at a place of the text, in bytes.
pub(super) fn at(offset: usize, message: impl Into<String>) -> ExpressionError {
    ExpressionError {
        message: message.into(),
        help: None,
        offset,
        character: 0,
    }
}
