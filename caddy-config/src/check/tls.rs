//! Rules about single values of TLS.

use crate::model::TlsVersion;

/// The groups for the exchange of keys, by Caddy's names, and what Doorway does not have of them.
const CURVES: [&str; 5] = ["secp256r1", "secp384r1", "secp521r1", "x25519", "x25519mlkem768"];

/// The cipher suites of TLS 1.2 that both Caddy and Doorway have, by their names.
pub(crate) const CIPHERS: [&str; 6] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/// The name of a cipher suite.
pub(crate) fn cipher(name: &str) -> Result<(), String> {
    if CIPHERS.contains(&name) {
        Ok(())
    } else {
        Err(format!("expected one of {}", CIPHERS.join(", ")))
    }
}

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

/// What is asked of clients, by name.
pub(crate) const CLIENT_AUTH_MODES: &str = "expected request, require, verify_if_given or require_and_verify";

/// A protocol to agree on: some bytes, few enough for one of length.
pub(crate) fn alpn(name: &str) -> Result<(), &'static str> {
    if (1..=255).contains(&name.len()) {
        Ok(())
    } else {
        Err("the name of a protocol has 1 to 255 bytes")
    }
}

/// The oldest and the newest version.
pub(crate) fn versions(min: Option<TlsVersion>, max: Option<TlsVersion>) -> Result<(), &'static str> {
    if min.zip(max).is_some_and(|(min, max)| min > max) {
        Err("the oldest version of TLS is newer than the newest")
    } else {
        Ok(())
    }
}

/// A part of a certificate's lifetime.
pub(crate) fn renewal_window_ratio(ratio: &serde_json::Number) -> Result<(), &'static str> {
    if ratio.as_f64().is_some_and(|ratio| ratio > 0.0 && ratio < 1.0) {
        Ok(())
    } else {
        Err("expected a number between 0 and 1")
    }
}

/// The name of the proxy's own authority.
pub(crate) fn authority(name: &str) -> Result<(), &'static str> {
    if name == "local" {
        Ok(())
    } else {
        Err("there is one authority, `local`")
    }
}

/// The URL of a service.
pub(crate) fn http_url(url: &str) -> Result<(), &'static str> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    if rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        Ok(())
    } else {
        Err("expected a URL such as http://127.0.0.1:9000/check")
    }
}
