//! `bind ADDRESS...`: the interfaces that a site listens on.

use super::super::{args::Args, cx::Cx};
use crate::{caddyfile::token::Token, check};

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Vec<String>> {
    let line = args.line();
    if let Some(inner) = line.block.as_ref().and_then(|lines| lines.first()) {
        cx.error(inner.name.span, "options of `bind` are not supported yet", None);
    }
    if args.rest().is_empty() {
        let name = cx.quote(args.name());
        cx.error(
            args.name().span,
            format!("`{name}` needs an address, such as 127.0.0.1"),
            None,
        );
        return None;
    }
    Some(args.rest().iter().filter_map(|arg| interface(arg, cx)).collect())
}

fn interface(arg: &Token, cx: &mut Cx<'_>) -> Option<String> {
    let text = arg.text.strip_prefix("tcp/").unwrap_or(&arg.text);
    let host = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    if check::host(host).is_ok() {
        return Some(host.to_owned());
    }
    let help = if arg.text.starts_with("unix") || arg.text.starts_with("fd") {
        "unix sockets and inherited descriptors are not supported yet"
    } else if text
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
    {
        "leave the port out: it comes from the address of the site"
    } else {
        "write an IP address, such as 127.0.0.1 or ::1"
    };
    cx.error(arg.span, "this is not an address to listen on", help.to_owned());
    None
}
