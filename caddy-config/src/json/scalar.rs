//! Single values with a form of their own.

use std::time::Duration;

use super::{
    decode::Cx,
    reader::{Node, Value},
};
use crate::{
    check,
    model::{HostPortError, IpRange, ListenAddress, ListenError, ResolverAddress},
    units,
};

/// Nanoseconds, or a string such as `"10s"`. Zero is the default nearly everywhere, so it is `None`.
pub(super) fn duration<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Duration> {
    exact_duration(node, cx).filter(|duration| !duration.is_zero())
}

/// [`duration`] where zero is no default.
pub(super) fn exact_duration<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Duration> {
    let duration = match &node.value {
        Value::Number(text) => text.parse::<u64>().ok().map(Duration::from_nanos).filter(fits),
        Value::String(text) => units::duration(text),
        _ => return cx.wrong_type(node, "a duration"),
    };
    if duration.is_none() {
        let help = "write nanoseconds as a whole number, or a string such as \"10s\"".to_owned();
        cx.error(node.span, "this is not a duration", help);
    }
    duration
}

/// Caddy's own type ends where a signed 64-bit number does.
fn fits(duration: &Duration) -> bool {
    i64::try_from(duration.as_nanos()).is_ok()
}

/// Text that may hold placeholders.
pub(super) fn template<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let text = cx.string(node)?;
    cx.check_value(node, check::template(&text))?;
    Some(text)
}

/// [`template`], where an empty text is none.
pub(super) fn template_word<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    template(node, cx).filter(|text| !text.is_empty())
}

/// A string, where an empty one is none.
pub(super) fn word<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    cx.string(node).filter(|text| !text.is_empty())
}

/// A regular expression.
pub(super) fn pattern<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let pattern = cx.string(node)?;
    cx.check_regex(node, &pattern)?;
    Some(pattern)
}

/// A port that something can be reached at.
pub(super) fn port<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u16> {
    let number = cx.number(node, u64::from(u16::MAX))?;
    let port = u16::try_from(number).ok().filter(|port| *port != 0);
    if port.is_none() {
        cx.error(node.span, "expected a port from 1 to 65535", None);
    }
    port
}

/// A whole number where zero stands for the default.
pub(super) fn count<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u32> {
    let number = cx.number(node, u64::from(u32::MAX))?;
    u32::try_from(number).ok().filter(|number| *number != 0)
}

/// A port where zero stands for the default.
pub(super) fn default_port<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u16> {
    let number = cx.number(node, u64::from(u16::MAX))?;
    u16::try_from(number).ok().filter(|port| *port != 0)
}

/// Where a server listens.
pub(super) fn listen<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ListenAddress> {
    let text = cx.string(node)?;
    text.parse()
        .map_err(|error: ListenError| {
            let help = if text.contains('{') || text.contains("://") {
                address_help(&text)
            } else {
                error.help().to_owned()
            };
            cx.error(node.span, error.to_string(), help);
        })
        .ok()
}

pub(super) fn resolver<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ResolverAddress> {
    let text = cx.string(node)?;
    let plain = text.strip_prefix("udp/").unwrap_or(&text);
    let message = "expected the IP address of a DNS server, such as 10.0.0.53 or 10.0.0.53:5353";
    cx.check(node, plain.parse().map_err(|_: HostPortError| message))
}

pub(super) fn ip_range<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<IpRange> {
    let text = cx.string(node)?;
    cx.check(
        node,
        text.parse()
            .map_err(|error: crate::IpRangeError| error.to_string()),
    )
}

/// What to do about an address that is none, and not one for another reason.
fn address_help(text: &str) -> String {
    let help = if text.contains('{') {
        "placeholders in addresses are not supported; use host:port"
    } else {
        "write host:port, without a scheme"
    };
    help.to_owned()
}
