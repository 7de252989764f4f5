//! Rules about single values of TLS.

/// The groups for the exchange of keys, by Caddy's names, and what Doorway does not have of them.
const CURVES: [&str; 5] = ["secp256r1", "secp384r1", "secp521r1", "x25519", "x25519mlkem768"];

/// The name of a group.
pub(crate) fn curve(name: &str) -> Result<(), String> {
    if CURVES.contains(&name) {
        Ok(())
    } else {
        Err(format!("expected one of {}", CURVES.join(", ")))
    }
}

/// Text in standard base64, with padding.
pub(crate) fn base64(text: &str) -> Result<(), &'static str> {
    let body = text.trim_end_matches('=');
    let padding = text.len().saturating_sub(body.len());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    if !body.is_empty() && padding <= 2 && text.len().is_multiple_of(4) && body.bytes().all(plain) {
        Ok(())
    } else {
        Err("expected a certificate in DER form, in standard base64")
    }
}
