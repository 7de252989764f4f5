//! `copy_response_headers`: fields of an answer that routes decide about.

use http::header::HeaderName;

use crate::request::Context;

/// Which fields are copied beside those that are set already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopyFields {
    Only(Vec<HeaderName>),
    AllBut(Vec<HeaderName>),
}

// === impl CopyFields ===

impl CopyFields {
    pub(crate) fn run(&self, cx: &mut Context) {
        let Some(caught) = &cx.caught else { return };
        for (name, value) in caught.headers() {
            let is_wanted = match self {
                Self::Only(names) => names.contains(name),
                Self::AllBut(names) => !names.contains(name),
            };
            if is_wanted {
                cx.answer.append(name, value.clone());
            }
        }
    }
}
