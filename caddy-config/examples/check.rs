//! Checks configurations before they are deployed: `cargo run -p caddy-config --example check -- Caddyfile conf.json`.
//!
//! Prints every finding and exits with 1 if there is an error. Files that end in `.json` are Caddy JSON.

use std::{fs, io::Write, process::ExitCode};

use caddy_config::{Diagnostic, Diagnostics, from_caddyfile, from_json, text_from_bytes};

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut failed = false;
    for name in std::env::args().skip(1) {
        let report = match fs::read(&name) {
            Ok(bytes) => match check(&name, &bytes) {
                Ok(warnings) => warnings.iter().map(|warning| format!("{warning}\n")).collect(),
                Err(findings) => {
                    failed = true;
                    format!("{findings}\n")
                }
            },
            Err(error) => {
                failed = true;
                format!("{name}: {error}\n")
            }
        };
        if out.write_all(report.as_bytes()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn check(name: &str, bytes: &[u8]) -> Result<Vec<Diagnostic>, Diagnostics> {
    let text = text_from_bytes(name, bytes)?;
    if name.ends_with(".json") {
        from_json(name, text).map(|_| Vec::new())
    } else {
        // Every variable counts as set here; a program passes its environment.
        from_caddyfile(name, text, &|name| Some(name.to_owned())).map(|adapted| adapted.warnings)
    }
}
