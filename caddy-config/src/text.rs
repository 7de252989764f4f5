//! Bytes of a file to text.

use crate::{
    diagnostic::Diagnostics,
    source::{Report, Sources, Span},
};

/// The text of a configuration file: UTF-8, without the byte order mark that some editors put first.
///
/// # Errors
///
/// The place of the first byte that is no UTF-8.
///
/// ```
/// let error = caddy_config::text_from_bytes("Caddyfile", b"ok\nbad \xff").unwrap_err();
/// assert!(error.to_string().starts_with("Caddyfile:2:5: this is not UTF-8"));
/// ```
pub fn text_from_bytes<'b>(file_name: &str, bytes: &'b [u8]) -> Result<&'b str, Diagnostics> {
    let (text, whole) = valid_text(bytes);
    let mut report = Report::default();
    if !whole {
        not_utf8(Span::new(text.len(), text.len()), &mut report);
    }
    report
        .finish(text, &Sources::new(file_name, text))
        .map(|(text, _)| text)
}

/// The text before the first byte that is no UTF-8, without a byte order mark, and whether that is all.
pub(crate) fn valid_text(bytes: &[u8]) -> (&str, bool) {
    let (text, whole) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), false)
        }
    };
    (text.strip_prefix('\u{feff}').unwrap_or(text), whole)
}

/// Reports that the text goes on with something else at `span`.
pub(crate) fn not_utf8(span: Span, report: &mut Report) {
    let help = "save the file as UTF-8; if it is compressed or encrypted, unpack it first".to_owned();
    report.error(span, "this is not UTF-8", help);
}
