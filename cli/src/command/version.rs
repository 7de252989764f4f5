//! `doorway version`.

use crate::exit::Outcome;
use crate::output;

/// Prints the name and the version.
pub(crate) fn version() -> Outcome {
    output::print_line(format_args!("doorway {}", env!("CARGO_PKG_VERSION")))
}
