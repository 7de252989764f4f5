//! How it is found out which upstreams can be taken.

use super::{
    super::{
        decode::{Cx, Object},
        headers::check_fields,
        reader::Node,
        scalar::{count, duration, port},
    },
    text,
};
use crate::{
    check,
    model::{ActiveChecks, HealthChecks, PassiveChecks},
};

pub(super) fn health_checks<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<HealthChecks> {
    let mut object = Object::open(node, cx)?;
    let checks = HealthChecks {
        active: object.get("active", cx, active),
        passive: object.get("passive", cx, passive),
    };
    object.finish(cx);
    Some(checks)
}

fn active<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ActiveChecks> {
    let mut object = Object::open(node, cx)?;
    let checks = ActiveChecks {
        path: text(&mut object, "path", cx),
        uri: text(&mut object, "uri", cx),
        tcp: object.flag("tcp", cx),
        upstream: object.get("upstream", cx, |node, cx| {
            let text = cx.string(node).filter(|text| !text.is_empty())?;
            cx.check(node, check::health_upstream(&text))?;
            Some(text)
        }),
        port: object.get("port", cx, port),
        headers: object.get("headers", cx, check_fields).unwrap_or_default(),
        method: text(&mut object, "method", cx),
        body: text(&mut object, "body", cx),
        follow_redirects: object.flag("follow_redirects", cx),
        interval: object.get("interval", cx, duration),
        timeout: object.get("timeout", cx, duration),
        passes: object.get("passes", cx, count),
        fails: object.get("fails", cx, count),
        max_size: object.get("max_size", cx, count).map(u64::from),
        expect_status: object.get("expect_status", cx, status),
        expect_body: object.get("expect_body", cx, |node, cx| {
            let pattern = cx.string(node).filter(|pattern| !pattern.is_empty())?;
            cx.check_regex(node, &pattern)?;
            Some(pattern)
        }),
    };
    object.finish(cx);
    Some(checks)
}

fn passive<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<PassiveChecks> {
    let mut object = Object::open(node, cx)?;
    let checks = PassiveChecks {
        fail_duration: object.get("fail_duration", cx, duration),
        max_fails: object.get("max_fails", cx, count),
        unhealthy_request_count: object.get("unhealthy_request_count", cx, count),
        unhealthy_status: object.list("unhealthy_status", cx, status),
        unhealthy_latency: object.get("unhealthy_latency", cx, duration),
    };
    object.finish(cx);
    Some(checks)
}

/// A status, or the digit of a class; zero is as good as not said.
fn status<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u16> {
    let number = cx.number(node, 999).filter(|number| *number != 0)?;
    let status = u16::try_from(number)
        .ok()
        .filter(|status| check::is_status_or_class(*status));
    cx.check(
        node,
        status.ok_or("expected a status, or the digit of a class, such as 2"),
    )
}
