//! `admin` and `persist_config`: the administration endpoint, and whether its configuration is kept.

use super::super::{
    cx::Cx,
    values::{Once, block, texts},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{Admin, AdminConfig},
};

/// What Caddy uses without an argument.
const DEFAULT: &str = "localhost:2019";

/// `admin off`, or `admin [ADDRESS] { origins ...; enforce_origin }`.
pub(super) fn read(line: &Line, admin: &mut Admin, cx: &mut Cx<'_>) {
    let address = line.args.first();
    cx.surplus(line.args.get(1..).unwrap_or_default());
    if address.is_some_and(|address| address.text == "off") {
        cx.no_block(line);
        admin.disabled = true;
        return;
    }
    admin.listen = match address {
        Some(address) => listen(address, cx),
        None => Some(DEFAULT.to_owned()),
    };
    let mut once = Once::default();
    for line in block(line) {
        match line.name.text.as_str() {
            "enforce_origin" => {
                cx.nothing(line);
                admin.enforce_origin = true;
            }
            "origins" => admin.origins = texts(line, "an origin", cx),
            _ => cx.unknown(&line.name, "option", &["enforce_origin", "origins"]),
        }
        once.note(&line.name, cx);
    }
}

fn listen(address: &Token, cx: &mut Cx<'_>) -> Option<String> {
    if address.text.is_empty() {
        return None;
    }
    match check::admin_address(&address.text) {
        Ok(()) => Some(address.text.clone()),
        Err((message, help)) => {
            cx.error(address.span, message, help.to_owned());
            None
        }
    }
}

/// `persist_config off`.
pub(super) fn persist_config(line: &Line, admin: &mut Admin, cx: &mut Cx<'_>) {
    let Some(arg) = cx.one(line, "`off`") else { return };
    let off = (arg.text == "off").then_some(false).ok_or("expected `off`");
    admin.config = cx.check(arg, off).map(|persist| AdminConfig {
        persist: Some(persist),
    });
}
