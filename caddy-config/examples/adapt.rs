//! Prints the Caddy JSON of a Caddyfile: `cargo run -p caddy-config --example adapt -- Caddyfile`.

use std::{fs, io::Write, process::ExitCode};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "Caddyfile".to_owned());
    let mut out = std::io::stdout().lock();
    let mut err = std::io::stderr().lock();
    let result = match fs::read(&name) {
        Ok(bytes) => adapt(&name, &bytes),
        Err(error) => Err(format!("{name}: {error}")),
    };
    let (written, code) = match result {
        Ok((json, warnings)) => (
            out.write_all(json.as_bytes())
                .and_then(|()| err.write_all(warnings.as_bytes())),
            0,
        ),
        Err(message) => (writeln!(err, "{message}"), 1),
    };
    if written.is_ok() {
        ExitCode::from(code)
    } else {
        ExitCode::FAILURE
    }
}

/// The JSON, and the warnings with a line feed behind each.
fn adapt(name: &str, bytes: &[u8]) -> Result<(String, String), String> {
    let text = caddy_config::text_from_bytes(name, bytes).map_err(|findings| findings.to_string())?;
    // An example has no environment of its own; a program passes `std::env::var` here.
    let adapted =
        caddy_config::from_caddyfile(name, text, &|_| None).map_err(|findings| findings.to_string())?;
    let warnings = adapted
        .warnings
        .iter()
        .map(|warning| format!("{warning}\n"))
        .collect();
    Ok((adapted.config.to_json_pretty(), warnings))
}
