//! Standard output. A reader that has left (`doorway adapt | head`) ends the command quietly.

use std::io::{self, Write as _};

use crate::exit::Outcome;

/// Prints `text` as it is.
pub(crate) fn print(text: &str) -> Outcome {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Prints `text` and a line feed.
pub(crate) fn print_line(text: impl std::fmt::Display) -> Outcome {
    print(&format!("{text}\n"))
}
