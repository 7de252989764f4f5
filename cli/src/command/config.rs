//! `doorway config`: what a running proxy runs.

use hyper::Method;
use serde_json::Value;

use crate::api::{self, Places, Request};
use crate::args::ShowConfigArgs;
use crate::exit::Outcome;
use crate::settings::Environment;
use crate::{output, runtime};

/// Prints the running configuration, or a part of it, as indented JSON.
pub(crate) fn config(args: &ShowConfigArgs, environment: &Environment) -> Outcome {
    let places = Places::find(args.address.as_deref(), None, environment)?;
    let path = format!("/config/{}", encoded(args.path.trim_start_matches('/')));
    runtime::block_on(async {
        let request = Request::new(Method::GET, path);
        let (answer, place) = api::ask(&places, request, |request, _| request).await?;
        let body = answer.into_body(&place)?;
        match serde_json::from_str::<Value>(&body) {
            Ok(value) => output::print_line(format_args!("{value:#}")),
            Err(_) => output::print(&body),
        }
    })
}

/// The path with what has no place in one written with percent signs.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b'@' | b':' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
