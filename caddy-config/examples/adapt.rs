//! x
#![allow(
    clippy::all,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "local"
)]
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        match caddy_config::from_caddyfile("Caddyfile", &text, &|_| None) {
            Ok(a) => {
                for w in &a.warnings {
                    eprintln!("{w}");
                }
                print!("{}", a.config.to_json_pretty());
            }
            Err(e) => {
                println!("ERR {e}");
            }
        }
        println!("=====");
    }
}
