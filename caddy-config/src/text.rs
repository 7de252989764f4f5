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
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let valid = std::str::from_utf8(valid).unwrap_or_default();
            let mut report = Report::default();
            let help = "save the file as UTF-8; if it is compressed or encrypted, unpack it first".to_owned();
            report.error(Span::new(valid.len(), valid.len()), "this is not UTF-8", help);
            report
                .finish("", &Sources::new(file_name, valid))
                .map(|(text, _)| text)
        }
    }
}
